"""What a task is: its priority, its status, how a run of it can end, and what a worker is handed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import NamedTuple


class Priority(IntEnum):
    """How soon a task is claimed: lower first. P0 stands above the four named levels, for emergencies."""

    P0 = 0
    CRITICAL = 1
    HIGH = 2
    NORMAL = 3
    LOW = 4


SERVICE_LEVELS_SECONDS: tuple[float, ...] = (10.0, 10.0, 300.0, 1_800.0, 86_400.0)
"""How long a task of P0 to P4 may wait before it starts, unless configured otherwise."""


class TaskStatus(StrEnum):
    """Where a task stands. Stuck is not a status but a judgement about a running task."""

    WAITING = "waiting"
    PENDING = "pending"
    RUNNING = "running"
    RETRY = "retry"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing but an operator moves a task on from here."""
        return self in (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED)


ENDED = frozenset(status for status in TaskStatus if status.ended)
"""To look it up takes a tenth of what the property does."""


class RunOutcome(StrEnum):
    """How one run ended. Only FAILED, OVER_BUDGET and STALLED spend an attempt; CRASHED and LOST have own limits."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    OVER_BUDGET = "over_budget"
    STALLED = "stalled"
    CRASHED = "crashed"
    THROTTLED = "throttled"
    INTERRUPTED = "interrupted"
    RETURNED = "returned"
    CANCELLED = "cancelled"
    LOST = "lost"
    SUPERSEDED = "superseded"


MAX_CRASHES = 3
"""A task whose process died this often is quarantined as failed, with the signal named."""

MAX_LOSSES = 5
"""A task whose worker vanished this often is failed: it may be what kills them."""

MAX_INTERRUPTIONS = 2
"""Drains that a run may suffer for free; from then on an interruption spends an attempt."""

THROTTLE_LIMIT_SECONDS = 86_400.0
"""How old a task may grow on 429 answers alone before it is failed."""


class KeyScope(StrEnum):
    """Until when a task holds its key: until it ends, for good unless it fails or is cancelled, or for good."""

    LIVE = "live"
    COMPLETED = "completed"
    ALWAYS = "always"


class OnFailure(StrEnum):
    """What a task does when one that it depends on fails, is cancelled or is deleted."""

    FAIL = "fail"
    CONTINUE = "continue"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Dependency:
    """A task to wait for: by its id, or by its place in the same batch. Its result is handed over under the name."""

    name: str
    task_id: int | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Ties:
    """What binds a task to others. key_window_seconds None: the key is held without end."""

    key: str | None = None
    key_scope: KeyScope = KeyScope.LIVE
    key_window_seconds: float | None = None
    depends_on: tuple[Dependency, ...] = ()
    on_failure: OnFailure = OnFailure.FAIL
    parent_id: int | None = None


class NewTask(NamedTuple):
    """A checked task on its way into the database. inputs is JSON text; budget in seconds or None for none.

    ties None: it has nothing to do with others.
    """

    crew: str
    inputs: str
    queue: str = "default"
    priority: int = Priority.NORMAL
    run_at: datetime | None = None
    max_attempts: int = 3
    budget_seconds: float | None = None
    inputs_replaced: int = 0
    ties: Ties | None = None

    @property
    def kind(self) -> Kind:
        """What it shares with others like it."""
        return Kind(
            self.crew,
            self.queue,
            self.priority,
            self.run_at,
            self.max_attempts,
            self.budget_seconds,
            self.inputs_replaced,
        )


class Kind(NamedTuple):
    """What many tasks of a batch have in common: everything but their inputs."""

    crew: str
    queue: str
    priority: int
    run_at: datetime | None
    max_attempts: int
    budget_seconds: float | None
    inputs_replaced: int = 0


class Portion(NamedTuple):
    """Plain tasks that one statement puts in: their kinds, each task's number among these, and their inputs.

    Numbers begin at 1; none are given where all tasks are of the first kind.

    inputs is a JSON array with an object for each task: one text is handed over and taken apart much faster than many.
    """

    kinds: Sequence[Kind]
    numbers: Sequence[int]
    inputs: str


def portion(tasks: Sequence[NewTask]) -> Portion:
    """Checked tasks as one portion."""
    kinds: dict[Kind, int] = {}
    numbers = [kinds.setdefault(task.kind, len(kinds) + 1) for task in tasks]
    return Portion(list(kinds), numbers, f"[{','.join(task.inputs for task in tasks)}]")


class Claim(NamedTuple):
    """A task that a worker now holds. run_id is the lease token; inputs is JSON text; retries count runs gone wrong.

    crashes: runs whose process died under them. earlier_runs: 0 if this is the task's first. dependencies: tasks whose
    results it gets. cut: limits let fewer be claimed than were there, and others may be ready behind. priority: its
    own, 0 (P0) to 4. version: of the task, by this claim.
    A tuple in the order of claim.sql's columns: made at every claim, it has to be cheap.
    """

    task_id: int
    run_id: int
    queue: str
    crew: str
    inputs: str
    retries: int = 0
    budget_seconds: float | None = None
    crashes: int = 0
    earlier_runs: int = 0
    dependencies: int = 0
    cut: bool = False
    priority: int = int(Priority.NORMAL)
    version: int = 0


class Finish(NamedTuple):
    """What a worker reports of a run that ended.

    result is JSON text; seconds is run time on the worker's monotonic clock; delay_seconds is how long the task
    rests if it is to run again; terminal forbids another attempt; replaced counts characters that PostgreSQL
    could not hold; throttled_by is the provider that said 429.
    """

    run_id: int
    task_id: int
    outcome: RunOutcome
    seconds: float
    result: str | None = None
    error_type: str | None = None
    error: str | None = None
    traceback: str | None = None
    replaced: int = 0
    log_tail: str | None = None
    delay_seconds: float = 0.0
    terminal: bool = False
    throttled_by: str | None = None


class Settled(NamedTuple):
    """A task that waited for others and no longer does: pending, or ended as its on_failure says; why, in words.

    version: its own, by this.
    """

    task_id: int
    queue: str
    crew: str
    status: TaskStatus
    version: int
    why: str = "all that it depends on has ended"


def ready_queues(settled: Iterable[Settled]) -> set[str]:
    """The queues in which some of these became ready."""
    return {task.queue for task in settled if task.status is TaskStatus.PENDING}


class Finished(NamedTuple):
    """What the database made of a Finish: the task's new status, or accepted=False where the lease was gone.

    freed: queues in which tasks became ready that had waited for one of the batch, or for its place in a limit;
    settled: what waited for one of the batch, told with its first end; version: the task's, by its end.
    """

    run_id: int
    task_id: int
    accepted: bool
    status: TaskStatus | None
    freed: Sequence[str] = ()
    settled: Sequence[Settled] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """What a heartbeat says of one run: still ours or not, and whether an operator wants it cancelled."""

    run_id: int
    held: bool
    cancel: bool


@dataclass(frozen=True, slots=True)
class Orders:
    """What a heartbeat brings back: the runs' leases, and what an operator asked of this worker.

    killed: to end at once, whatever runs; at: the database's clock as it answered, in Unix seconds.
    """

    runs: tuple[Held, ...] = field(default=())
    desired_slots: int | None = None
    draining: bool = False
    killed: bool = False
    at: float = 0.0
