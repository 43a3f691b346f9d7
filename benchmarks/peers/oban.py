"""Oban for Python: what `oban start` runs, embedded, without its log line a job, which costs it throughput.

uvloop and orjson as its command uses them. It inserts and acknowledges one job a statement: doing either in bulk is
in its paid edition, as is a rescue that asks whether a worker lives; this one goes by the time since a job began.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import orjson
import uvloop
from oban import Oban, worker
from oban.job import Job
from oban.schema import install
from psycopg.types.json import set_json_dumps, set_json_loads

from benchmarks.peers.contract import Enqueue, Inputs, Setting, stop_asked
from benchmarks.peers.jobs import JOBS

LOOP = uvloop.new_event_loop

set_json_dumps(orjson.dumps)
set_json_loads(orjson.loads)


def _worker(name: str, function: Callable[[Inputs], Awaitable[None]]) -> type:
    async def process(self: object, job: Job) -> None:
        await function(job.args)

    def backoff(self: object, job: Job) -> int:
        return 1

    members = {"process": process, "backoff": backoff, "__module__": __name__, "__qualname__": name}
    return worker(max_attempts=20)(type(name, (), members))


WORKERS = {name: _worker(name, function) for name, function in JOBS.items()}


async def prepare(setting: Setting) -> None:
    """Install the schema."""
    pool = await Oban.create_pool(setting.postgres)
    await install(pool)
    await pool.close()


@asynccontextmanager
async def producer(setting: Setting) -> AsyncIterator[Enqueue]:
    """enqueue_many."""
    pool = await Oban.create_pool(setting.postgres)
    oban = Oban(pool=pool)

    async def enqueue(job: str, inputs: Sequence[Inputs]) -> list[str]:
        kind = WORKERS[job]
        await oban.enqueue_many(kind.new(one) for one in inputs)
        return [str(one["n"]) for one in inputs]

    try:
        yield enqueue
    finally:
        await pool.close()


async def work(setting: Setting) -> None:
    """Work until SIGTERM; rescue_seconds is the age at which a job that has not ended counts as orphaned."""
    more: dict[str, object] = {}
    if setting.rescue_seconds:
        os.environ["OBAN_POOL_CHECK"] = "true"
        more = {
            "lifeline": {"interval": 1.0, "rescue_after": setting.rescue_seconds},
            "refresher": {"interval": 1.0, "max_age": setting.rescue_seconds},
            "shutdown_grace_period": 1.0,
        }
    stop = stop_asked()
    pool = await Oban.create_pool(setting.postgres)
    async with Oban(pool=pool, queues={"default": setting.slots}, **more):
        await stop.wait()
    await pool.close()
