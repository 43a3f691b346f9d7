"""Real workers, each a process, on the test's own database."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crewtop.live.fast_lane import FastLane
from crewtop.queue import Queue
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.e2e import warm
from tests.mother import python

ROOT = Path(__file__).parents[2]
WITHOUT_CREWAI = Path(__file__).parent / "without_crewai"
PATIENCE_SECONDS = 60.0
WITH_PYTHON = "import sys; sys.executable = sys.argv.pop(1); from crewtop.__main__ import main; main()"

CONFIG = """
[crews]
echo = "tests.e2e.crews:echo"
mark = "tests.e2e.crews:mark"
gate = "tests.e2e.crews:gate"
hostile = "tests.e2e.crews:hostile"
noisy = "tests.e2e.crews:noisy"
die = "tests.e2e.crews:die"
fail = "tests.e2e.crews:fail"
huge = "tests.e2e.crews:huge"
join = "tests.e2e.crews:join"
wait = "tests.e2e.shared:wait"
deaf = "tests.e2e.shared:deaf"
die_shared = "tests.e2e.shared:die"
stalls = "tests.e2e.shared:stalls"
order = "crewtop.demo.crews:order"
returns = "crewtop.demo.crews:returns"
product = "crewtop.demo.crews:product"
briefing = "crewtop.demo.crews:briefing"
stages = "tests.e2e.stages:stages"

[worker]
lease_seconds = 3
poll_seconds = 0.2
backoff_seconds = 0.05
kill_grace_seconds = 0.3
max_result_bytes = 2000000
"""


@dataclass
class Site:
    """A place where crewtop runs: a configuration, a database, processes that end with the test."""

    folder: Path
    env: dict[str, str]
    database: Database
    queue: Queue
    stack: ExitStack
    python: Callable[[], Path]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    commands: int = 0

    def worker(self, *flags: str, whole: bool = False, **env: str) -> subprocess.Popen[bytes]:
        """Start a worker process of its own session; its log is in folder/worker-N.log.

        Without a provider it is one on a host without CrewAI, whose import takes longer than most tests; with one its
        zygote is forked from a process that has imported it, and not below the worker, unless it is to be whole.
        """
        env = self.env | env
        command = [sys.executable, "-m", "crewtop", "worker", *flags]
        if "CREWTOP_DEMO_PROVIDER" not in env:
            env["PYTHONPATH"] = f"{WITHOUT_CREWAI}{os.pathsep}{env['PYTHONPATH']}"
        elif not whole:
            command[1:3] = ["-c", WITH_PYTHON, str(self.python())]
        log = self.stack.enter_context((self.folder / f"worker-{len(self.workers)}.log").open("wb"))
        process = subprocess.Popen(
            command,
            cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        self.workers.append(process)
        return process

    async def crewtop(self, *arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
        """Run a command to its end: exit code, stdout, stderr."""
        self.commands += 1
        streams = self.folder / f"command-{self.commands}"
        return await warm.crewtop(arguments, stdin or "", self.env, ROOT, streams)

    async def sql(self, query: str, *arguments: object) -> Any:
        """One value by SQL."""
        async with self.database.connection() as connection:
            return await connection.fetchval(query, *arguments)

    async def until(
        self, condition: Callable[[], Awaitable[Any]] | str, *arguments: object, patience: float = PATIENCE_SECONDS
    ) -> Any:
        """Poll until a condition, or an SQL expression, is true; fail with the workers' logs if it never is."""
        deadline = time.monotonic() + patience
        while True:
            if isinstance(condition, str):
                value = await self.sql(f"SELECT {condition}", *arguments)
            else:
                value = await condition()
            if value:
                return value
            if time.monotonic() > deadline:
                pytest.fail(f"never came true: {condition}\n{self.logs()}")
            await asyncio.sleep(0.05)

    async def until_ended(self) -> None:
        """Until every task is completed, failed or cancelled."""
        await self.until("NOT EXISTS (SELECT FROM crewtop.tasks WHERE finished_at IS NULL)")

    async def until_started(self, folder: Path, runs: int = 1) -> list[int]:
        """Until so many runs of the gate crew have begun; answers the pids of their processes."""

        async def begun() -> list[int]:
            pids = [int(path.name.removeprefix("started-")) for path in folder.glob("started-*")]
            return pids if len(pids) >= runs else []

        found: list[int] = await self.until(begun)
        return found

    def logs(self) -> str:
        """The end of what the workers logged."""
        return "\n".join(
            f"--- {path.name}\n{path.read_text('utf-8', 'replace')[-3000:]}"
            for path in sorted(self.folder.glob("*.log"))
        )


@pytest.fixture
async def site(
    database: Database, dsn: str, redis_url: str, live: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Site]:
    """A Site on a fresh database and an empty Valkey database."""
    config = tmp_path / "crewtop.toml"
    config.write_text(CONFIG)
    env = os.environ | {
        "CREWTOP_POSTGRES": dsn,
        "CREWTOP_REDIS": redis_url,
        "CREWTOP_CONFIG": str(config),
        "PYTHONPATH": str(ROOT),
        "MARKS": str(tmp_path / "marks"),
        "COLUMNS": "120",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),  # a developer's own keys and themes must not reach a test
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    # Of this database, as its workers' is: what is told of another's tasks nobody here hears, and results come late.
    async with FastLane(redis_url, whose=lambda: database.identity) as lane:
        queue = Queue(Stores(database, lane, Addresses(dsn, redis_url, "", embedded=False)), 2**20)
        with ExitStack() as stack:
            site = Site(tmp_path, env, database, queue, stack, lambda: python(request.getfixturevalue("mother")))
            yield site
            for process in site.workers:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
