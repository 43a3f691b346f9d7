"""What may be spent a day, in all, by a queue or by a crew, and how far that has gone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from crewtop.model.money import Money

Scope = Literal["total", "queue", "crew"]
State = Literal["ok", "warn", "spent", "held", "unwatched"]

WATCHED_SECONDS = 60.0
"""A budget that no worker has judged for so long is watched by nobody: its figures are old."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget as configured: day is US dollars from midnight to midnight, UTC; name is empty for the total.

    warn: from which share of it on to warn; pauses: whether nothing more is claimed once it is spent, or only warned.
    """

    scope: Scope
    name: str
    day: Decimal
    warn: float
    pauses: bool


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A budget today. limit and spent are US dollars; spent is a lower bound while unknown, in calls, is not 0.

    projected: spent at midnight if the rest of the day goes on as the last hour went, None where it cannot be told.
    state: ok, warn (over the share that warns), spent (the day's is, and it only warns), held (nothing more is claimed
    until resumes_at, or until it is raised), unwatched (no live worker has it in its configuration).
    judged_at: when the figures were reckoned, None: never.
    """

    scope: Scope
    name: str
    limit: Decimal
    spent: Decimal
    unknown: int
    projected: Decimal | None
    state: State
    resumes_at: datetime | None = None
    judged_at: datetime | None = None

    @property
    def what(self) -> str:
        """Whose budget it is, in words; a name as it is in the database: not yet safe to show."""
        return "the day" if self.scope == "total" else f"{self.scope} {self.name}"

    @property
    def amount(self) -> Money:
        """What was spent, with what of it nobody knows."""
        return Money(self.spent, self.unknown, self.unknown + (self.spent > 0))

    @property
    def share(self) -> float:
        """How much of it is spent: 1 is all, and it may be more."""
        return float(self.spent / self.limit) if self.limit else 1.0

    @property
    def coming(self) -> Money | None:
        """What will be spent at midnight, a lower bound where spent is one; None: it cannot be told."""
        return None if self.projected is None else Money(self.projected, self.unknown, self.unknown + 1)

    @property
    def stands(self) -> str:
        """How it stands in a word or two."""
        return {"held": "paused", "warn": "nearly spent"}.get(self.state, self.state)


def state(budget: Budget, spent: Decimal, held: bool, unwatched_seconds: float) -> State:
    """How a budget stands: spent in US dollars today, held as the database has it."""
    if held:
        return "held"
    if unwatched_seconds > WATCHED_SECONDS:
        return "unwatched"
    if spent >= budget.day:
        return "spent"
    return "warn" if spent >= budget.day * Decimal(str(budget.warn)) else "ok"
