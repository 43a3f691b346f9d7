"""Operator actions as data: what each does, to which statuses it applies, and what became of each task."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crewtop.model.task import TaskStatus


class Action(StrEnum):
    """What an operator can do to tasks."""

    RETRY = "retry"
    FAIL = "fail"
    REQUEUE = "requeue"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class ActionRule:
    """eligible: the statuses an action applies to; effect: what will happen, for the confirmation."""

    eligible: frozenset[TaskStatus]
    effect: str


RULES: dict[Action, ActionRule] = {
    Action.RETRY: ActionRule(
        frozenset({TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.RETRY}),
        "runs again now under the same id; keeps queue and priority; one more attempt is allowed",
    ),
    Action.FAIL: ActionRule(
        frozenset({TaskStatus.WAITING, TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.RETRY}),
        "becomes failed at once; a running process is killed and what it still writes is kept as a late result",
    ),
    Action.REQUEUE: ActionRule(
        frozenset({TaskStatus.RUNNING, TaskStatus.RETRY}),
        "goes back to its queue without spending an attempt; a running process is killed",
    ),
    Action.CANCEL: ActionRule(
        frozenset({TaskStatus.WAITING, TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.RETRY}),
        "will not run; a running one is killed and becomes cancelled when its process is gone",
    ),
}


@dataclass(frozen=True, slots=True)
class Target:
    """A task as the operator saw it: the action is refused if its version has moved on."""

    task_id: int
    version: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a task stands; cancelling: it runs, and is to be cancelled."""

    target: Target
    status: TaskStatus
    cancelling: bool


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What became of one task of an operation. why says it in words, such as 'not retried: completed 0.3 s ago'.

    run_id and worker_id are set where a running process has to be killed.
    """

    task_id: int
    done: bool
    why: str
    run_id: int | None = None
    worker_id: str | None = None


@dataclass(frozen=True, slots=True)
class OperationResult:
    """A recorded operation: its id in the audit, and each task's outcome."""

    operation_id: int
    action: Action
    items: tuple[ItemOutcome, ...]

    @property
    def done(self) -> int:
        """How many tasks were changed."""
        return sum(item.done for item in self.items)

    @property
    def refused(self) -> tuple[ItemOutcome, ...]:
        """The tasks that were left as they were."""
        return tuple(item for item in self.items if not item.done)
