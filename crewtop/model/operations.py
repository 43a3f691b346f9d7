"""Operator actions as data: what each does and to which statuses, over which tasks, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from crewtop.model.filters import TaskFilter
from crewtop.model.money import Money
from crewtop.model.task import TaskStatus
from crewtop.model.transitions import sources

TYPED_ABOVE_TASKS = 100
TYPED_ABOVE_DOLLARS = Decimal(10)
"""An action on more tasks than this, or on dearer ones, is confirmed by typing how many they are; a deletion of two."""

UNDO_MINUTES = 10.0
"""For how long an operation can be taken back, unless configured otherwise."""

State = Literal["running", "paused", "cancelled", "done"]


class Action(StrEnum):
    """What an operator can do to tasks."""

    RETRY = "retry"
    RERUN = "rerun"
    FAIL = "fail"
    REQUEUE = "requeue"
    CANCEL = "cancel"
    DELETE = "delete"
    MOVE = "move"
    PRIORITY = "priority"
    EDIT = "edit"
    UNDO = "undo"

    @property
    def verb(self) -> str:
        """What one does to a task, as a sentence says it."""
        return "reprioritise" if self is Action.PRIORITY else self.value


@dataclass(frozen=True, slots=True)
class ActionRule:
    """eligible: the statuses an action applies to; past: what was done then; effect: what will happen to each."""

    eligible: frozenset[TaskStatus]
    past: str
    effect: str


RULES: dict[Action, ActionRule] = {
    Action.RETRY: ActionRule(
        sources("retry"),
        "retried",
        "runs again now under the same id; keeps queue and priority; one more attempt is allowed",
    ),
    Action.RERUN: ActionRule(
        frozenset(status for status in TaskStatus if status.ended),
        "rerun",
        "runs from scratch as a new task with the same inputs, queue and priority; this one stays as it is",
    ),
    Action.FAIL: ActionRule(
        sources("fail"),
        "failed",
        "becomes failed at once; a running process is killed and what it still writes is kept as a late result",
    ),
    Action.REQUEUE: ActionRule(
        sources("requeue"),
        "requeued",
        "goes back to its queue without spending an attempt; a running process is killed",
    ),
    Action.CANCEL: ActionRule(
        sources("cancel"),
        "cancelled",
        "will not run, nor will what it fanned out and has not started; a running one is killed and becomes cancelled "
        "when its process is gone",
    ),
    Action.DELETE: ActionRule(
        frozenset(TaskStatus) - {TaskStatus.RUNNING},
        "deleted",
        "is gone for good with its runs, steps, calls and history: this cannot be undone",
    ),
    Action.MOVE: ActionRule(sources("move"), "moved", "waits in the other queue from now on"),
    Action.PRIORITY: ActionRule(sources("priority"), "reprioritised", "is claimed by the other priority from now on"),
    Action.EDIT: ActionRule(
        sources("edit"),
        "edited",
        "runs with the new inputs; steps that were completed with the old ones are done again",
    ),
    Action.UNDO: ActionRule(
        frozenset(TaskStatus), "undone", "goes back to what it was, where nothing has happened to it since"
    ),
}

NEVER_UNDONE = frozenset({Action.DELETE, Action.UNDO})

ON_TASKS = frozenset(Action) - {Action.UNDO}
"""The actions that are ordered over tasks, named or matching; UNDO is over an operation."""


@dataclass(frozen=True, slots=True)
class Order:
    """What an operator wants done.

    argument: the queue's name (MOVE), 0 to 4 (PRIORITY), inputs as JSON text (EDIT), or how many of the tasks are due a
    minute (RETRY; None: all at once); replaced: how many characters of
    those inputs PostgreSQL could not have held. reason is for the audit.
    """

    action: Action
    argument: str | int | float | None = None
    reason: str | None = None
    replaced: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """A task as the operator saw it: the action is refused if its version has moved on."""

    task_id: int
    version: int


@dataclass(frozen=True, slots=True)
class Matching:
    """Every task that matches a filter and has stood as it stands since looked_at, None for now.

    What came to match after looked_at is left alone: the operator has not seen it.
    """

    task_filter: TaskFilter
    looked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a task stands. cancelling: it runs, and is to be cancelled; cost: about what an attempt has cost so far."""

    target: Target
    status: TaskStatus
    cancelling: bool
    cost: Money


