"""SAQ on Redis, and what it shares with SAQ on Postgres. No bulk call: its own benchmark's gather stands in for one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from saq import Worker
from saq.queue import Queue
from saq.queue.redis import RedisQueue

from benchmarks.peers.contract import Enqueue, Inputs, Setting
from benchmarks.peers.jobs import JOBS

LOOP = None

ENQUEUES_AT_ONCE = 20  # as many connections as either queue has by default


class Saq:
    """A module's functions over one kind of queue. connect: a queue at these servers, not yet connected."""

    def __init__(self, connect: Callable[[Setting], Queue]) -> None:
        self._connect = connect

    async def prepare(self, setting: Setting) -> None:
        """Connecting makes the tables."""
        queue = self._connect(setting)
        await queue.connect()
        await queue.disconnect()

    @asynccontextmanager
    async def producer(self, setting: Setting) -> AsyncIterator[Enqueue]:
        """Jobs that are kept when they have ended; in chaos also tried again, and stuck after rescue_seconds."""
        queue = self._connect(setting)
        await queue.connect()
        gate = asyncio.Semaphore(ENQUEUES_AT_ONCE)
        options: dict[str, Any] = {}
        if setting.rescue_seconds:
            options = {"retries": 20, "timeout": int(setting.rescue_seconds), "ttl": 0}

        async def one(job: str, inputs: Inputs) -> str:
            async with gate:
                await queue.enqueue(job, **inputs, **options)
            return str(inputs["n"])

        async def enqueue(job: str, inputs: Sequence[Inputs]) -> list[str]:
            return await asyncio.gather(*(one(job, each) for each in inputs))

        try:
            yield enqueue
        finally:
            await queue.disconnect()

    async def work(self, setting: Setting) -> None:
        """Work until SIGTERM; with rescue_seconds, sweeping every second."""
        more: dict[str, Any] = {}
        if setting.rescue_seconds:
            timers = {"schedule": 1, "sweep": 1, "abort": 1, "worker_info": 10}
            more = {"timers": timers, "shutdown_grace_period_s": 1}
        queue = self._connect(setting)
        worker = Worker(
            queue, [(name, _function(job)) for name, job in JOBS.items()], concurrency=setting.slots, **more
        )
        await queue.connect()
        try:
            await worker.start()
        finally:
            await queue.disconnect()


def _function(job: Callable[[Inputs], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def function(context: object, **inputs: object) -> None:
        await job(inputs)

    return function


_on_redis = Saq(lambda setting: RedisQueue.from_url(setting.redis, name="jobs"))
prepare, producer, work = _on_redis.prepare, _on_redis.producer, _on_redis.work
