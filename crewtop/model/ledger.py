"""What a worker writes while a run goes on: calls, steps, progress.

Times are seconds ago, for the database's clock to stamp.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from crewtop.model.pricing import Tokens


@dataclass(frozen=True, slots=True)
class CallEntry:
    """An LLM call as it starts (outcome 'started', tokens and cost None) or as it ended.

    tokens None is unknown; usage is the provider's usage as JSON text. route: JSON text that says why this model;
    estimated_tokens: what was reckoned for it beforehand, in and out together; context_cut: what was left out of the
    messages; waited_seconds: for a limit; key_tail: the last four characters of the key. None: nobody said.
    """

    run_id: int
    task_id: int
    call_id: str
    step_position: int | None
    agent: str | None
    provider: str | None
    model: str
    outcome: str
    started_ago: float
    seconds: float | None
    tokens: Tokens | None
    cost: Decimal | None
    price_source: str
    usage: str | None
    finish_reason: str | None
    error: str | None
    route: str | None = None
    estimated_tokens: int | None = None
    context_cut: str | None = None
    waited_seconds: float | None = None
    key_tail: str | None = None


@dataclass(frozen=True, slots=True)
class StepEntry:
    """A step as it starts (status 'running') or as it ended. receipt: JSON text for a later run, see StepEnded."""

    run_id: int
    task_id: int
    position: int
    name: str
    agent: str | None
    description: str | None
    status: str
    output: str | None
    error: str | None
    started_ago: float
    seconds: float | None
    receipt: str | None = None


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool's use as it starts (outcome 'started') or as it ended; number counts those of its run from 1."""

    run_id: int
    task_id: int
    number: int
    step_position: int | None
    tool: str
    outcome: str
    error: str | None
    started_ago: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class KeptSteps:
    """What a run need not do: the steps up to position that run from_run of its task has."""

    run_id: int
    task_id: int
    from_run: int
    position: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is: the newest of its events, ago seconds since."""

    run_id: int
    task_id: int
    step_position: int | None
    step_count: int | None
    agent: str | None
    activity: str | None
    ago: float


BEATS_A_LEASE = 4
"""How often a worker sends a heartbeat while one lease lasts."""

MISSED_BEATS = 3
"""A worker that sends none for so many in a row is late: its leases still run, but it is likely gone."""


@dataclass(frozen=True, slots=True)
class Beat:
    """What a worker says of itself at each heartbeat. runs maps run_id to task_id; queues None is every queue.

    drain_seconds_left: until a draining worker hands back what still runs; None: it waits for it, or does not drain.
    clock_offset: seconds by which this host's clock is ahead of the database's; None: not measured yet.
    """

    worker_id: str
    host: str
    pid: int
    boot_id: str
    version: str
    queues: tuple[str, ...] | None
    crews: tuple[str, ...]
    slots: int
    runs: dict[int, int]
    lease_seconds: float
    draining: bool
    cpu_percent: float | None
    memory_bytes: int | None
    drain_seconds_left: float | None = None
    clock_offset: float | None = None
