"""Recurring tasks: every worker that has schedules in its configuration puts in what is due, once among them all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

import structlog

from crewtop.config import Schedule
from crewtop.model.live import Change
from crewtop.model.schedules import due, ticks
from crewtop.store import schedules as store
from crewtop.store.database import Database
from crewtop.store.housekeeping import SCHEDULES_SECONDS
from crewtop.store.schedules import Definition, Standing

log = structlog.get_logger()

LOOK_SECONDS = 30.0
"""At most so long between two looks; the next tick is looked for when it is due."""

SEEN = timedelta(minutes=1)
"""How often the row says that a worker still has it."""

ABSENT = timedelta(minutes=5)
"""A definition that no worker has had for so long is another's to replace."""

FORGOTTEN = timedelta(seconds=SCHEDULES_SECONDS)
"""What no worker has had for so long begins anew: nobody waits for ticks of that time any more."""


class Scheduler:
    """One worker's part in its schedules. woken is told the queues that tasks were put into, tell the tasks.

    At its start a worker's definitions replace what is there, so that the newest configuration counts; from then on it
    leaves those alone that a newer worker has replaced.
    """

    def __init__(
        self,
        database: Database,
        schedules: Mapping[str, Schedule],
        woken: Callable[[set[str]], Awaitable[None]],
        tell: Callable[[list[Change]], Awaitable[object]],
    ) -> None:
        self._database = database
        self._definitions = {name: schedule.model_dump(mode="json") for name, schedule in schedules.items()}
        self._fresh = set(self._definitions)
        self._woken = woken
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None
        self.due = asyncio.Event()
        """Set when the next tick has come."""

    async def look(self) -> None:
        """Put in what is due, and set a timer for what comes next. Raises as Database does."""
        seen = await store.look(self._database, self._definitions)
        if self._timer is not None:
            self._timer.cancel()
        upcoming = [next_at for standing in seen if (next_at := await self._pass(standing)) is not None]
        if upcoming:
            wait = (min(upcoming) - seen[0].at).total_seconds()
            if wait < LOOK_SECONDS:
                self._timer = asyncio.get_running_loop().call_later(wait, self.due.set)

    async def _pass(self, seen: Standing) -> datetime | None:
        """Deal with one schedule; answers its next tick, or None where it has none for this worker."""
        own = self._definitions[seen.name]
        if not self._is_ours(seen, own):
            return None
        next_at = seen.next_at
        if next_at is None or _begins_anew(seen, own):
            next_at = _next(own, seen.at)
            await store.keep(self._database, seen, own, next_at)
        elif seen.definition != own or _age(seen) > SEEN:
            await store.keep(self._database, seen, own, None)
        self._fresh.discard(seen.name)
        if not own["enabled"]:
            return None
        if next_at <= seen.at:
            next_at = await self._tick(seen, own, next_at)
        return next_at

    def _is_ours(self, seen: Standing, own: Definition) -> bool:
        return seen.definition in (None, own) or seen.name in self._fresh or _age(seen) > ABSENT

    async def _tick(self, seen: Standing, own: Definition, come: datetime) -> datetime:
        made_up = due(own["cron"], own["zone"], own["missed"], come, seen.at)
        next_at = _next(own, seen.at)
        ids = await store.tick(self._database, seen.name, own, come, next_at, made_up)
        if ids:
            log.info("schedule", name=seen.name, tasks=ids, tick=str(made_up[-1]), next=str(next_at))
            await self._woken({own["queue"]})
            by = f"schedule {seen.name}"
            await self._tell([Change(ids[0], own["queue"], own["crew"], None, "pending", by, number=len(ids))])
        elif not made_up:
            log.warning("schedule", name=seen.name, missed=str(come), next=str(next_at))
        return next_at


def _begins_anew(seen: Standing, own: Definition) -> bool:
    if seen.definition is None or _age(seen) > FORGOTTEN:
        return True
    return any(seen.definition[key] != own[key] for key in ("cron", "zone", "enabled"))


def _age(seen: Standing) -> timedelta:
    return seen.at - seen.seen_at if seen.seen_at is not None else timedelta.max


def _next(own: Definition, after: datetime) -> datetime:
    return next(ticks(own["cron"], own["zone"], after))
