"""Raw figures of spending put together into a Spending. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from crewtop.model.budgets import BudgetRow
from crewtop.model.money import Money, total
from crewtop.model.spending import ModelUsage, Spending, Spent, SpentIn
from crewtop.monitor.window import DAY_SECONDS, HOUR_SECONDS, histogram, percentiles
from crewtop.store.budgets import budget_row
from crewtop.store.spending import DAYS

Row = Mapping[str, Any]


def spending(raw: Row, hours: int) -> Spending:
    """A Spending of raw, as store/spending.sql lays it out for so many hours."""
    at = datetime.fromisoformat(raw["at"])
    now = at.timestamp()
    models = tuple(sorted(map(_usage, raw["models"] or ()), key=lambda m: (-m.cost.known, -m.calls, m.model)))
    crews = _spent(raw["crews"])
    by_day = _through(raw["days"], _start(now, DAY_SECONDS) - (DAYS - 1) * DAY_SECONDS, now, DAY_SECONDS)
    today = by_day[-1].cost
    return Spending(
        at=at,
        hours_back=hours,
        total=total(model.cost for model in models),
        completed=sum(crew.completed for crew in crews),
        models=models,
        crews=crews,
        queues=_spent(raw["queues"]),
        hours=_through(raw["hours"], _start(now - hours * HOUR_SECONDS, HOUR_SECONDS), now, HOUR_SECONDS),
        days=by_day,
        failed=_money(raw["failed"]),
        today=today,
        projected=_projected(today, _money(raw["last_hour"]), _start(now, DAY_SECONDS) + DAY_SECONDS - now),
    )


def budget(row: Row, at: datetime) -> BudgetRow:
    """A budget as it stands at an instant, of its row in store/snapshot.sql, whose stamps are text."""
    stamps = {name: row[name] and datetime.fromisoformat(row[name]) for name in ("judged_at", "held_until")}
    return budget_row({**row, **stamps}, at)


def _usage(row: Row) -> ModelUsage:
    return ModelUsage(
        provider=row["provider"],
        model=row["model"],
        calls=row["calls"],
        errors=row["errors"],
        rate_limited=row["rate_limited"],
        input_tokens=row["input_tokens"],
        cache_read_tokens=row["cache_read_tokens"],
        cache_write_tokens=row["cache_write_tokens"],
        output_tokens=row["output_tokens"],
        reasoning_tokens=row["reasoning_tokens"],
        cost=_money(row),
        latency=percentiles([histogram(row["latency"] or {})]),
    )


def _spent(rows: Sequence[Row] | None) -> tuple[Spent, ...]:
    """The dearest first; what neither spent nor completed anything says nothing."""
    spent = (Spent(row["name"], _money(row), row["completed"]) for row in rows or ())
    return tuple(
        sorted(
            (one for one in spent if one.completed or one.cost.calls or one.cost.known),
            key=lambda one: (-one.cost.known, -one.completed, one.name),
        )
    )


def _through(rows: Sequence[Row] | None, first: int, now: float, seconds: int) -> tuple[SpentIn, ...]:
    """One for every hour or day from the one that began at first to the one that goes on now."""
    known = {row["at"]: _money(row) for row in rows or ()}
    return tuple(
        SpentIn(datetime.fromtimestamp(start, UTC), known.get(start, Money()))
        for start in range(first, int(now) + 1, seconds)
    )


def _projected(today: Money, last_hour: Money, seconds_left: float) -> Money | None:
    if not last_hour.known and not last_hour.unknown:
        return None
    rest = round(last_hour.known * Decimal(seconds_left / HOUR_SECONDS), 6)
    return Money(
        today.known + rest, max(today.unknown, last_hour.unknown), max(today.calls, last_hour.calls)
    )  # a lower bound if either is one


def _start(at: float, seconds: int) -> int:
    return int(at) // seconds * seconds


def _money(row: Row) -> Money:
    return Money(Decimal(row["cost"]), row["unpriced"], row["calls"])
