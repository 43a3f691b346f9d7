"""Procrastinate: batch_defer, an asynchronous worker with LISTEN/NOTIFY, and its documented task for stalled jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from procrastinate import App, JobContext, PsycopgConnector

from benchmarks.peers.contract import Enqueue, Inputs, Setting
from benchmarks.peers.jobs import JOBS

LOOP = None

CONNECTIONS = 20


def _app(setting: Setting) -> App:
    app = App(connector=PsycopgConnector(conninfo=setting.postgres, max_size=CONNECTIONS))
    for name, function in JOBS.items():
        app.task(name=name)(_task(function))
    if setting.rescue_seconds:
        _retry_stalled(app, setting.rescue_seconds)
    return app


def _task(function: Callable[[Inputs], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def task(**inputs: object) -> None:
        await function(inputs)

    return task


def _retry_stalled(app: App, seconds: float) -> None:
    """As its guide on stalled jobs has it, every second instead of every ten minutes."""

    @app.periodic(cron="* * * * * *")
    @app.task(name="retry_stalled", queueing_lock="retry_stalled", pass_context=True)
    async def retry_stalled(context: JobContext, timestamp: int) -> None:
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=seconds):
            await app.job_manager.retry_job(job)


async def prepare(setting: Setting) -> None:
    """Apply the schema, which must not be there yet."""
    async with _app(setting).open_async() as app:
        await app.schema_manager.apply_schema_async()


@asynccontextmanager
async def producer(setting: Setting) -> AsyncIterator[Enqueue]:
    """All jobs of a call in one statement."""
    async with _app(setting).open_async() as app:

        async def enqueue(job: str, inputs: Sequence[Inputs]) -> list[str]:
            await app.tasks[job].batch_defer_async(*inputs)
            return [str(one["n"]) for one in inputs]

        yield enqueue


async def work(setting: Setting) -> None:
    """Work until SIGTERM; with rescue_seconds, heartbeats a third as long apart, and polling."""
    rescue = setting.rescue_seconds
    more = {}
    if rescue:
        more = {
            "update_heartbeat_interval": rescue / 3,
            "stalled_worker_timeout": rescue,
            "fetch_job_polling_interval": 0.3,
            "shutdown_graceful_timeout": 1.0,
        }
    async with _app(setting).open_async() as app:
        await app.run_worker_async(concurrency=setting.slots, **more)
