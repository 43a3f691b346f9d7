"""Old calls priced again: portion by portion with all that rests on them, so that a crash leaves nothing halfway."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal

import asyncpg

from crewtop.model.spending import Repriced, Repricing, StoredCall
from crewtop.store.costs import PAGE, stored_call
from crewtop.store.database import Database, columns, statement

NewPrice = tuple[Decimal, str]
"""A cost in US dollars and where it comes from."""


async def begin(database: Database, since_seconds: float, model: str | None, actor: str) -> int:
    """Record that the calls of the last so many seconds are to be priced again, and by whom; answers its number.

    model: 'model' or 'provider/model'; None: calls to any.
    """
    row = await database.fetchrow("begin_repricing", since_seconds, actor, model)
    assert row is not None
    return int(row["id"])


async def unfinished(database: Database) -> list[int]:
    """Repricings that are under way, or that somebody died over, oldest first."""
    return [row["id"] for row in await database.fetch("unfinished_repricings")]


async def work(database: Database, repricing_id: int, price: Callable[[StoredCall], NewPrice | None]) -> bool:
    """Price the next portion of calls again, in one transaction; answers whether any is left.

    price answers a call's new price, None to leave it as it is. Any process may, at any time, after a crash too.
    """
    async with database.connection() as connection, connection.transaction():
        repricing = await connection.fetchrow(statement("lock_repricing"), repricing_id)
        if repricing is None:
            return False
        rows = await connection.fetch(
            statement("ended_calls"), repricing["reached"], repricing["at"], repricing["model"], PAGE
        )
        page = [stored_call(row) for row in rows]
        await _write(connection, repricing_id, [(call, new) for call in page if (new := price(call)) is not None])
        reached = page[-1].ended_at if page else None
        await connection.execute(statement("advance_repricing"), repricing_id, reached)
        return bool(page)


async def newest(database: Database, limit: int) -> list[Repricing]:
    """The newest repricings with what each changed, newest first."""
    return _repricings(await database.fetch("list_repricings", limit, None))


async def one(database: Database, repricing_id: int) -> Repricing:
    """One repricing with what it has changed so far."""
    [repricing] = _repricings(await database.fetch("list_repricings", 1, repricing_id))
    return repricing


async def _write(
    connection: asyncpg.Connection[asyncpg.Record], repricing_id: int, changes: Sequence[tuple[StoredCall, NewPrice]]
) -> None:
    if not changes:
        return
    rows = [(call.run_id, call.call_id, call.task_id, call.cost, call.price_source, *new) for call, new in changes]
    await connection.execute(statement("reprice_calls"), repricing_id, *columns(rows, 7))


def _repricings(rows: Iterable[asyncpg.Record]) -> list[Repricing]:
    return [
        Repricing(
            **{name: row[name] for name in ("id", "at", "ended_at", "actor", "role", "since", "model")},
            sums=tuple(_repriced(sums) for sums in json.loads(row["sums"])),
        )
        for row in rows
    ]


def _repriced(sums: dict[str, str | int]) -> Repriced:
    return Repriced(
        provider=str(sums["provider"]),
        model=str(sums["model"]),
        old_source=str(sums["old_source"]),
        new_source=str(sums["new_source"]),
        calls=int(sums["calls"]),
        unknown=int(sums["unknown"]),
        before=Decimal(sums["before"]),
        after=Decimal(sums["after"]),
    )
