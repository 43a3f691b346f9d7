"""Results of completed tasks in the order in which they came, and the place in that order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from crewtop.model.errors import Refused

_TYPED = re.compile(r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})Z/(?P<task>\d{1,19})")


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """A place behind the task that completed then; task_id parts those of one instant."""

    finished_at: datetime
    task_id: int

    def __str__(self) -> str:
        return f"{stamp(self.finished_at)}/{self.task_id}"

    @classmethod
    def of(cls, typed: str) -> Cursor:
        """What str() made. Raises Refused for anything else."""
        match = _TYPED.fullmatch(typed)
        try:
            at = datetime.fromisoformat(match["at"]).replace(tzinfo=UTC) if match else None
        except ValueError:
            at = None
        if match is None or at is None:
            raise Refused(f"--after {typed!r} is no cursor: use one that `crewtop results` printed")
        return cls(at, int(match["task"]))


START = Cursor(datetime(1970, 1, 1, tzinfo=UTC), 0)


@dataclass(frozen=True, slots=True)
class Result:
    """What a completed task gave: value is JSON text as the crew's result was stored."""

    task_id: int
    finished_at: datetime
    crew: str
    queue: str
    key: str | None
    value: str

    @property
    def cursor(self) -> Cursor:
        """The place behind it."""
        return Cursor(self.finished_at, self.task_id)


def stamp(at: datetime) -> str:
    """A stamp as results carry it, to the microsecond that PostgreSQL keeps."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
