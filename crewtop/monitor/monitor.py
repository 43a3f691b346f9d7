"""What the screen and the command line read from: snapshots, lists, stories, logs; and the way to act."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from crewtop import operations
from crewtop.live.providers import Sight, look
from crewtop.model.alerts import Alert, Silence, exactly
from crewtop.model.detail import Body, Excerpt, LogLines, TaskDetail, TaskPage
from crewtop.model.errors import Unavailable
from crewtop.model.failures import Failures
from crewtop.model.filters import TaskFilter
from crewtop.model.live import Happenings
from crewtop.model.money import Money
from crewtop.model.operations import (
    UNDO_MINUTES,
    Action,
    ItemOutcome,
    Matching,
    Operation,
    OperationResult,
    Order,
    Scope,
    Target,
)
from crewtop.model.providers import Providers
from crewtop.model.snapshot import Health, RunningRow, Snapshot
from crewtop.model.spending import Spending
from crewtop.monitor import events
from crewtop.monitor.assemble import assemble
from crewtop.monitor.money import spending
from crewtop.monitor.reading import Reading
from crewtop.monitor.window import HOUR_SECONDS, Window
from crewtop.store import console, limits, tasklist
from crewtop.store import operations as store
from crewtop.store.database import Database, TooSlow
from crewtop.store.failures import read as read_failures
from crewtop.store.spending import read as read_spending
from crewtop.stores import Stores

WINDOW_SECONDS = 900
RUNNING_LIMIT = 200
LOG_PAUSE_SECONDS = 2.0


class Monitor:
    """Reads of one screen. At most one snapshot is under way at a time; each read has the database's timeout.

    reading: which server it reads from; what concerns operations is the primary's, as all that is acted on.
    """

    def __init__(
        self, opened: Stores, no_progress_seconds: float, undo_within: timedelta = timedelta(minutes=UNDO_MINUTES)
    ) -> None:
        self.reading = Reading(opened.database, opened.replica)
        self._database = opened.database
        self._live = opened.live
        self._name = "embedded" if opened.addresses.embedded else None
        self._host = "" if opened.addresses.embedded else opened.database.host
        self._no_progress_seconds = no_progress_seconds
        self._undo_within = undo_within
        self._window = Window(WINDOW_SECONDS)
        self._running: tuple[RunningRow, ...] = ()
        self._repriced: str | None = None
        self._providers: Providers | None = None
        self._told_at = 0.0
        self._one_at_a_time = asyncio.Lock()

    async def snapshot(self) -> Snapshot:
        """The whole picture of now: one round trip to Postgres, one pipeline to Redis."""
        async with self._one_at_a_time:
            redis = asyncio.create_task(look(self._live))
            try:
                return await self._read(redis)
            finally:
                await asyncio.wait([redis])

    async def _read(self, redis: asyncio.Task[Sight]) -> Snapshot:
        since = self._window.since
        latency, raw = await self.reading.ask(self._raw)
        now, before = datetime.fromisoformat(raw["at"]).timestamp(), raw["spent_before"]
        if raw["repriced"] != self._repriced or self._window.is_outdated(now):  # and so are buckets that were over
            self._repriced = raw["repriced"]
            if since is not None:
                self._window.since = None
                return await self._read(redis)
        self._window.see(
            now, max((wait or 0.0 for queue in raw["queues"] or () for wait in queue["waits"]), default=0.0)
        )
        self._window.update(
            now,
            raw["stats"] or (),
            raw["spend"] or (),
            Money(Decimal(before["cost"]), before["unpriced"], before["calls"]),
        )
        postgres = Health(True, latency, f"PostgreSQL {raw['version'].split()[0]}")
        sight = await redis
        picture = assemble(raw, self._name, self._window, postgres, sight.health, self._no_progress_seconds)
        self._running = picture.running
        return replace(
            picture,
            pooled=self._database.pooled,
            host=self._host,
            providers=self._remembered(sight.providers),
            replica_lag=raw["replica_lag"],
            replica_away=self.reading.away,
            state_cache=sight.states,
        )

    async def _raw(self, database: Database) -> tuple[float, dict[str, Any]]:
        """The raw figures of one server, and how many seconds it took."""
        since = self._window.since
        start = time.monotonic()
        try:
            raw = await console.read_snapshot(
                database,
                datetime.fromtimestamp(since, UTC) if since is not None else None,
                WINDOW_SECONDS,
                self._no_progress_seconds,
                RUNNING_LIMIT,
                with_today=since is None,
            )
        except TooSlow as error:
            if database is self._database:
                raise
            raise Unavailable(str(error)) from error  # a replica that hangs is one that is away
        lag = self.reading.lag(database, raw["behind"])
        if lag is not None:
            raw["read_only"] = raw["forbidden"]  # what is acted on is the primary
        return time.monotonic() - start, raw | {"replica_lag": lag}

    def _remembered(self, told: Providers | None) -> Providers | None:
        """What is told of providers now; the last that was told, and how old it is, where nothing can be."""
        now = time.monotonic()
        if told is not None:
            self._providers, self._told_at = told, now
            return told
        return self._providers and self._providers.after(now - self._told_at)

    async def tasks(self, task_filter: TaskFilter, sort: str, limit: int) -> TaskPage:
        """The first limit rows that match, ordered by sort (a key of model.filters.SORTS, or '-' and one)."""
        return await self.reading.ask(
            lambda database: tasklist.list_tasks(database, task_filter, sort, limit, self._no_progress_seconds)
        )

    async def detail(self, task_id: int) -> TaskDetail | None:
        """A task's whole story with the first 64 KB of each long text; None where there is no such task."""
        return await self.reading.ask(
            lambda database: console.read_detail(database, task_id, self._no_progress_seconds)
        )

    async def body(self, task_id: int, run_id: int | None, body: Body, limit: int) -> Excerpt:
        """The first limit characters of one long text."""
        return await self.reading.ask(lambda database: console.read_body(database, task_id, run_id, body, limit))

    async def log(self, run_id: int) -> AsyncIterator[LogLines]:
        """What the run printed so far, then what it prints, until the caller stops."""
        after = "0"
        while True:
            read = await self._live.read_log(run_id, after)
            if read is None:
                yield LogLines((), note=f"no live log: {self._live.down or 'redis is away'}")
                await asyncio.sleep(LOG_PAUSE_SECONDS)
                continue
            after, lines = read
            if lines:
                yield LogLines(tuple(lines))

    async def failures(self, hours: int = 24) -> Failures:
        """What failed in the last so many hours, and what backs off now, by what went wrong."""
        return await self.reading.ask(lambda database: read_failures(database, hours * HOUR_SECONDS))

    async def spending(self, hours: int) -> Spending:
        """What LLM calls cost over so many hours."""
        return spending(await self.reading.ask(lambda database: read_spending(database, hours)), hours)

    async def operations(self, limit: int) -> Sequence[Operation]:
        """The newest operations, newest first."""
        return await store.newest(self._database, limit)

    async def outcomes(self, operation_id: int, limit: int) -> Sequence[ItemOutcome]:
        """What became of the tasks of an operation, refused ones first."""
        return await store.outcomes(self._database, operation_id, limit, refused_first=True)

    async def halt(self, operation_id: int, how: Literal["pause", "cancel"]) -> Operation:
        """Pause an operation, or cancel what is left of it. Raises Refused where it is not under way."""
        return await operations.halt(self._database, operation_id, how)

    def resume(self, operation_id: int) -> AsyncIterator[Operation]:
        """Work off what is left of an operation; tells how far it has come. Raises Refused where it is over."""
        return operations.resume(self._database, self._live, operation_id)

    def events(self, *, logs: bool) -> AsyncIterator[Happenings]:
        """What happened lately, then what happens; with lines of running tasks' output if logs."""
        return events.follow(self._live, logs, lambda: self._running)

    async def act(self, order: Order, targets: Sequence[Target]) -> OperationResult:
        """Apply an operator's action to the tasks as seen."""
        return await operations.act(self._database, self._live, order, targets)

    async def price(self, action: Action, matching: Matching) -> Scope:
        """What an action over a filter would reach and cost."""
        return await store.price(self._database, action, matching, self._no_progress_seconds)

    def act_on_all(self, order: Order, matching: Matching) -> AsyncIterator[Operation]:
        """Apply an operator's action to every task that matches; tells how far it has come."""
        return operations.act_on_all(self._database, self._live, order, matching, self._no_progress_seconds)

    def undo(self, operation_id: int) -> AsyncIterator[Operation]:
        """Take an operation back; tells how far that has come."""
        return operations.undo(self._database, self._live, operation_id, None, self._undo_within)

    async def refusals(self, operation_id: int) -> Mapping[str, int]:
        """How many tasks of an operation were refused for which reason."""
        return await store.refusals(self._database, operation_id)

    async def pause_queue(self, queue: str, *, paused: bool) -> str:
        """Let workers claim nothing from a queue, or let them go on; why a spent budget holds it still, else ''."""
        if not paused:
            return await operations.resume_queue(self._database, self._live, queue)
        await limits.pause_queue(self._database, queue, operations.operator(), None)
        return ""

    async def silence(self, alert: Alert, seconds: float | None) -> None:
        """Tell nobody of an alert for so many seconds; None: until it ends."""
        await operations.silence(self._database, exactly(alert.rule), exactly(alert.subject), seconds, alert.id)

    async def unsilence(self, silence: Silence) -> None:
        """End a silence. Raises Refused where it is over."""
        await operations.unsilence(self._database, silence.id)

    async def set_slots(self, worker_id: str, slots: int) -> None:
        """Ask a worker for that many slots."""
        await self._order(worker_id, slots)

    async def drain(self, worker_id: str) -> None:
        """Ask a worker to stop claiming, finish what it runs, and end."""
        await self._order(worker_id, None, drain=True)

    async def kill(self, worker_id: str) -> None:
        """Ask a worker to end at once: what it runs is killed and goes back to its queue."""
        await self._order(worker_id, None, kill=True)

    async def _order(self, worker_id: str, slots: int | None, *, drain: bool = False, kill: bool = False) -> None:
        if not await store.order_worker(self._database, worker_id, slots, drain, kill=kill):
            raise Unavailable(f"worker {worker_id} has ended")
        await self._live.nudge(worker_id)
