"""What every worker does for all: take back expired leases, close unanswered calls, keep tables small."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping

import structlog

from crewtop.model.errors import CrewtopError
from crewtop.store import housekeeping, lease, ledger
from crewtop.store.database import Database
from crewtop.worker.schedules import LOOK_SECONDS, Scheduler
from crewtop.worker.work import Work

log = structlog.get_logger()

RESCUES_A_LEASE = 2
RESCUES_A_TIME = 100
FOLD_SECONDS = 5.0
PRUNE_SECONDS = 3_600.0
PRUNES_A_TIME = 2_000
PRUNE_REST_SECONDS = 0.05
"""Between two batches, so that pruning leaves the database to those who work."""
CLOSE_CALLS_SECONDS = 60.0


def upkeep(
    database: Database,
    worker_id: str,
    work: Work,
    held_safely: Callable[[], set[int] | None],
    back_in_queue: Callable[[set[str]], Awaitable[None]],
) -> list[Coroutine[None, None, None]]:
    """The loops of a worker that does this work.

    held_safely names the worker's own runs, or None while it may not rescue; back_in_queue is told the queues of tasks
    that were rescued, or put in by a schedule.
    """

    async def rescue() -> None:
        while (held := held_safely()) is not None:
            rescued = await lease.rescue(database, worker_id, random.uniform(0.0, 1.0), held, RESCUES_A_TIME)
            for item in rescued:
                log.warning("rescued", task=item.task_id, run=item.run_id, status=str(item.status), why=item.why)
            if rescued:
                await ledger.close_calls(database, [item.run_id for item in rescued])
                await back_in_queue({item.queue for item in rescued})
            if len(rescued) < RESCUES_A_TIME:
                return

    async def close_calls() -> None:
        await ledger.close_calls(database, None, CLOSE_CALLS_SECONDS)

    async def fold() -> None:
        await housekeeping.fold(database)

    scheduler = Scheduler(database, work.schedules, back_in_queue)
    return [
        every(work.settings.lease_seconds / RESCUES_A_LEASE, "rescue", rescue),
        every(CLOSE_CALLS_SECONDS, "close calls", close_calls),
        every(FOLD_SECONDS, "fold", fold),
        every(PRUNE_SECONDS, "prune", Pruner(database, work.keeping).prune),
        *([every(LOOK_SECONDS, "schedules", scheduler.look, scheduler.due)] if work.schedules else []),
    ]


class Pruner:
    """Forgets what is old, gone through from the old end, so much at a time."""

    def __init__(self, database: Database, keeping: Mapping[str, float]) -> None:
        self._database = database
        self._keeping = keeping
        self._place = 0

    async def prune(self) -> None:
        """Go on from where the last pass ended, to the first task that is too young or for two million tasks."""
        await housekeeping.prune(self._database)
        for _ in range(PRUNES_A_TIME):
            _, place = await housekeeping.prune_tasks(self._database, self._keeping, self._place)
            self._place = place or 0
            if place is None:
                return
            await asyncio.sleep(PRUNE_REST_SECONDS)


async def every(seconds: float, what: str, do: Callable[[], Awaitable[None]], now: asyncio.Event | None = None) -> None:
    """Do it again and again, and at once when now is set, whatever happens: a keeper that dies silently is worse than
    one that complains.
    """
    wanted = now or asyncio.Event()
    while True:
        wanted.clear()
        try:
            await do()
        except CrewtopError as error:
            log.warning("put off", what=what, reason=str(error))
        except Exception:
            log.exception("went wrong", what=what)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds * random.uniform(0.75, 1.0)):
                await wanted.wait()


def pause(failures: int, between: tuple[float, float]) -> float:
    """Jittered seconds to rest after so many failures in a row: doubling from the shortest to the longest."""
    shortest, longest = between
    return min(longest, shortest * 2.0 ** min(failures, 8)) * random.uniform(0.5, 1.0)
