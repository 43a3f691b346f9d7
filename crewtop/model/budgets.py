"""What may be spent a day, in all, by a queue or by a crew, and how far that has gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    def amounts(self) -> str:
        """How much of it is spent: '$44.03 of $40.00', or at least so much."""
        return f"{'at least ' if self.unknown else ''}${self.spent:,.2f} of ${self.limit:,.2f}"

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


def holding(budgets: Iterable[BudgetRow], queue: str) -> list[BudgetRow]:
    """Those that are spent and hold a queue back: the day's and its own. Those of crews hold but a part of it."""
    return [
        row
        for row in budgets
        if row.state == "held" and (row.scope == "total" or (row.scope == "queue" and row.name == queue))
    ]


def still_held(queue: str, by: Sequence[BudgetRow]) -> str:
    """Why a queue does not go on for being resumed, and what lets it. Not yet safe to show."""
    spent = " and ".join(f"{_whose(row)} is spent: {row.amounts}" for row in by)
    ends = max((row.resumes_at for row in by if row.resumes_at), default=None)
    until = f"at {ends:%Y-%m-%d %H:%M}Z, or " if ends else ""
    keys = " and ".join(f"[llm.budgets] {row.scope}{f'.{row.name}' if row.name else ''}" for row in by)
    return f"{queue} stays held: {spent}; it goes on {until}once you raise {keys} and restart a worker"


def _whose(row: BudgetRow) -> str:
    return "the day's budget" if row.scope == "total" else "its budget"


def state(budget: Budget, spent: Decimal, held: bool, unwatched_seconds: float) -> State:
    """How a budget stands: spent in US dollars today, held as the database has it."""
    if held:
        return "held"
    if unwatched_seconds > WATCHED_SECONDS:
        return "unwatched"
    if spent >= budget.day:
        return "spent"
    return "warn" if spent >= budget.day * Decimal(str(budget.warn)) else "ok"
