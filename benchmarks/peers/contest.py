"""Start contestants as processes, and see from outside when their queues are empty."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
from redis.asyncio import Redis

from benchmarks.peers.catalog import PEERS_PYTHON, ROOT, Contestant
from crewtop.embedded import Servers

LOOK_SECONDS = 0.01
PATIENCE_SECONDS = 600.0
END_SECONDS = 20.0


def ready(contestants: list[Contestant]) -> None:
    """Raises SystemExit where peers take part and their Python is not installed."""
    if any(one.peer for one in contestants) and not PEERS_PYTHON.exists():
        raise SystemExit(f"{PEERS_PYTHON} is missing: `make peers` installs the other queues, or name crewtop alone")


@dataclass(slots=True)
class Arena:
    """Servers on which contestants run one after another, each in processes of its own.

    folder: for logs and stamps, writable; postgres: a connection of the arena's own, for looking.
    """

    servers: Servers
    folder: Path
    postgres: asyncpg.Connection[Any]
    redis: Redis

    @property
    def environment(self) -> dict[str, str]:
        """What a contestant's process is told."""
        return os.environ | {
            "PEERS_POSTGRES": self.servers.dsn, "PEERS_REDIS": self.servers.redis_url or "", "PYTHONPATH": str(ROOT),
            "STARTED": str(self.folder / "started"), "STAMPS": str(self.folder / "stamps"),
        }  # fmt: skip

    async def ask(self, contestant: Contestant, *arguments: str) -> dict[str, Any]:
        """Run one command to its end; answers its answer, if it has one. Raises SystemExit where it failed."""
        process = await asyncio.create_subprocess_exec(
            *contestant.command, *arguments, cwd=ROOT, env=self.environment,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        if process.returncode:
            raise SystemExit(f"{contestant.name} {' '.join(arguments)}: {err.decode()[-2000:]}")
        return dict(json.loads(out)) if out else {}

    async def clear(self, contestant: Contestant) -> None:
        """Empty its tables."""
        if contestant.in_redis:
            await self.redis.flushall()
        else:
            await self.postgres.execute(contestant.clear)
        await self.settle()

    async def settle(self) -> None:
        """Give the planner its statistics and write out what is dirty, so that nobody pays for what went before."""
        await self.postgres.execute("VACUUM ANALYZE")
        await self.postgres.execute("CHECKPOINT")

    async def left(self, contestant: Contestant) -> bool:
        """Whether a job has not ended yet."""
        if contestant.in_redis:
            return bool(await self.redis.exists(contestant.unfinished))
        return bool(await self.postgres.fetchval(contestant.unfinished))

    @contextmanager
    def worker(self, contestant: Contestant, slots: int) -> Iterator[subprocess.Popen[bytes]]:
        """One worker process for as long as the block lasts; where the block fails, the end of its log is shown."""
        (self.folder / "started").unlink(missing_ok=True)
        with (self.folder / f"{contestant.name}.log").open("w+b") as log:
            process = subprocess.Popen(
                [*contestant.command, "work", "--slots", str(slots)], cwd=ROOT, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                yield process
            except BaseException:
                log.seek(0)
                sys.stderr.write(log.read()[-3_000:].decode(errors="replace"))
                raise
            finally:
                _end(process)

    async def first_job(self, process: subprocess.Popen[bytes]) -> float:
        """When the first no-op job of this worker began, in seconds of time.time()."""
        started = self.folder / "started"

        async def written() -> bool:
            return await asyncio.to_thread(lambda: started.exists() and started.stat().st_size > 0)

        await until(written, process)
        return float(await asyncio.to_thread(started.read_text))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


async def until(condition: Callable[[], Awaitable[bool]], process: subprocess.Popen[bytes]) -> float:
    """Look every 10 ms; answers time.time() when it holds. Raises SystemExit where the process ends first, or never."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not await condition():
        if process.poll() is not None:
            raise SystemExit(f"{process.args} ended with {process.returncode}")
        if time.monotonic() > deadline:
            raise SystemExit(f"{process.args} has not done its work in {PATIENCE_SECONDS:g} s")
        await asyncio.sleep(LOOK_SECONDS)
    return time.time()
