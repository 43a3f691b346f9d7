"""Budgets a day, judged in the database: what has spent its day is held back from every worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from crewtop.model.budgets import Budget, BudgetRow, state
from crewtop.store.database import Database, columns, statement

JUDGED_SECONDS = 0.5
"""One that was judged so lately need not be judged again: one worker does it for all."""

DAY = timedelta(days=1)
HOUR_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Judged:
    """A budget as it was just judged, and whether it was held before."""

    row: BudgetRow
    was_held: bool


async def keep(database: Database, worker_id: str, budgets: Sequence[Budget]) -> None:
    """Say that a worker, which has sent a heartbeat, has these budgets in its configuration.

    The newest worker's figures count, while it lives; what nobody has for ten minutes holds nothing any more.
    """
    rows = [(b.scope, b.name, b.day, b.warn, b.pauses) for b in budgets]
    await database.fetch("keep_budgets", worker_id, *columns(rows, 5))


async def judge(database: Database, not_since_seconds: float = JUDGED_SECONDS) -> list[Judged]:
    """Hold what has spent its day, and let go what may go on, of those not judged for so many seconds.

    Several workers may at once: each budget is judged by one of them, on sums read under its lock.
    """
    async with database.connection() as connection, connection.transaction():
        locked = await connection.fetch(statement("lock_budgets"), not_since_seconds)
        if not locked:
            return []
        names = [row["scope"] for row in locked], [row["name"] for row in locked]
        rows = await connection.fetch(statement("judge_budgets"), *names)
    return [Judged(budget_row(dict(row), row["at"]), row["was_held"]) for row in rows]


async def holding(database: Database, queue: str) -> list[BudgetRow]:
    """The budgets that are spent and hold a queue back: the day's and its own. Those of crews hold but a part of it."""
    return [budget_row(dict(row), row["at"]) for row in await database.fetch("holding_budgets", queue)]


def budget_row(row: Mapping[str, Any], at: datetime) -> BudgetRow:
    """A budget as it stands at an instant, from its row; what was reckoned on another day says nothing of this one."""
    judged_at: datetime | None = row["judged_at"]
    today = judged_at is not None and judged_at.astimezone(UTC).date() == at.astimezone(UTC).date()
    spent = Decimal(row["spent"]) if today else Decimal(0)
    held = row["held_until"] is not None and row["held_until"] > at
    budget = Budget(row["scope"], row["name"], Decimal(row["day"]), row["warn"], row["pauses"])
    unwatched = (at - judged_at).total_seconds() if judged_at is not None else 0.0
    return BudgetRow(
        scope=budget.scope,
        name=budget.name,
        limit=budget.day,
        spent=spent,
        unknown=row["unpriced"] if today else 0,
        projected=_projected(spent, Decimal(row["last_hour"]), at) if today else None,
        state=state(budget, spent, held, unwatched),
        resumes_at=row["held_until"] if held else None,
        judged_at=judged_at,
    )


def _projected(spent: Decimal, last_hour: Decimal, at: datetime) -> Decimal:
    midnight = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + DAY
    return spent + round(last_hour * Decimal((midnight - at).total_seconds() / HOUR_SECONDS), 6)
