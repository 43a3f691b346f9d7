"""What is told as it happens: changes of status, and lines of running tasks' output."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from crewtop.model.task import Settled, TaskStatus

UNKNOWN = "?"
"""Stands for what whoever tells of a change does not know."""

ALIKE = 20
"""More changes at once that differ in their task alone are told as one, with their count."""

DELETED = "deleted"
"""The new status of a task that is gone for good."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A task changed its status, or count tasks at once did: then task_id is the first of them.

    at: when it was told, by Redis's clock. old_status None: it was put in. actor: producer, schedule <name>,
    worker:<id> or operator:<who>. reason: masked, at most 200 characters. queue, crew and old_status are UNKNOWN where
    nothing tells them; the new one may be DELETED, and is the old one where an operator changed something else.
    """

    at: datetime
    task_id: int
    queue: str
    crew: str
    old_status: str | None
    new_status: str
    actor: str
    run_id: int | None = None
    reason: str | None = None
    count: int = 1


@dataclass(frozen=True, slots=True)
class LogLine:
    """A running task printed a line. at: when it was told, by Redis's clock."""

    at: datetime
    task_id: int
    run_id: int
    crew: str
    text: str


Happening = Transition | LogLine


@dataclass(frozen=True, slots=True)
class Happenings:
    """More of what happened, oldest first. lost: how many were dropped before these; note: why there are none."""

    items: tuple[Happening, ...]
    lost: int = 0
    note: str | None = None


class Change(NamedTuple):
    """A Transition as it is told by whoever made it: Redis adds when. A tuple, since every task's life makes three."""

    task_id: int
    queue: str
    crew: str
    old_status: str | None
    new_status: str
    actor: str
    run_id: int | None = None
    reason: str | None = None
    number: int = 1


class Stand(NamedTuple):
    """Where a task stands after a change. status None: what is known of it holds no more, or it is gone."""

    task_id: int
    version: int = 0
    status: str | None = None


class Ending(NamedTuple):
    """How a task ended: result is JSON text once completed; error in short once failed.

    A completed task without a result has an error that says why it could not be stored.
    """

    result: str | None
    error: str | None


class State(NamedTuple):
    """Where a task stands, for its producer. ending None: it has not ended, or nobody asked how."""

    version: int
    status: TaskStatus
    ending: Ending | None = None


def let_go(task: Settled, actor: str) -> Change:
    """The change that a task waits no longer."""
    return Change(task.task_id, task.queue, task.crew, "waiting", task.status.value, actor, None, task.why)


Kind = tuple[str, str, str | None, str, str]
"""Queue, crew, old status, new status and actor of a change."""


class Changes:
    """Changes that are to be told together, in order: ALIKE of a kind are held, and the rest of them counted."""

    def __init__(self) -> None:
        self._kept: list[Change] = []
        self._counts: dict[Kind, int] = {}

    def add(self, change: Change) -> None:
        """Take one more."""
        kind = change[1:6]
        if not self.counted(kind, change.number):
            self._counts[kind] = self._counts.get(kind, 0) + change.number
            self._kept.append(change)

    def counted(self, kind: Kind, number: int = 1) -> bool:
        """Count a change of this kind, if there are so many already that it need not even be made."""
        before = self._counts.get(kind, 0)
        if before < ALIKE:
            return False
        self._counts[kind] = before + number
        return True

    def take(self) -> list[Change]:
        """All of them, to begin anew: of more than ALIKE of a kind the first, which then stands for all."""
        kept, counts = self._kept, self._counts
        self._kept, self._counts = [], {}
        told: list[Change] = []
        many: set[Kind] = set()
        for change in kept:
            kind = change[1:6]
            if counts[kind] <= ALIKE:
                told.append(change)
            elif kind not in many:
                many.add(kind)
                told.append(change._replace(run_id=None, number=counts[kind]))
        return told
