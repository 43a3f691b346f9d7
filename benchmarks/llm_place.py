"""Where crews that call models are measured: servers of their own, workers and simulated providers as processes."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import psutil

import crewtop
from benchmarks.servers import fresh_servers
from crewtop.config import load
from crewtop.queue import Queue
from crewtop.stores import stores

CONFIGURATION = "crewtop.toml"
ROOT = Path(__file__).parents[1]
PATIENCE_SECONDS = 30.0
LOG_CHARACTERS = 3_000
COMMON = """
[crews]
calls = "benchmarks.llm_crews:calls"
calls_later = "benchmarks.llm_crews:calls_later"
desk = "benchmarks.llm_crews:desk"
second = "benchmarks.llm_crews:second"
waits = "benchmarks.llm_crews:waits"

[worker]
lease_seconds = 3
poll_seconds = 0.2
backoff_seconds = 0.2
kill_grace_seconds = 0.3
"""


class Provider:
    """A simulated provider that runs as a process. url: what a client takes as its base address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._web = httpx.Client(base_url=url.removesuffix("/v1"), timeout=60)

    def order(self, what: str, **how: Any) -> None:
        """Give it an order, such as 'revoke' or 'storm': see crewtop.demo.provider.orders."""
        self._web.post(f"/__admin/{what}", json=how).raise_for_status()

    def calls(self) -> list[dict[str, Any]]:
        """Its books, which must be whole."""
        books: dict[str, Any] = self._web.get("/__books").json()
        assert not books["dropped"], "more calls than its books hold"
        return list(books["calls"])


@dataclass(slots=True)
class Place:
    """env: what workers are started with. workers: those that were started and not killed here."""

    folder: Path
    dsn: str
    redis_url: str
    env: Mapping[str, str]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def worker(self, *flags: str) -> subprocess.Popen[bytes]:
        """Start a worker; what all of them log is in folder/workers.log."""
        with (self.folder / "workers.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "crewtop", "worker", *flags],
                cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.workers.append(process)
        return process

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """Kill it with -9."""
        worker.kill()
        worker.wait()
        self.workers.remove(worker)

    def executors(self, worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
        """The processes in which a worker's crews run."""
        found = []
        with suppress(psutil.Error):
            for zygote in psutil.Process(worker.pid).children():
                found += zygote.children(recursive=True)
        return found

    def cpu_seconds(self) -> float:
        """What the workers and all below them have taken so far."""
        taken = 0.0
        for worker in self.workers:
            for process in (psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)):
                with suppress(psutil.Error):
                    taken += sum(process.cpu_times()[:2])
        return taken

    async def sql(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        """Rows by SQL."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return list(await connection.fetch(query, *arguments))
        finally:
            await connection.close()

    async def until(self, query: str, *arguments: object) -> None:
        """Poll until an SQL expression is true."""
        while not (await self.sql(f"SELECT {query} AS is_so", *arguments))[0]["is_so"]:  # noqa: ASYNC110
            await asyncio.sleep(0.25)

    async def until_up(self) -> None:
        """Until every worker that was started has imported CrewAI and claims."""
        while self.log().count("worker started") < len(self.workers):  # noqa: ASYNC110
            await asyncio.sleep(0.1)

    def log(self) -> str:
        """What all workers have logged."""
        return (self.folder / "workers.log").read_text("utf-8", "replace")

    async def crewtop(self, *arguments: str) -> str:
        """What a command prints. Raises CalledProcessError where it does not end well."""
        command = [sys.executable, "-m", "crewtop", *arguments]
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=self.env, stdout=subprocess.PIPE)
        output, _ = await process.communicate()
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return output.decode()

    async def cost(self) -> dict[str, Any]:
        """The total of `crewtop cost`."""
        return dict(json.loads(await self.crewtop("cost", "--json"))["total"])

    @asynccontextmanager
    async def queue(self) -> AsyncIterator[Queue]:
        """What a producer has."""
        flags = {"postgres": {"dsn": self.dsn}, "redis": {"url": self.redis_url}}
        settings = load(self.folder / CONFIGURATION, flags).settings
        async with stores(settings, "crewtop benchmark", connections=1) as opened:
            yield Queue(opened, settings.queue.max_input_bytes)

    def end(self) -> None:
        """Kill all workers that are left."""
        for worker in list(self.workers):
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            self.kill(worker)


@contextmanager
def place(configuration: str, **env: str) -> Iterator[Place]:
    """A Place on fresh servers. configuration: what crewtop.toml holds beside the crews and short leases."""
    with fresh_servers() as servers:
        found = settled(servers.data_dir.parent, servers.dsn, servers.redis_url or "", configuration, **env)
        try:
            yield found
        except BaseException:
            print(found.log()[-LOG_CHARACTERS:], file=sys.stderr)
            raise
        finally:
            found.end()


def settled(folder: Path, dsn: str, redis_url: str, configuration: str, **env: str) -> Place:
    """A Place on servers that are there already, with its configuration in a folder."""
    (folder / CONFIGURATION).write_text(COMMON + configuration)
    own = {
        "CREWTOP_POSTGRES": dsn, "CREWTOP_REDIS": redis_url, "CREWTOP_CONFIG": str(folder / CONFIGURATION),
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    return Place(folder, dsn, redis_url, {**os.environ, **own, **env})


@contextmanager
def provider(*flags: str) -> Iterator[Provider]:
    """A simulated provider with these flags of `python -m crewtop.demo.provider`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "crewtop.demo.provider", *flags],
        cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    with ExitStack() as stack:
        stack.callback(process.wait)
        stack.callback(process.terminate)
        assert process.stdout
        yield Provider(process.stdout.readline().decode().split()[-1])


def wait_until(condition: Callable[[], object], patience: float = PATIENCE_SECONDS) -> None:
    """Poll until a condition holds. Raises SystemExit if it never does."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("never came true: see the workers' log")
        time.sleep(0.1)


async def versions(at: Place) -> str:
    """What was measured on what, in a line."""
    [row] = await at.sql("SELECT split_part(current_setting('server_version'), ' ', 1) AS postgres")
    return (
        f"crewtop {crewtop.__version__}, CrewAI {version('crewai')}, Python {platform.python_version()}, "
        f"PostgreSQL {row['postgres']}, {cores()} cores"
    )


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
