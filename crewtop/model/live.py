"""What is told as it happens: changes of status, and lines of running tasks' output."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Transition:
    """A task changed its status, or count tasks at once did: then task_id is the first of them.

    at: when it was told, by Redis's clock. old_status None: it was put in. actor: producer, worker:<id> or
    operator:<who>.
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