@dataclass(frozen=True, slots=True)
class Scope:
    """What an action would reach, counted and priced before it is asked for; at is that instant.

    cost: what their attempts have cost so far on average, an estimate of what another one each would cost.
    newcomers match too but came after the operator looked; others could be acted on but do not match.
    """

    at: datetime
    count: int
    statuses: Mapping[str, int]
    sample: tuple[int, ...]
    cost: Money
    newcomers: int
    others: int


def must_be_typed(action: Action, count: int, cost: Money) -> bool:
    """Whether an action does so much that its count has to be typed to confirm it: Enter is pressed too easily."""
    most = 1 if action is Action.DELETE else TYPED_ABOVE_TASKS
    return count > most or cost.known > TYPED_ABOVE_DOLLARS


@dataclass(frozen=True, slots=True)
class Operation:
    """A recorded operation: who wanted what, how far it has come.

    argument is JSON; scope is the filter as typed, None for named ids.
    """

    id: int
    action: Action
    argument: str | None
    state: State
    at: datetime
    ended_at: datetime | None
    actor: str
    role: str
    reason: str | None
    scope: str | None
    total: int
    done: int
    refused: int
    undoes: int | None

    @property
    def left(self) -> int:
        """How many tasks it has not come to."""
        return self.total - self.done - self.refused

    @property
    def aim(self) -> str:
        """What its argument says, as aim writes it; empty where there is nothing to say."""
        if self.argument is None or self.action is Action.EDIT:
            return ""
        return aim(self.action, next(iter(json.loads(self.argument).values())))

    @property
    def what(self) -> str:
        """What was wanted: 'move to bulk', 'priority 1', 'undo 7'."""
        if self.undoes is not None:
            return f"{self.action} {self.undoes}"
        said = self.aim.removeprefix("to ") if self.action is Action.PRIORITY else f"{self.action} {self.aim}"
        return said.strip() or str(self.action)


def aim(action: Action, argument: str | float | None) -> str:
    """What an order's argument says: 'to bulk', 'to priority 1', '60 a minute'; empty where there is nothing to say."""
    match action:
        case Action.MOVE:
            return f"to {argument}"
        case Action.PRIORITY:
            return f"to priority {argument}"
        case Action.RETRY if argument is not None:
            return f"{argument} a minute"
    return ""


def effect_of(order: Order) -> str:
    """What will happen to each task."""
    match order.action:
        case Action.MOVE:
            return f"waits in {order.argument} from now on"
        case Action.PRIORITY:
            return f"is claimed by priority {order.argument} from now on"
    return RULES[order.action].effect


def summary(operation: Operation, refusals: Mapping[str, int], asked: int | None = None) -> str:
    """How an operation stands: '480 retried, 20 refused: 20 key already held'.

    refusals: how many for which reason; asked: how many tasks matched when the operator was asked, where it was over
    all that match: those that have moved on since are not in it.
    """
    parts = [f"{operation.done:,} {RULES[operation.action].past}"]
    if operation.refused:
        parts.append(f"{operation.refused:,} refused")
    if operation.left:
        parts.append(f"{operation.left:,} left as they were")
    if asked is not None and asked > operation.total:
        # A cancelling also takes along what its tasks fanned out, which was not counted.
        least = "at least " if operation.action is Action.CANCEL else ""
        parts.append(f"{least}{asked - operation.total:,} of the {asked:,} have moved on since")
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in refusals.items())
    return ", ".join(parts) + (f": {reasons}" if reasons else "")


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What became of one task of an operation; done None: its turn has not come.

    why says it in words, such as 'not retried: completed 0.3s ago'.
    """

    task_id: int
    done: bool | None
    why: str


@dataclass(frozen=True, slots=True)
class OperationResult:
    """A recorded operation as it ended, and each task's outcome."""

    operation: Operation
    items: tuple[ItemOutcome, ...]

    @property
    def done(self) -> int:
        """How many tasks were changed."""
        return sum(item.done is True for item in self.items)

    @property
    def refused(self) -> tuple[ItemOutcome, ...]:
        """The tasks that were left as they were."""
        return tuple(item for item in self.items if item.done is False)
