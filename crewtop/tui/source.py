"""What the screen needs from the world. The monitor provides it; tests provide fixed data."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, Protocol

from crewtop.model.alerts import Alert, Silence
from crewtop.model.detail import Body as Body
from crewtop.model.detail import Excerpt, TaskDetail, TaskPage
from crewtop.model.detail import LogLines as LogLines
from crewtop.model.errors import Refused as Refused
from crewtop.model.errors import Unavailable as Unavailable
from crewtop.model.failures import Failures
from crewtop.model.filters import TaskFilter
from crewtop.model.live import Happenings
from crewtop.model.operations import Action, ItemOutcome, Matching, Operation, OperationResult, Order, Scope, Target
from crewtop.model.snapshot import Snapshot
from crewtop.model.spending import Spending


class Source(Protocol):
    """All reads may raise Unavailable; none blocks longer than its own timeout."""

    async def snapshot(self) -> Snapshot: ...

    async def tasks(self, task_filter: TaskFilter, sort: str, limit: int) -> TaskPage:
        """The first limit rows that match, ordered by sort (a key of model.filters.SORTS)."""
        ...

    async def detail(self, task_id: int) -> TaskDetail | None:
        """A task's whole story with the first 64 KB of each long text; None where there is no such task."""
        ...

    async def body(self, task_id: int, run_id: int | None, body: Body, limit: int) -> Excerpt:
        """The first limit characters of one long text."""
        ...

    def log(self, run_id: int) -> AsyncIterator[LogLines]:
        """What the run printed so far, then what it prints, until the caller stops or the run ends."""
        ...

    def events(self, *, logs: bool) -> AsyncIterator[Happenings]:
        """What happened lately, then what happens; with lines of running tasks' output if logs."""
        ...

    async def failures(self, hours: int) -> Failures:
        """Failed tasks and those that back off, by what went wrong; trends over so many hours."""
        ...

    async def spending(self, hours: int) -> Spending:
        """What LLM calls cost over so many hours."""
        ...

    async def operations(self, limit: int) -> Sequence[Operation]:
        """The newest operations, newest first."""
        ...

    async def outcomes(self, operation_id: int, limit: int) -> Sequence[ItemOutcome]:
        """What became of the tasks of an operation, refused ones first."""
        ...

    async def halt(self, operation_id: int, how: Literal["pause", "cancel"]) -> Operation:
        """Pause or cancel an operation that is under way. Raises Refused where it is not."""
        ...

    def resume(self, operation_id: int) -> AsyncIterator[Operation]:
        """Work off what is left of an operation; tells how far it has come."""
        ...

    async def act(self, order: Order, targets: Sequence[Target]) -> OperationResult:
        """Apply an operator's action to the tasks as seen. Raises Unavailable if it cannot be done; nothing waits."""
        ...

    async def price(self, action: Action, matching: Matching) -> Scope:
        """What an action over a filter would reach and cost."""
        ...

    def act_on_all(self, order: Order, matching: Matching) -> AsyncIterator[Operation]:
        """Apply an operator's action to every task that matches; tells how far it has come until it ends."""
        ...

    def undo(self, operation_id: int) -> AsyncIterator[Operation]:
        """Take an operation back; tells how far that has come. Raises Refused where it cannot be."""
        ...

    async def refusals(self, operation_id: int) -> Mapping[str, int]:
        """How many tasks of an operation were refused for which reason."""
        ...

    async def pause_queue(self, queue: str, *, paused: bool) -> str:
        """Let workers claim nothing from a queue, or let them go on; why a spent budget holds it still, else ''."""
        ...

    async def silence(self, alert: Alert, seconds: float | None) -> None:
        """Tell nobody of an alert for so many seconds; None: until it ends."""
        ...

    async def unsilence(self, silence: Silence) -> None:
        """End a silence."""
        ...

    async def set_slots(self, worker_id: str, slots: int) -> None:
        """Ask a worker for that many slots."""
        ...

    async def drain(self, worker_id: str) -> None:
        """Ask a worker to stop claiming, finish what it runs, and end."""
        ...

    async def kill(self, worker_id: str) -> None:
        """Ask a worker to end at once: what it runs is killed and goes back to its queue."""
        ...
