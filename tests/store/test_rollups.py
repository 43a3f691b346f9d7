"""Rollups grow coarser with age, and fewer."""

from __future__ import annotations

import pytest

from crewtop.store import housekeeping
from crewtop.store.database import Database
from tests.store.helpers import one


async def ended(database: Database, ago: str, worker: str = "w1", span: int = 0) -> None:
    """One run that ended so long ago, a call with it."""
    await one(
        database,
        """WITH call AS (
             INSERT INTO crewtop.model_stats (at, span, queue, crew, provider, model, calls, latency)
             SELECT now() - $1::text::interval, $3, 'q', 'a', 'p', 'm', 1, '{"3": 1}')
           INSERT INTO crewtop.stats (at, span, queue, crew, worker_id, completed, wait, run_ok)
           SELECT now() - $1::text::interval, $3, 'q', 'a', $2, 1, '{"1": 1}', '{"2": 1}'""",
        ago, worker, span,
    )  # fmt: skip


async def test_a_bucket_is_folded_when_the_whole_of_it_is_ripe(database: Database) -> None:
    """Row by row, as each gets old enough, nothing would ever become less."""
    # A minute of ten-second rows of which some are two hours old; or all but, where the minute is about to be over.
    start = await one(database, "SELECT date_bin('1 min', now() - interval '2 hours' + interval '5 s', 'epoch')")
    for second in range(0, 60, 10):
        await one(
            database,
            """INSERT INTO crewtop.stats (at, span, queue, crew, worker_id, completed)
               SELECT $1::timestamptz + make_interval(secs => $2), 10, 'q', 'a', 'w1', 1""",
            start, second,
        )  # fmt: skip
    await housekeeping.fold(database)
    assert await one(database, "SELECT array_agg(DISTINCT span) FROM crewtop.stats") == [10]
    await one(database, "UPDATE crewtop.stats SET at = at - interval '2 min'")
    await housekeeping.fold(database)
    assert await one(database, "SELECT array_agg((span, completed)::text) FROM crewtop.stats") == ["(60,6)"]


async def test_an_hour_is_told_without_its_workers(database: Database) -> None:
    for worker in ("w1", "w2", "w3"):
        await ended(database, "4 days", worker, span=60)
        await ended(database, "3 hours", worker, span=10)
    await housekeeping.fold(database)
    hour = "SELECT (worker_id, completed, wait, run_ok)::text FROM crewtop.stats WHERE span = 3600"
    assert await one(database, hour) == '("",3,"{""1"": 3}","{""2"": 3}")'
    assert await one(database, "SELECT array_agg(worker_id ORDER BY worker_id) FROM crewtop.stats WHERE span = 60") == [
        "w1", "w2", "w3",
    ]  # fmt: skip
    assert await one(database, "SELECT array_agg(calls) FROM crewtop.model_stats WHERE span = 3600") == [3]


async def test_hours_are_kept_for_a_year_and_then_are_one_sum(database: Database) -> None:
    """What was counted for ever stays true: no total goes back. A later year is added to the first."""
    for ago in ("400 days", "390 days", "200 days"):
        await ended(database, ago, "", span=3600)
    for _ in range(2):
        await housekeeping.prune(database)
        rows = "SELECT array_agg((at = '-infinity', completed)::text ORDER BY at) FROM crewtop.stats"
        assert await one(database, rows) == ["(t,2)", "(f,1)"]
    await one(database, "UPDATE crewtop.stats SET at = at - interval '1 year' WHERE at > '-infinity'")
    await one(database, "UPDATE crewtop.model_stats SET at = at - interval '1 year' WHERE at > '-infinity'")
    await housekeeping.prune(database)
    for table, count in (("stats", "completed"), ("model_stats", "calls")):
        assert await one(database, f"SELECT array_agg((span, {count})::text) FROM crewtop.{table}") == ["(31536000,3)"]


async def test_minutes_are_kept_for_days(database: Database) -> None:
    await ended(database, "71 hours", span=60)
    await ended(database, "75 hours", span=60)
    await housekeeping.fold(database)
    assert await one(database, "SELECT array_agg(span ORDER BY span) FROM crewtop.stats") == [60, 3600]


async def test_much_that_is_old_goes_in_batches(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "ROLLUPS_A_TIME", 2)
    for _ in range(5):
        await ended(database, "400 days", "", span=3600)
    await housekeeping.prune(database)
    assert await one(database, "SELECT array_agg(completed) FROM crewtop.stats") == [5]
