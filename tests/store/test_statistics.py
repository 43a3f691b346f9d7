"""Statistics equal what the tasks themselves say, by anything, folded or not, and read no task."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from crewtop.model.histogram import RELATIVE_ERROR, bucket
from crewtop.model.money import Money
from crewtop.model.pricing import Tokens
from crewtop.model.statistics import Counted, durations, tally, together
from crewtop.model.task import RunOutcome
from crewtop.store import housekeeping, ledger, statistics
from crewtop.store.database import Database, filled
from tests.store.helpers import call, end, one, put, take

DAY = 86_400.0


async def some(database: Database) -> None:
    """Two crews of two workers: five tasks that completed, one that failed, one run that is to be done again."""
    for crew, worker, outcomes in (("a", "w1", "ccc"), ("b", "w2", "ccfr")):
        for outcome in outcomes:
            await put(database, crew, queue=f"q-{crew}", max_attempts=3)
            [claim] = await take(database, worker, crews=(crew,))
            cost = Decimal("0.25") if outcome == "c" else None
            await ledger.record_calls(database, [call(claim, tokens=Tokens(10, 2, 1, 5, 3), cost=cost)])
            kind = RunOutcome.COMPLETED if outcome == "c" else RunOutcome.FAILED
            await end(database, claim, kind, worker, terminal=outcome == "f", error="no", delay_seconds=3_600.0)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("by", ["crew", "queue", "worker", "day"])
async def test_counts_by_anything_are_those_of_the_tasks(database: Database, by: str, folded: bool) -> None:
    await some(database)
    if folded:
        for table in ("stats", "model_stats"):
            await one(database, f"UPDATE crewtop.{table} SET at = at - interval '1 min'")
        await housekeeping.fold(database)
    found = await statistics.read(database, by, DAY)
    tasks = "SELECT count(*) FROM crewtop.tasks WHERE status = $1"
    whole = found.whole
    assert (whole.completed, whole.failed) == (
        await one(database, tasks, "completed"),
        await one(database, tasks, "failed"),
    )
    assert (whole.retried, whole.success, whole.run.n, whole.wait.n) == (1, 5 / 6, 7, 7)
    assert whole.met + whole.missed == 7
    if by == "worker":
        assert (whole.tokens, whole.cost) == (None, None)
    else:
        assert (whole.tokens, whole.cost) == (7 * 18, Money(Decimal("1.25"), 2, 7))
    names = {"crew": ["a", "b"], "queue": ["q-a", "q-b"], "worker": ["w1", "w2"]}.get(by)
    if names:
        assert sorted((row.name, row.completed, row.failed) for row in found.rows) == [
            (names[0], 3, 0),
            (names[1], 2, 1),
        ]


async def test_over_time_is_the_same_in_pieces(database: Database) -> None:
    await some(database)
    await one(database, "UPDATE crewtop.stats SET at = at - interval '3 hours' WHERE crew = 'a'")
    found = await statistics.over_time(database, DAY, 3_600)
    assert [row.completed for row in found.rows if row.completed] == [3, 2]
    assert all(int(row.name) % 3_600 == 0 for row in found.rows)
    assert found.whole.cost == Money(Decimal("1.25"), 2, 7)


async def test_of_nothing_everything_is_unknown(database: Database) -> None:
    found = await statistics.read(database, "crew", DAY)
    assert found.rows == ()
    assert (found.whole.success, found.whole.level, found.whole.run.p50) == (None, None, None)
    of_workers = await statistics.read(database, "worker", DAY)
    assert (of_workers.whole.tokens, of_workers.whole.cost) == (None, None)


async def test_a_window_begins_where_hours_are_known_from(database: Database) -> None:
    await some(database)
    await one(database, "UPDATE crewtop.stats SET at = '-infinity', span = 31536000 WHERE crew = 'a'")
    found = await statistics.read(database, "crew", 5_200 * 7 * DAY)
    assert found.at - found.since < timedelta(days=365, hours=1)
    assert [row.name for row in found.rows if row.completed] == ["b"]


def test_durations_are_within_one_percent_and_merge() -> None:
    seconds = [0.001 * (n + 1) ** 2 for n in range(200)]
    halves = [Counted("x", wait={}, run=histogram(seconds[half::2])) for half in (0, 1)]
    found = tally(together(halves, "all")).run
    assert found.n == 200
    assert found.mean == pytest.approx(sum(seconds) / 200, rel=RELATIVE_ERROR)
    assert found.p50 == pytest.approx(seconds[99], rel=RELATIVE_ERROR * 1.01)
    assert durations({}).mean is None


def histogram(seconds: list[float]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for each in seconds:
        counts[bucket(each)] = counts.get(bucket(each), 0) + 1
    return counts


async def test_any_window_is_read_by_its_index_and_no_task_is(database: Database) -> None:
    """Of a year of hours, an hour's statistics read an hour."""
    await one(
        database,
        """INSERT INTO crewtop.stats (at, span, queue, crew, worker_id, completed, wait, run_ok)
           SELECT date_bin('1 hour', now(), 'epoch') - make_interval(hours => h), 3600, 'q' || c, 'c' || c, '', 1,
                  '{"1": 1}', '{"2": 1}'
           FROM generate_series(0, 8760) AS h CROSS JOIN generate_series(1, 10) AS c""",
    )
    await one(database, "ANALYZE crewtop.stats")
    for rolled, _ in statistics.SPLITS.values():
        text = filled("statistics", {"group": rolled}).replace("$1", "now() - interval '2 hours'")
        plan = str(await one(database, f"EXPLAIN (FORMAT JSON) {text}"))
        found = nodes(json.loads(plan)[0]["Plan"])
        assert {node["Index Name"] for node in found if "Index Name" in node} == {"stats_by_time"}
        assert {node["Relation Name"] for node in found if "Relation Name" in node} == {"stats"}
        assert "Seq Scan" not in {node["Node Type"] for node in found}


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(found for part in plan.get("Plans", ()) for found in nodes(part))]
