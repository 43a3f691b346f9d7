"""Tasks as a list shows them, and the whole story of one, as plain data.

None is unknown and is shown as '?' or '-', never as 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from crewtop.model.money import Money
from crewtop.model.task import TaskStatus


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One line of the task list. age in seconds since created_at; attempt counts the spent ones and the current.

    error is at most 500 characters; step is the last run's position, step_count and agent.
    """

    id: int
    queue: str
    crew: str
    status: TaskStatus
    version: int
    priority: int
    age: float
    created_at: datetime
    run_at: datetime
    finished_at: datetime | None
    attempt: int
    max_attempts: int
    step_position: int | None
    step_count: int | None
    agent: str | None
    activity: str | None
    tokens: int
    cost: Money
    error: str | None
    cancelling: bool
    stuck: str | None
    worker_id: str | None


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Rows that match a filter, in its order; more says that the list goes on; at is the database's clock."""

    at: datetime
    rows: tuple[TaskRow, ...]
    more: bool


Body = Literal["inputs", "result", "error", "traceback", "log"]
"""The long texts of a task that can be read in parts: inputs belong to the task, the others to one of its runs."""


@dataclass(frozen=True, slots=True)
class LogLines:
    """More of a run's output. lost counts lines dropped before these at a limit; note says why there are none."""

    lines: tuple[str, ...]
    lost: int = 0
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning of a long text: size is the whole length in bytes, shown or not."""

    text: str
    size: int

    @property
    def whole(self) -> bool:
        """Whether text is all of it."""
        return len(self.text.encode("utf-8", "surrogatepass")) >= self.size


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of a run. seconds is None while it runs. resumed_from: the run that did it, where this one kept it."""

    run_id: int
    position: int
    name: str
    agent: str | None
    description: str | None
    status: str
    output: Excerpt | None
    error: str | None
    started_at: datetime
    seconds: float | None
    resumed_from: int | None = None


@dataclass(frozen=True, slots=True)
class CallRow:
    """One LLM call. Token counts are None where unknown; outcome 'started' is still waiting for its answer.

    clamped: the provider's counts contradicted each other and were cut to fit. What follows it is as in CallEntry.
    """

    run_id: int
    call_id: str
    step_position: int | None
    agent: str | None
    provider: str | None
    model: str
    outcome: str
    started_at: datetime
    seconds: float | None
    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost: Money
    price_source: str
    error: str | None
    clamped: bool = False
    route: str | None = None
    estimated_tokens: int | None = None
    context_cut: str | None = None
    waited_seconds: float | None = None
    key_tail: str | None = None


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One use of a tool. outcome 'started': it has no end yet, or its run ended before it."""

    run_id: int
    number: int
    step_position: int | None
    tool: str
    outcome: str
    error: str | None
    started_at: datetime
    seconds: float | None


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run of a task, with its result and error. log_tail is what was kept of its output when it ended."""

    id: int
    worker_id: str
    outcome: str
    claimed_at: datetime
    waited_seconds: float
    finished_at: datetime | None
    seconds: float | None
    result: Excerpt | None
    error_type: str | None
    error: Excerpt | None
    traceback: Excerpt | None
    late: bool
    replaced: int
    log_tail: Excerpt | None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One transition of a task."""

    version: int
    at: datetime
    old_status: str | None
    new_status: str
    run_id: int | None
    actor: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Tied:
    """Another task that this one depends on, or that depends on it, under a name; status 'deleted': it is gone."""

    name: str
    task_id: int
    status: str


MOST_TIES = 100
"""How many others a story names of each kind."""


@dataclass(frozen=True, slots=True)
class TaskTies:
    """What a task has to do with others: its key, where it comes from, what it waits for and what waits for it.

    children: what it fanned out, and reruns: what operators ran again in its place, each named by its crew; of every
    kind MOST_TIES at most.
    """

    key: str | None = None
    key_scope: str | None = None
    parent_id: int | None = None
    rerun_of: int | None = None
    schedule: str | None = None
    depends_on: tuple[Tied, ...] = ()
    needed_by: tuple[Tied, ...] = ()
    children: tuple[Tied, ...] = ()
    reruns: tuple[Tied, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskDetail:
    """One task's whole story; runs newest first, calls and steps in the order in which they began.

    tools: the newest 1,000 uses of tools, in the order in which they began.
    waits_because: why a pending or resting task is not running, in words.
    """

    at: datetime
    task: TaskRow
    inputs: Excerpt
    runs: tuple[RunRow, ...]
    steps: tuple[StepRow, ...]
    calls: tuple[CallRow, ...]
    history: tuple[HistoryRow, ...]
    calls_total: int = 0
    ties: TaskTies = field(default_factory=TaskTies)
    waits_because: str | None = None
    tools: tuple[ToolRow, ...] = ()
