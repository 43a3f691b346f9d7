"""crewtop through its own public doors: `crewtop.connect()` and `crewtop worker`."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import crewtop
from benchmarks.peers.contract import Enqueue, Inputs, Setting
from crewtop.store import schema
from crewtop.store.database import Database

LOOP = None


async def prepare(setting: Setting) -> None:
    """Create the schema where it is missing."""
    async with Database(setting.postgres, application_name="crewtop benchmark", connections=1) as database:
        await schema.init(database)


@asynccontextmanager
async def producer(setting: Setting) -> AsyncIterator[Enqueue]:
    """enqueue_many: all tasks of a call in one statement."""
    async with crewtop.connect(postgres=setting.postgres, redis=setting.redis) as queue:

        async def enqueue(job: str, inputs: Sequence[Inputs]) -> list[str]:
            await queue.enqueue_many([crewtop.Task(job, one, max_attempts=20) for one in inputs])
            return [str(one["n"]) for one in inputs]

        yield enqueue


async def work(setting: Setting) -> None:
    """Become `crewtop worker`, a process a run; with rescue_seconds as its lease."""
    become_worker(setting)


def become_worker(setting: Setting, *flags: str) -> None:
    """Replace this process by `crewtop worker` with such flags."""
    environment = os.environ | {
        "CREWTOP_CONFIG": str(Path(__file__).with_name("crewtop.toml")),
        "CREWTOP_POSTGRES": setting.postgres,
        "CREWTOP_REDIS": setting.redis,
    }
    if setting.rescue_seconds:
        worker = {"lease": setting.rescue_seconds, "poll": 0.3, "backoff": 0.1, "backoff_limit": 1, "grace": 1}
        environment |= {f"CREWTOP_WORKER__{name.upper()}_SECONDS": str(value) for name, value in worker.items()}
    command = [sys.executable, "-m", "crewtop", "worker", "--slots", str(setting.slots), *flags]
    os.execve(sys.executable, command, environment)
