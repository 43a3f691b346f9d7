"""`crewtop worker`: the supervisor with its signals and its log."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import structlog

from crewtop.config import Configuration
from crewtop.llm.keys import Secrets
from crewtop.store import schema
from crewtop.stores import Stores, stores
from crewtop.text import masked, shown
from crewtop.worker.identity import fresh_identity
from crewtop.worker.letting_out import letting_out
from crewtop.worker.scratch import scratch_folder
from crewtop.worker.supervisor import Supervisor
from crewtop.worker.tracing import tracing
from crewtop.worker.work import Work, registered

log = structlog.get_logger()

Beside = Callable[[Stores, str], Coroutine[Any, Any, None]]
"""Something that a worker, of this id, does for all beside its runs, until it is cancelled."""

CONNECTIONS = 6
STATEMENT_TIMEOUT_SECONDS = 30.0
ENDING_SECONDS = 5.0
"""What goes on beside a worker has so long to end once it has."""


async def work(
    configuration: Configuration,
    *,
    queues: list[str] | None,
    burst: bool,
    log_json: bool,
    env: Mapping[str, str] | None = None,
    beside: Sequence[Beside] = (),
) -> int:
    """Run a worker until it has drained; answers the exit code.

    Raises CrewtopError where no crew is registered or executors cannot be started.
    """
    settings = configuration.settings
    crews = registered(configuration)
    log_to_stderr(as_json=log_json)
    for name, schedule in settings.schedules.items():
        if schedule.crew not in crews:
            log.warning("schedule", name=name, crew=schedule.crew, then="its tasks wait for a worker with this crew")
    me = fresh_identity()
    job = Work(
        crews=crews,
        queues=tuple(queues) if queues else None,
        slots=settings.worker.slots,
        burst=burst,
        folder=configuration.folder,
        settings=settings.worker,
        service_levels=settings.queue.service_levels_seconds,
        rates=settings.rates(),
        env=env or {},
        schedules=settings.schedules,
        keeping=settings.retention.seconds(),
        budgets=settings.llm.budgets.rows(),
        llm=settings.llm,
        secrets=Secrets(name for names in settings.llm.keys().values() for name in names),
    )
    async with stores(settings, "crewtop worker", connections=CONNECTIONS, timeout=STATEMENT_TIMEOUT_SECONDS) as opened:
        await schema.check(opened.database)
        if opened.database.pooled:
            log.info("postgres", pooled=True, then="nothing is prepared")
        polling = f"polling every {settings.worker.poll_seconds:g} s"
        redis = await opened.live.health()
        if not redis.up or redis.evicts:
            log.warning("redis", up=redis.up, detail=redis.detail, then=polling if not redis.up else "keys may vanish")
        redis_url = opened.addresses.redis_url
        async with letting_out(settings.llm, job.rates, opened.database, redis_url, me.id) as calls:
            with tracing(settings.traces.endpoint) as traces, scratch_folder() as scratch:
                job = replace(job, calls=calls, traces=traces)
                supervisor = Supervisor(me, job, opened.database, opened.live, scratch)
                async with _beside(beside, opened, me.id):
                    await _run(supervisor, settings.worker.grace_seconds)
    return 0


@asynccontextmanager
async def _beside(beside: Sequence[Beside], opened: Stores, worker_id: str) -> AsyncIterator[None]:
    """Do it for as long as the block lasts. A worker goes on working where that goes wrong."""
    tasks = [asyncio.create_task(_logged(do(opened, worker_id))) for do in beside]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=ENDING_SECONDS)


async def _logged(doing: Coroutine[Any, Any, None]) -> None:
    try:
        await doing
    except Exception:
        log.exception("went wrong", what=getattr(doing, "__qualname__", "beside"))


async def _run(supervisor: Supervisor, grace_seconds: float) -> None:
    """Run it, and let signals drain it."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, supervisor.drain, grace_seconds)
    loop.add_signal_handler(FINISH, supervisor.drain, None)
    await supervisor.run()


FINISH = signal.SIGUSR1
"""Asks a worker to finish what it runs, however long that takes, and to end."""


def log_to_stderr(*, as_json: bool) -> None:
    """One line an event: plain words, or a JSON object. Text from tasks comes escaped, whichever it is."""
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            _safe,
            structlog.processors.JSONRenderer()
            if as_json
            else structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _safe(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Text from tasks reaches the log as it reaches the screen: no control character, no secret."""
    return {key: _plain(value) for key, value in event.items()}


def _plain(value: object) -> object:
    if isinstance(value, str):
        return shown(masked(value))
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def worker_command(*arguments: str) -> list[str]:
    """How to start a worker as a process of its own, with the Python that runs this."""
    return [sys.executable, "-m", "crewtop", "worker", *arguments]


def own_environment(**more: str) -> dict[str, str]:
    """This process's environment with more in it."""
    return {**os.environ, **more}
