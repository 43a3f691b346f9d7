"""What every worker does for all: take back expired leases, close unanswered calls, keep tables small."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping

import structlog

from crewtop import operations
from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import CrewtopError
from crewtop.model.live import Change, Changes, Stand, let_go
from crewtop.model.task import Settled, ready_queues
from crewtop.store import dependents, housekeeping, lease, ledger
from crewtop.store.database import Database
from crewtop.worker.budgets import JUDGE_SECONDS, KEEP_SECONDS, Treasurer
from crewtop.worker.schedules import LOOK_SECONDS, Scheduler
from crewtop.worker.work import Work

log = structlog.get_logger()

RESCUES_A_LEASE = 2
RESCUES_A_TIME = 100
FOLD_SECONDS = 5.0
SETTLE_SECONDS = 20.0
PRUNE_SECONDS = 3_600.0
PRUNES_A_TIME = 2_000
PRUNE_REST_SECONDS = 0.05
"""Between two batches, so that pruning leaves the database to those who work."""
CLOSE_CALLS_SECONDS = 60.0


class Upkeep:
    """The loops of a worker that does this work.

    held_safely names the worker's own runs, or None while it may not rescue; back_in_queue is told the queues in which
    tasks became ready: rescued, freed, or put in by a schedule.
    """

    def __init__(
        self,
        database: Database,
        live: FastLane,
        worker_id: str,
        work: Work,
        held_safely: Callable[[], set[int] | None],
        back_in_queue: Callable[[set[str]], Awaitable[None]],
    ) -> None:
        self._database = database
        self._live = live
        self._worker_id = worker_id
        self._work = work
        self._held_safely = held_safely
        self._back_in_queue = back_in_queue
        self._settled = 0

    def loops(self) -> list[Coroutine[None, None, None]]:
        """All of them, to be run at once."""
        scheduler = Scheduler(self._database, self._work.schedules, self._back_in_queue, self._live.tell)
        pruner = Pruner(self._database, self._live, self._work.keeping)
        treasurer = Treasurer(self._database, self._worker_id, self._work.budgets)
        return [
            every(self._work.settings.lease_seconds / RESCUES_A_LEASE, "rescue", self._rescue),
            every(CLOSE_CALLS_SECONDS, "close calls", self._close_calls),
            every(FOLD_SECONDS, "fold", lambda: housekeeping.fold(self._database)),
            every(SETTLE_SECONDS, "settle", self._settle),
            every(operations.ABANDONED_SECONDS, "carry on", lambda: operations.carry_on(self._database, self._live)),
            every(PRUNE_SECONDS, "prune", pruner.prune),
            *([every(LOOK_SECONDS, "schedules", scheduler.look, scheduler.due)] if self._work.schedules else []),
            *([every(KEEP_SECONDS, "keep budgets", treasurer.keep)] if self._work.budgets else []),
            *([every(JUDGE_SECONDS, "judge budgets", treasurer.judge)] if self._work.budgets else []),
        ]

    async def _rescue(self) -> None:
        while (held := self._held_safely()) is not None:
            delay = random.uniform(0.0, 1.0)
            rescued = await lease.rescue(self._database, self._worker_id, delay, held, RESCUES_A_TIME)
            for item in rescued:
                log.warning("rescued", task=item.task_id, run=item.run_id, status=str(item.status), why=item.why)
            if rescued:
                await ledger.close_calls(self._database, [item.run_id for item in rescued])
                ended = [item.task_id for item in rescued if item.status.ended]
                settled = await dependents.settle(self._database, ended, self._actor)
                await self._back_in_queue(ready_queues(settled) | {item.queue for item in rescued})
                await self._live.stand([*map(_stand, rescued), *map(_stand, settled)])
                await self._tell([*map(self._change, rescued), *(let_go(task, self._actor) for task in settled)])
            if len(rescued) < RESCUES_A_TIME:
                return

    async def _close_calls(self) -> None:
        await ledger.close_calls(self._database, None, CLOSE_CALLS_SECONDS)

    async def _settle(self) -> None:
        """What whoever died in between has left undone."""
        await housekeeping.sweep_slots(self._database)
        settled, self._settled = await dependents.settle_the_rest(self._database, self._actor, self._settled)
        if ready := ready_queues(settled):
            await self._back_in_queue(ready)
        if settled:
            await self._live.stand([*map(_stand, settled)])
            await self._tell(let_go(task, self._actor) for task in settled)

    async def _tell(self, changes: Iterable[Change]) -> None:
        told = Changes()
        for change in changes:
            told.add(change)
        await self._live.tell(told.take())

    def _change(self, item: lease.Rescued) -> Change:
        return Change(item.task_id, item.queue, item.crew, "running", item.status, self._actor, item.run_id, item.why)

    @property
    def _actor(self) -> str:
        return f"worker:{self._worker_id}"


def _stand(item: lease.Rescued | Settled) -> Stand:
    return Stand(item.task_id, item.version, item.status)


class Pruner:
    """Forgets what is old, gone through from the old end, so much at a time."""

    def __init__(self, database: Database, live: FastLane, keeping: Mapping[str, float]) -> None:
        self._database = database
        self._live = live
        self._keeping = keeping
        self._place = 0

    async def prune(self) -> None:
        """Go on from where the last pass ended, to the first task that is too young or for two million tasks."""
        await housekeeping.prune(self._database)
        for _ in range(PRUNES_A_TIME):
            deleted, place = await housekeeping.prune_tasks(self._database, self._keeping, self._place)
            await self._live.stand([Stand(task_id) for task_id in deleted])
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
