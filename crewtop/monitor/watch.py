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
from crewtop.model.errors import CrewtopError
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
"""Deliveries to one target that are under way at a time."""

FAREWELL_SECONDS = 3.0
"""How long a worker that ends waits for what it is delivering."""


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
        self._taken: set[Notice] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self.owed = {target: asyncio.Event() for target in targets}

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
        except CrewtopError as error:  # it is away, it is gone, or it lets nobody in
            self._judge_outage(str(error))
            return
        self._last, self._last_at = picture, self._clock()
        await self._write(picture)

    async def deliver(self, target: str) -> None:
        """Deliver what is owed to a target, if this is the worker that judges. None waits for another that hangs."""
        if not self._mine:
            return
        await self._deliver_untold(target)
        due = AT_ONCE
        while self._mine and due == AT_ONCE:
            try:
                notices = await store.take_notices(self._database, target, AT_ONCE)
            except CrewtopError:
                return
            await asyncio.gather(*map(self._deliver, notices))
            due = len(notices)

    async def _deliver(self, notice: Notice) -> None:
        """Deliver it and note that. Who is cancelled meanwhile leaves it to release to see that to its end."""
        sending = asyncio.create_task(self._send_and_mark(notice))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)
        await asyncio.shield(sending)

    async def _send_and_mark(self, notice: Notice) -> None:
        await self._mark(notice, await self._send(notice))

    async def _mark(self, notice: Notice, error: str | None) -> None:
        with suppress(CrewtopError):  # then it is delivered once more: at least once
            await store.mark_notice(self._database, notice, error)

    async def release(self) -> None:
        """Let another worker judge at once, and note what is being delivered, if that does not take too long."""
        if self._mine:
            self._mine = False
            await store.release_watch(self._database, self._worker_id)
        if self._sending:
            await asyncio.wait(self._sending, timeout=FAREWELL_SECONDS)

    async def _write(self, picture: Snapshot) -> None:
        """What became of the alerts. What an outage left in memory goes before what the database has of it."""
        standing = {alert.id: alert for alert in picture.alerts} | self._outage
        step = self._advance(picture, tuple(standing.values()), self._seen(picture))
        changed = {id_: each for id_, each in self._outage.items() if id_ not in step.dropped}
        changed |= {each.id: each for each in step.changed}
        step = replace(step, changed=tuple(changed.values()))
        if not step:
            return
        taken = set(self._taken)
        notices = [*self._remembered(taken), *self._notices(step.tell)]
        if await store.write(self._database, self._worker_id, step, notices):
            stand = {**standing, **changed}.values()
            alerts = tuple(each for each in stand if each.state != "ended" and each.id not in step.dropped)
            self._last = replace(picture, alerts=alerts)  # an outage that begins now is judged from what was written
            self._say(step, picture.at)
            await self._written_down(taken)

    async def _hand_over(self) -> None:
        """Another judges now. What was told of an outage from here alone has its end."""
        if self._last is not None and (told := [alert for alert in self._outage.values() if alert.told]):
            at = self._now()
            ended = tuple(replace(alert, state="ended", clear_since=None, ended_at=at) for alert in told)
            taken = set(self._taken)
            await store.write_ended(self._database, ended, self._remembered(taken))
            await self._written_down(taken)
        self._last = None
        self._forget_outage()

    def _remembered(self, taken: set[Notice]) -> list[Notice]:
        """What is to be told from memory; of that taken was delivered."""
        return [replace(notice, delivered=notice in taken) for notice in self._untold]

    async def _written_down(self, taken: set[Notice]) -> None:
        """The database has what memory had; what was delivered while it was written down is noted there too."""
        late = self._taken - taken
        self._forget_outage()
        for notice in late:
            await self._mark(notice, None)
        self._wake()

    def _forget_outage(self) -> None:
        self._outage, self._untold, self._taken = {}, [], set()

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
        self._say(step, picture.at)
        if step.tell:
            self._wake()

    def _wake(self) -> None:
        for owed in self.owed.values():
            owed.set()

    def _now(self) -> datetime:
        """The database's clock, as far as it is known since it last told."""
        assert self._last is not None
        return self._last.at + timedelta(seconds=self._clock() - self._last_at)

    def _seen(self, picture: Snapshot) -> Seen:
        return signs(picture, tuple(self._rules.values()), self._levels)

    def _advance(self, picture: Snapshot, standing: Sequence[Alert], seen: Seen) -> Step:
        mute = not self._targets
        return advance(standing, seen, self._rules, picture.silences, picture.at, lambda: str(uuid.uuid4()), mute=mute)

    def _notices(self, tell: Sequence[tuple[Alert, Event]]) -> list[Notice]:
        """What is owed of beginnings; the store knows who was told of them, and is to be told of their ends."""
        return [
            Notice(alert, event, target)
            for alert, event in tell
            if event == "fired"
            for target in self._targets_of(alert)
        ]

    def _targets_of(self, alert: Alert) -> Sequence[str]:
        rule = self._rules.get(alert.rule)
        return tuple(self._targets) if rule is None or rule.deliver is None else rule.deliver

    def _say(self, step: Step, at: datetime) -> None:
        """Log what has fired and what has ended at this look, whether anybody else is told or not."""
        for alert in step.changed:
            if at in (alert.fired_at, alert.ended_at):
                said = "ended" if alert.ended_at is not None else "fired"
                log.warning("alert", said=said, rule=alert.rule, of=alert.subject, words=alert.words)

    async def _deliver_untold(self, target: str) -> None:
        """What the database could not take yet: it is noted there, as soon as it can, that it was delivered."""
        for notice in [each for each in self._untold if each.target == target and each not in self._taken]:
            if await self._send(notice) is not None:
                continue
            if notice in self._untold:
                self._taken.add(notice)
            else:  # the database took it meanwhile
                await self._mark(notice, None)

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
