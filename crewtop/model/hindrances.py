"""What keeps a ready task from running, and how it is said."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Hindrances:
    """All that may keep a pending or resting task from being claimed.

    not_before: when it is due, None once it is; limited: 'queue' or 'crew' where a limit of it is used up, at_once: so
    many run at once, a_minute: so many start a minute; has_worker: a live worker that has slots and does not drain
    would claim it; spent_by: whose budget of the day is spent; before: how many tasks its queue hands out sooner, each
    priority's counted up to a limit.
    """

    not_before: datetime | None
    backs_off: bool
    paused: bool
    paused_by: str | None
    paused_reason: str | None
    throttled_by: str | None
    throttled_seconds: float | None
    spent_by: str | None
    crew: str
    queue: str
    has_worker: bool
    limited: str | None
    limited_name: str | None
    at_once: int | None
    a_minute: float | None
    before: int

    def in_words(self, counted: int) -> str:
        """The first that would have to go, with names as they are in the database: not yet safe to show.

        counted: up to how many tasks of a priority before it were counted.
        """
        return self._held_back() or self._not_taken() or self._outranked(counted)

    def _held_back(self) -> str | None:
        if self.not_before is not None:
            when = f"{self.not_before.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
            return f"it backs off until {when}" if self.backs_off else f"it is not due before {when}"
        if self.paused:
            reason = f": {self.paused_reason}" if self.paused_reason else ""
            return f"its queue is paused by {self.paused_by or 'somebody'}{reason}"
        if self.spent_by is not None:
            return f"the budget of {self.spent_by} is spent: it resumes at midnight UTC, or once the budget is raised"
        if self.throttled_seconds is not None:
            left = math.ceil(self.throttled_seconds)
            return f"its crew is held back for {left} s more, since {self.throttled_by} said 429"
        return None

    def _not_taken(self) -> str | None:
        if not self.has_worker:
            return f"no live worker takes tasks of crew {self.crew} from queue {self.queue}"
        if self.at_once is not None:
            return f"{self.limited} {self.limited_name} may run {self.at_once:,} at once, and does"
        if self.a_minute is not None:
            return f"{self.limited} {self.limited_name} may start {self.a_minute:g} a minute, and did"
        return None

    def _outranked(self, counted: int) -> str:
        if not self.before:
            return "it is the next of its queue"
        tasks = "1 task of its queue is" if self.before == 1 else f"{self.before:,} tasks of its queue are"
        return tasks.replace(" ", " or more ", 1) + " before it" if self.before >= counted else tasks + " before it"
