"""PgQueuer: asyncpg, its own supervisor, and what its performance guide recommends.

That is: a connection of its own for the manager, a pool for producers, its autovacuum settings, uvloop as its command
runs it, batches of half of what may run at once (the most that it accepts: 50 for 100).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pgqueuer
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from benchmarks.peers.contract import Enqueue, Inputs, Setting
from benchmarks.peers.jobs import JOBS

LOOP = uvloop.new_event_loop


async def prepare(setting: Setting) -> None:
    """Install the schema."""
    connection = await asyncpg.connect(setting.postgres)
    queries = Queries(AsyncpgDriver(connection))
    if not await queries.schema_is_installed():
        await queries.install()
    await queries.optimize_autovacuum()
    await connection.close()


@asynccontextmanager
async def producer(setting: Setting) -> AsyncIterator[Enqueue]:
    """All jobs of a call in one statement. A job is known by its id, since the log of what ended keeps no payload."""
    async with asyncpg.create_pool(setting.postgres, min_size=1, max_size=2) as pool:
        queries = Queries(AsyncpgPoolDriver(pool))

        async def enqueue(job: str, inputs: Sequence[Inputs]) -> list[str]:
            payloads = [json.dumps(one).encode() for one in inputs]
            ids = await queries.enqueue([job] * len(payloads), payloads, [0] * len(payloads))
            return [str(number) for number in ids]

        yield enqueue


async def work(setting: Setting) -> None:
    """Work until SIGTERM; with rescue_seconds, heartbeats and polling as often, and its restart on failure."""

    @asynccontextmanager
    async def manager() -> AsyncIterator[PgQueuer]:
        connection = await asyncpg.connect(setting.postgres)
        try:
            found = PgQueuer(AsyncpgDriver(connection))
            for name, function in JOBS.items():
                found.entrypoint(name)(_handler(function))
            yield found
        finally:
            await connection.close()

    rescue = setting.rescue_seconds
    await pgqueuer.run(
        manager,
        batch_size=setting.slots // 2,
        max_concurrent_tasks=setting.slots,
        restart_on_failure=True,
        restart_delay=timedelta(seconds=1),
        shutdown_on_listener_failure=True,
        **({"heartbeat_timeout": timedelta(seconds=rescue), "dequeue_timeout": timedelta(seconds=1)} if rescue else {}),
    )


def _handler(function: Callable[[Inputs], Awaitable[None]]) -> Callable[[Job], Awaitable[None]]:
    async def handle(job: Job) -> None:
        await function(json.loads(job.payload or b"{}") | {"n": job.id})

    return handle
