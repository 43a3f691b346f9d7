"""The place that chaos is let loose on: servers, workers of one queue, and its producer, all real processes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.peers.catalog import ROOT, Contestant
from crewtop import embedded

WORKERS = 3
SLOTS = 4
LEASE_SECONDS = 3.0


@dataclass(slots=True)
class Site:
    """What can be harmed.

    Attributes:
        spared: a worker that gets no signal itself, so that its memory can be watched; all else may hit it.
        known: the jobs that a producer was told are in, by the number that stands in their marks.
    """

    folder: Path
    servers: embedded.Servers
    queue: Contestant
    draw: random.Random
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    spared: subprocess.Popen[bytes] | None = None
    producer: subprocess.Popen[bytes] | None = None
    known: set[str] = field(default_factory=set)
    produced: int = 0

    @property
    def marks(self) -> Path:
        """The file in which jobs leave their marks."""
        return self.folder / "marks"

    def start(self, *arguments: str, **pipes: Any) -> subprocess.Popen[bytes]:
        """Start a process of the queue; what it says goes to a file named after what it does."""
        environment = os.environ | {
            "PEERS_POSTGRES": self.servers.dsn, "PEERS_REDIS": self.servers.redis_url or "",
            "PYTHONPATH": str(ROOT), "MARKS": str(self.marks),
        }  # fmt: skip
        command = [*self.queue.command, *arguments, "--slots", str(SLOTS), "--rescue", str(LEASE_SECONDS)]
        with (self.folder / f"{arguments[0]}.log").open("ab") as log:
            usual = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, **usual | pipes)

    def refill(self) -> None:
        """As a service manager would: a worker that is gone is started again."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < WORKERS:
            self.workers.append(self.start("work"))
        self.spared = self.spared or self.workers[0]

    def victim(self) -> subprocess.Popen[bytes]:
        """A worker that may be signalled."""
        return self.draw.choice([worker for worker in self.workers if worker is not self.spared])

    def executors(self) -> list[psutil.Process]:
        """The processes in which crews run."""
        found = []
        for worker in self.workers:
            with suppress(psutil.Error):
                for zygote in psutil.Process(worker.pid).children():
                    found += zygote.children(recursive=True)
        return found

    def memory(self) -> int | None:
        """Bytes that the spared worker and its zygote hold; None if it is gone."""
        if self.spared is None or self.spared.poll() is not None:
            return None
        process = psutil.Process(self.spared.pid)
        return sum(one.memory_info().rss for one in (process, *process.children()))

    async def produce(self, number: int) -> None:
        """Put jobs in; what the producer was not told is in, nobody was promised."""
        seconds = [round(self.draw.uniform(0, 0.8), 2) for _ in range(number)]
        jobs = [{"n": self.produced + position, "seconds": wait} for position, wait in enumerate(seconds)]
        self.produced += number
        answer = await asyncio.to_thread(self._tell_producer, json.dumps(jobs))
        self.known.update(answer.get("known", ()))

    def _tell_producer(self, line: str) -> dict[str, Any]:
        if self.producer is None or self.producer.poll() is not None:
            self.producer = self.start("produce", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process = self.producer
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, ValueError):
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            return dict(json.loads(process.stdout.readline()))
        process.kill()
        process.wait()
        return {}

    def end(self) -> None:
        """Kill all that is left."""
        for process in [*self.workers, *filter(None, [self.producer])]:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
