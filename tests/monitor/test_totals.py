"""Counters over all rollups: exact, and read anew only as far as they can have changed."""

from __future__ import annotations

from decimal import Decimal

import pytest

from crewtop.model.pricing import Tokens
from crewtop.model.task import RunOutcome
from crewtop.monitor.totals import Totalling
from crewtop.store import housekeeping, ledger
from crewtop.store.database import Database
from tests.store.helpers import call, end, one, put, take


async def complete(database: Database, n: int, cost: str = "0.01") -> None:
    await put(database, *["a"] * n)
    for claim in await take(database, limit=n):
        await ledger.record_calls(database, [call(claim, "c", tokens=Tokens(3, 0, 0, 2, 0), cost=Decimal(cost))])
        await end(database, claim, RunOutcome.COMPLETED, result="1")


async def age(database: Database, by: str) -> None:
    for table in ("stats", "model_stats"):
        await one(database, f"UPDATE crewtop.{table} SET at = at - $1::text::interval", by)


def completed(totals: object) -> object:
    return totals.runs.get(("default", "a", "completed"), 0)  # type: ignore[attr-defined]


async def test_what_ended_is_counted_once_however_often_it_is_read(database: Database) -> None:
    totalling = Totalling()
    await complete(database, 2)
    assert completed(await totalling.read(database)) == 2
    await age(database, "2 minutes")
    totalling = Totalling()
    assert [completed(await totalling.read(database)) for _ in range(3)] == [2, 2, 2]
    await complete(database, 3)
    for _ in range(3):
        totals = await totalling.read(database)
        assert completed(totals) == 5
        assert sum(n for key, n in totals.calls.items() if key[2] == "cost") == Decimal("0.05")
        assert sum(n for key, n in totals.calls.items() if key[2] == "output") == 10


async def test_folding_changes_no_sum(database: Database) -> None:
    totalling = Totalling()
    await complete(database, 4)
    await age(database, "10 seconds")
    before = await totalling.read(database)
    await housekeeping.fold(database)
    assert await totalling.read(database) == before == await Totalling().read(database)


async def test_only_what_may_have_changed_is_read_again(database: Database) -> None:
    totalling = Totalling()
    await complete(database, 2)
    await age(database, "10 minutes")
    await totalling.read(database)
    await one(database, "TRUNCATE crewtop.stats")
    assert completed(await totalling.read(database)) == 2


@pytest.mark.parametrize("why", ["gap", "prices"])
async def test_what_was_read_is_forgotten_once_it_may_not_hold(database: Database, why: str) -> None:
    totalling = Totalling()
    await complete(database, 2)
    await age(database, "10 minutes")
    first = await totalling.read(database)
    if why == "gap":
        totalling._cut = totalling._cut and totalling._cut.replace(year=2020)
    else:
        totalling._repriced = "another time"
    await one(database, "UPDATE crewtop.model_stats SET cost = 7")
    again = await totalling.read(database)
    assert completed(again) == completed(first) == 2
    assert all(n == 14 or key[2] != "cost" for key, n in again.calls.items())
