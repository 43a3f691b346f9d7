"""What LLM calls cost, added up by crew, model, queue, step or day; and the calls themselves, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta

import asyncpg

from crewtop.model.money import Money, total
from crewtop.model.pricing import Tokens
from crewtop.model.spending import Cost, Costs, StoredCall
from crewtop.store.database import Database, filled, statement
from crewtop.store.failures import LOOKED_AT

MOST_CALLS = 500_000
"""How many calls are told apart by step: the newest."""

PAGE = 500
REST = "(no longer known)"
"""The name of what the rollups still have, while the calls themselves are gone."""

_MODEL = "coalesce(nullif(c.provider, '') || '/', '') || c.model"
# By what: in the rollups, and in the calls (c) of tasks (t) with their steps (s).
_GROUPS = {
    "crew": ("c.crew", "t.crew"),
    "model": (_MODEL, _MODEL),
    "queue": ("c.queue", "t.queue"),
    "step": ("''", "t.crew || ' / ' || coalesce(s.name, 'no step')"),
    "day": ("to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')", "to_char(c.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')"),
}
_KINDS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")


async def read(database: Database, by: str, since_seconds: float) -> Costs:
    """What the calls of the last so many seconds cost, by 'crew', 'model', 'queue', 'step' or 'day'.

    It begins with a whole minute, or a whole hour where they are more than 73 hours. From rollups; by step from the
    newest 500,000 calls, whatever else the rollups have in one row of its own.
    """
    rolled, called = _GROUPS[by]
    async with (
        database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        window = await connection.fetchrow(statement("cost_window"), since_seconds)
        assert window is not None
        since: datetime = window["since"]
        rows = await connection.fetch(filled("costs", {"group": rolled}), since)
        steps = await connection.fetch(statement("cost_steps"), since, MOST_CALLS) if by == "step" else None
        lost = await connection.fetch(filled("cost_failed", {"group": called}), since, LOOKED_AT)
    failed = {row["name"]: _money(row) for row in lost}
    costs = [_cost(row, failed) for row in rows]
    if steps is not None:
        costs = _with_rest([_cost(row, failed) for row in steps], costs[0] if costs else None)
    dearest = sorted(costs, key=lambda row: (-row.cost.known, -row.cost.calls, row.name))
    return Costs(
        at=window["at"],
        since=since,
        by=by,
        rows=tuple(sorted(costs, key=lambda row: row.name) if by == "day" else dearest),
        total=total(row.cost for row in costs),
        failed=total(failed.values()),
        notes=tuple(_notes(costs)),
    )


async def calls(
    database: Database, since: datetime, until: datetime, model: str | None
) -> AsyncIterator[Sequence[StoredCall]]:
    """The calls that ended from since up to until, in that order, a page at a time.

    model: 'model' or 'provider/model'; None: calls to any.
    """
    after = since - timedelta(microseconds=1)
    while True:
        rows = await database.fetch("ended_calls", after, until, model, PAGE)
        if not rows:
            return
        page = [stored_call(row) for row in rows]
        yield page
        after = page[-1].ended_at


async def window(database: Database, since_seconds: float) -> tuple[datetime, datetime]:
    """From when to when the last so many seconds are, as read() has them."""
    row = await database.fetchrow("cost_window", since_seconds)
    assert row is not None
    return row["since"], row["at"]


def stored_call(row: asyncpg.Record) -> StoredCall:
    """A call from its row in ended_calls.sql."""
    uncached, read, written, out, reasoning = (row[kind] for kind in _KINDS)
    return StoredCall(
        run_id=row["run_id"],
        call_id=row["call_id"],
        task_id=row["task_id"],
        provider=row["provider"],
        model=row["model"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        tokens=Tokens(uncached, read, written, out, reasoning) if uncached is not None else None,
        cost=row["cost"],
        price_source=row["price_source"],
        usage=row["usage"],
        route=row["route"],
        step=row["step_position"],
        crew=row["crew"],
        queue=row["queue"],
        priority=row["priority"],
    )


def _cost(row: asyncpg.Record, failed: Mapping[str, Money]) -> Cost:
    return Cost(row["name"], _money(row), failed.get(row["name"], Money()), *(row[kind] for kind in _KINDS))


def _money(row: asyncpg.Record) -> Money:
    return Money(row["cost"], row["unpriced"], row["calls"])


def _with_rest(steps: list[Cost], whole: Cost | None) -> list[Cost]:
    """The steps, and what the rollups have beside them."""
    if whole is None:
        return steps
    known = total(step.cost for step in steps)
    rest = Money(whole.cost.known - known.known, whole.cost.unknown - known.unknown, whole.cost.calls - known.calls)
    if rest == Money():
        return steps
    tokens = (getattr(whole, kind) - sum(getattr(step, kind) for step in steps) for kind in _KINDS)
    return [*steps, Cost(REST, rest, Money(), *tokens)]


def _notes(costs: Sequence[Cost]) -> list[str]:
    if any(row.name == REST for row in costs):
        return [f"{REST}: tasks that were deleted meanwhile, and calls before the newest {MOST_CALLS:,}"]
    return []
