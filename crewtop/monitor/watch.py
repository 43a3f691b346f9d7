"""Alerts judged by one worker for all: a look at the snapshot each few seconds, and the delivery of what it changed."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from crewtop.config_alerts import Delivery
from crewtop.model.alert_rules import Levels, signs
from crewtop.model.alerts import Alert, Event, Rule, Seen, Sign, Step, advance
from crewtop.model.errors import Unavailable
from crewtop.model.snapshot import Health, Snapshot
from crewtop.monitor.notices import NotDelivered, deliver, message
from crewtop.store import alerts as store
from crewtop.store.alerts import Notice
from crewtop.store.database import Database

log = structlog.get_logger()

LOOK_SECONDS = 5.0
WATCH_SECONDS = 20.0
"""A worker that has not looked for so long is followed by another."""

AT_ONCE = 8
"""Deliveries that are under way at a time."""


class Watch:
    """What a worker does for alerts. look reads the snapshot; levels are the service levels of the configuration."""

    def __init__(
        self,
        database: Database,
        worker_id: str,
        look: Callable[[], Awaitable[Snapshot]],
        rules: Mapping[str, Rule],
        targets: Mapping[str, Delivery],
        levels: Levels,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._worker_id = worker_id
        self._look = look
        self._rules = rules
        self._targets = targets
        self._levels = levels
        self._clock = clock
        self._mine = False
        self._last: Snapshot | None = None
        self._last_at = 0.0
        self._outage: dict[str, Alert] = {}
        self._untold: list[Notice] = []
        self.owed = asyncio.Event()

    async def judge(self) -> None:
        """Look, if no other worker does, and write down what that changes. While the database is away only that is
        judged, in memory, by whoever judged before: what is to be said of it does not wait.
        """
        try:
            mine = await store.take_watch(self._database, self._worker_id, WATCH_SECONDS, delivers=bool(self._targets))
            if mine != self._mine:
                log.info("alerts", watches=mine)
                self._mine = mine
            if not mine:
                await self._hand_over()
                return
            picture = await self._look()
        except Unavailable as error:
            self._judge_outage(str(error))
            return
        self._last, self._last_at = picture, self._clock()
        await self._write(picture)

    async def deliver(self) -> None:
        """Deliver what is owed, if this is the worker that judges."""
        if not self._mine or not self._targets:
            return
        await self._deliver_untold()
        try:
            notices = await store.take_notices(self._database, list(self._targets))
        except Unavailable:
            return
        room = asyncio.Semaphore(AT_ONCE)

        async def one(notice: Notice) -> None:
            async with room:
                error = await self._send(notice)
                with suppress(Unavailable):  # then it is delivered once more: at least once
                    await store.mark_notice(self._database, notice, error)

        async with asyncio.TaskGroup() as group:
            for notice in notices:
                group.create_task(one(notice))

    async def release(self) -> None:
        """Let another worker judge at once."""
        if self._mine:
            self._mine = False
            await store.release_watch(self._database, self._worker_id)

    async def _write(self, picture: Snapshot) -> None:
        """What became of the alerts. What an outage left in memory goes before what the database has of it."""
        standing = {alert.id: alert for alert in picture.alerts} | self._outage
        step = self._advance(picture, tuple(standing.values()), self._seen(picture))
        changed = {id_: each for id_, each in self._outage.items() if id_ not in step.dropped}
        changed |= {each.id: each for each in step.changed}
        step = replace(step, changed=tuple(changed.values()))
        if not step:
            return
        notices = [*self._untold, *self._notices(step.tell)]
        if await store.write(self._database, self._worker_id, step, notices):
            self._outage, self._untold = {}, []
            self._say(step)
            if notices:
                self.owed.set()

    async def _hand_over(self) -> None:
        """Another judges now. What was told of an outage from here alone has its end."""
        if self._last is not None and (told := [alert for alert in self._outage.values() if alert.told]):
            at = self._now()
            ended = tuple(replace(alert, state="ended", clear_since=None, ended_at=at) for alert in told)
            ends = self._notices([(alert, "ended") for alert in ended])
            await store.write_ended(self._database, ended, [*self._untold, *ends])
        self._last, self._outage, self._untold = None, {}, []

    def _judge_outage(self, why: str) -> None:
        """The database does not answer: of all alerts only the one on that can begin, and none can end."""
        if self._last is None:
            return
        picture = replace(self._last, at=self._now(), postgres=Health(False, None, why))
        before = self._outage or {alert.id: alert for alert in picture.alerts if _of_postgres(alert)}
        seen = self._seen(picture)
        seen = replace(seen, signs=tuple(sign for sign in seen.signs if _of_postgres(sign)))
        step = self._advance(picture, tuple(before.values()), seen)
        self._outage = {id_: alert for id_, alert in before.items() if id_ not in step.dropped}
        self._outage |= {alert.id: alert for alert in step.changed}
        self._untold += self._notices(step.tell)
        self._say(step)
        if step.tell:
            self.owed.set()

    def _now(self) -> datetime:
        """The database's clock, as far as it is known since it last told."""
        assert self._last is not None
        return self._last.at + timedelta(seconds=self._clock() - self._last_at)

    def _seen(self, picture: Snapshot) -> Seen:
        return signs(picture, tuple(self._rules.values()), self._levels)

    def _advance(self, picture: Snapshot, standing: Sequence[Alert], seen: Seen) -> Step:
        return advance(standing, seen, self._rules, picture.silences, picture.at, lambda: str(uuid.uuid4()))

    def _notices(self, tell: Sequence[tuple[Alert, Event]]) -> list[Notice]:
        return [Notice(alert, event, target) for alert, event in tell for target in self._targets_of(alert)]

    def _targets_of(self, alert: Alert) -> Sequence[str]:
        rule = self._rules.get(alert.rule)
        return tuple(self._targets) if rule is None or rule.deliver is None else rule.deliver

    def _say(self, step: Step) -> None:
        for alert, event in step.tell:
            log.warning("alert", said=event, rule=alert.rule, of=alert.subject, words=alert.words)

    async def _deliver_untold(self) -> None:
        """What the database could not take yet: it says later that it was delivered."""
        for number, notice in enumerate(self._untold):
            if not notice.delivered and await self._send(notice) is None:
                self._untold[number] = replace(notice, delivered=True)

    async def _send(self, notice: Notice) -> str | None:
        """Deliver it; answers what went wrong, if anything did."""
        try:
            await deliver(self._targets[notice.target], message(notice.alert, notice.event, self._source))
        except NotDelivered as error:
            log.warning("not delivered", to=notice.target, rule=notice.alert.rule, reason=str(error))
            return str(error)
        return None

    @property
    def _source(self) -> str:
        return self._last.where if self._last is not None else "crewtop"


def _of_postgres(what: Alert | Sign) -> bool:
    return (what.watches, what.subject) == ("store", "postgres")
