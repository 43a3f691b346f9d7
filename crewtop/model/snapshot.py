"""What is seen of the whole shop at one instant, as plain data.

None is unknown and is shown as '?' or '-', never as 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from crewtop.model.alerts import Alert, Silence
from crewtop.model.budgets import BudgetRow
from crewtop.model.money import Money
from crewtop.model.providers import Providers


@dataclass(frozen=True, slots=True)
class Health:
    """A store as seen from here. latency in seconds; detail says what it is, or why it is down.

    evicts: the policy by which it drops keys where it is full; '' where it drops none, or where that is not known.
    """

    up: bool
    latency: float | None = None
    detail: str = ""
    evicts: str = ""


@dataclass(frozen=True, slots=True)
class Standby:
    """A server that follows this one, by its application_name. lag in seconds; None: this role may not know."""

    name: str
    lag: float | None


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How many of the producers' questions for a task's state Redis could answer, and how many not, this hour."""

    hits: int = 0
    misses: int = 0

    @property
    def rate(self) -> float | None:
        """The share that it could answer, 0 to 1; None where nobody asked."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Of n durations, in seconds; None where n is 0. Below n = 20 the screen marks them."""

    n: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True)
class Throttle:
    """A crew whose tasks are held back for so many seconds more, since its provider said 429."""

    crew: str
    provider: str
    seconds_left: float


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue. Counts are of tasks now; rates and percentiles are of the window (Snapshot.window_seconds).

    later counts pending tasks that are not due yet; oldest is the age in seconds of the longest-waiting claimable
    task; level is the share of first starts within their service level; ended counts the runs that completed or failed
    for good, error_rate is the share of these that failed; no_worker names crews with claimable tasks that no live
    worker has registered, unserved counts the tasks of these; throttled names crews whose tasks are held back.
    done_per_minute is of the last minute, as last_minute in model/pace.py has it. by_budget: nobody paused it, a budget
    that is spent holds it. waits: how long, in seconds, the longest-waiting claimable task of each priority has waited,
    P0 first. service_levels: this queue's own, in seconds by priority; None: those of the configuration.
    """

    name: str
    paused: bool = False
    paused_by: str | None = None
    paused_reason: str | None = None
    waiting: int = 0
    ready: int = 0
    later: int = 0
    running: int = 0
    stuck: int = 0
    retry: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    done_per_minute: float = 0.0
    oldest: float | None = None
    next_due: datetime | None = None
    level: float | None = None
    wait: Percentiles = field(default_factory=Percentiles)
    run: Percentiles = field(default_factory=Percentiles)
    ended: int = 0
    error_rate: float | None = None
    cost_per_1000: Money | None = None
    no_worker: tuple[str, ...] = ()
    unserved: int = 0
    throttled: tuple[Throttle, ...] = ()
    by_budget: bool = False
    waits: tuple[float | None, ...] = ()
    service_levels: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One bucket of the charts: at is its start; backlog is at its end; spend in US dollars and counts are of it.

    oldest: how long, in seconds, the longest-waiting claimable task of all queues had waited as it was seen then, 0
    where none waited; None: nobody looked.
    """

    at: datetime
    backlog: int
    arrived: int
    done: int
    failed: int
    wait_p95: float | None
    run_p95: float | None
    spend: float
    wait_p50: float | None = None
    wait_p99: float | None = None
    run_p50: float | None = None
    run_p99: float | None = None
    oldest: float | None = None


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker. heartbeat_age in seconds; state is running, draining, late (three heartbeats missed) or stopped.

    busy: runs under its name, which may be more than it has slots: some are claimed ahead where runs are short, some
    have ended and are not recorded yet, and slots that were taken away are given up only as their runs end.
    drain_seconds_left: until a draining worker hands back what still runs; None: it waits for it. clock_offset: seconds
    by which its host's clock is ahead of the database's.
    """

    id: str
    host: str
    pid: int
    state: str
    slots: int
    desired_slots: int | None
    busy: int
    queues: tuple[str, ...] | None
    crews: tuple[str, ...]
    started_at: datetime
    heartbeat_age: float
    cpu_percent: float | None = None
    memory_bytes: int | None = None
    version: str = ""
    drain_seconds_left: float | None = None
    clock_offset: float | None = None

    @property
    def taken(self) -> int:
        """Slots that are not free: never more than there are."""
        return min(self.busy, self.slots)


@dataclass(frozen=True, slots=True)
class RunningRow:
    """One run in progress. age and idle (since its last event) in seconds; stuck is the reason or None."""

    task_id: int
    run_id: int
    queue: str
    crew: str
    priority: int
    worker_id: str
    age: float
    idle: float
    step_position: int | None
    step_count: int | None
    agent: str | None
    activity: str | None
    tokens: int
    cost: Money
    stuck: str | None
    cancelling: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole picture. at is the database's clock; simulated: its figures come from a simulated provider.

    spend_per_hour is what the last hour cost, spend_pace what an hour would cost that goes on as the last minute.
    read_only: the database, or the role that looks, lets nothing be changed; pooled: a pooler such as PgBouncer stands
    before it; role: as whom the database knows this session; host: where it is, '' where that is not known. providers:
    None where Redis has not told of them yet; while it is away they stay what they were, with their age.
    alerts: those that are pending, fire or clear. lost_runs: whose lease ran out within 15 minutes, up to 1,000.
    replica_lag: how many seconds the read replica is behind that these figures are from, None where they are the
    primary's; replica_away: why they are though a replica is configured, '' otherwise. state_cache: None where Redis
    does not tell.
    """

    at: datetime
    database: str
    postgres: Health
    redis: Health
    window_seconds: float
    queues: tuple[QueueRow, ...] = ()
    series: tuple[Point, ...] = ()
    bucket_seconds: float = 10.0
    workers: tuple[WorkerRow, ...] = ()
    running: tuple[RunningRow, ...] = ()
    running_total: int = 0
    wait: Percentiles = field(default_factory=Percentiles)
    run: Percentiles = field(default_factory=Percentiles)
    spend_per_hour: Money = field(default_factory=Money)
    spend_pace: Money = field(default_factory=Money)
    spend_today: Money = field(default_factory=Money)
    simulated: bool = False
    read_only: bool = False
    pooled: bool = False
    role: str = ""
    host: str = ""
    budgets: tuple[BudgetRow, ...] = ()
    providers: Providers | None = None
    alerts: tuple[Alert, ...] = ()
    silences: tuple[Silence, ...] = ()
    lost_runs: int | None = None
    standbys: tuple[Standby, ...] = ()
    replica_lag: float | None = None
    replica_away: str = ""
    state_cache: CacheUse | None = None

    @property
    def where(self) -> str:
        """Which database this is, in words."""
        return f"{self.database} on {self.host}" if self.host else self.database

    @property
    def backlog(self) -> int:
        """Tasks that wait for a worker now or soon: ready and backing off."""
        return sum(queue.ready + queue.retry for queue in self.queues)
