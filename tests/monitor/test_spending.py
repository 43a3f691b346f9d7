"""What was spent: exact sums of what is known, merged percentiles, hours and days without a gap."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from crewtop.live.fast_lane import FastLane
from crewtop.model.money import Money
from crewtop.model.pricing import Tokens
from crewtop.model.task import RunOutcome
from crewtop.monitor.money import spending
from crewtop.monitor.monitor import Monitor
from crewtop.store import ledger
from crewtop.store.database import Database, statement
from crewtop.stores import Addresses, Stores
from tests.store.helpers import call, end, one, put, take

NOTHING = {"calls": 0, "unpriced": 0, "cost": "0"}


@pytest.fixture
def monitor(database: Database) -> Monitor:
    return Monitor(Stores(database, FastLane(None), Addresses("", None, "", embedded=False)), no_progress_seconds=60)


async def spend(database: Database, cost: str | None, crew: str = "a", queue: str = "q", **fields: object) -> int:
    """A task of a crew that pays for one call and completes."""
    await put(database, crew, queue=queue, max_attempts=1)
    [claim] = await take(database, crews=(crew,))
    price = Decimal(cost) if cost is not None else None
    entry = call(claim, cost=price, **{"tokens": Tokens(10, 4, 3, 5, 2), **fields})
    await ledger.record_calls(database, [entry])
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    return claim.task_id


async def test_nothing_spent_is_nothing(monitor: Monitor) -> None:
    found = await monitor.spending(24)
    assert (found.total, found.completed, found.models, found.crews, found.queues) == (Money(), 0, (), (), ())
    assert (found.failed, found.today, found.projected) == (Money(), Money(), None)
    assert (len(found.hours), len(found.days)) == (25, 14)
    assert found.days[-1].at == found.at.replace(hour=0, minute=0, second=0, microsecond=0)


async def test_models_are_summed_the_dearest_first(database: Database, monitor: Monitor) -> None:
    await spend(database, "0.25")
    await spend(database, "0.50")
    await spend(database, "9", model="o3", outcome="ok")
    await spend(database, None, outcome="rate_limited", tokens=None)
    found = await monitor.spending(1)
    dear, cheap = found.models
    assert (dear.model, dear.cost) == ("o3", Money(Decimal(9), 0, 1))
    assert (cheap.provider, cheap.model, cheap.calls) == ("openai", "gpt-4.1", 3)
    assert (cheap.errors, cheap.rate_limited, cheap.cost) == (1, 1, Money(Decimal("0.75"), 1, 3))
    assert (cheap.input_tokens, cheap.cache_read_tokens, cheap.cache_write_tokens) == (20, 8, 6)
    assert (cheap.output_tokens, cheap.reasoning_tokens) == (10, 4)
    assert cheap.latency.n == 3
    assert cheap.latency.p95 == pytest.approx(1.0, rel=0.01)
    assert found.total == Money(Decimal("9.75"), 1, 4)


async def test_crews_and_queues_say_what_they_completed_for_it(database: Database, monitor: Monitor) -> None:
    await spend(database, "1", crew="a", queue="q1")
    await spend(database, "2", crew="b", queue="q1")
    await put(database, "free", queue="q2")
    [claim] = await take(database, crews=("free",))
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    found = await monitor.spending(24)
    assert [(one.name, one.cost.known, one.completed) for one in found.crews] == [
        ("b", 2, 1),
        ("a", 1, 1),
        ("free", 0, 1),
    ]
    assert [(one.name, one.cost.known, one.completed) for one in found.queues] == [("q1", 3, 2), ("q2", 0, 1)]
    assert found.completed == 3


async def test_only_the_hours_asked_for_count_and_days_go_further(database: Database, monitor: Monitor) -> None:
    await spend(database, "1")
    await one(database, "UPDATE crewtop.model_stats SET at = at - interval '49 hours'")
    await spend(database, "2")
    found = await monitor.spending(24)
    assert found.total.known == 2
    assert sum(hour.cost.known for hour in found.hours) == 2
    assert sum(day.cost.known for day in found.days) == 3
    assert (await monitor.spending(72)).total.known == 3
    assert found.hours[-1].cost.known == 2
    steps = {later.at - earlier.at for earlier, later in zip(found.hours, found.hours[1:], strict=False)}
    assert steps == {timedelta(hours=1)}


async def test_a_day_is_utcs_in_whichever_zone_the_server_counts_days(database: Database, dsn: str) -> None:
    """Fourteen days that hold a change of clocks are not fourteen times 24 hours."""
    await spend(database, "1")
    oldest = "SELECT date_bin('1 day', now(), 'epoch') - interval '312 hours'"
    await one(database, f"UPDATE crewtop.model_stats SET at = ({oldest}) + interval '10 min'")
    day = (await one(database, "SELECT now()")).timetuple().tm_yday
    zone = f"STD0DST,J{(day - 6) % 365 + 1},J{(day + 100) % 365 + 1}"  # forward five days ago
    name = await one(database, "SELECT current_database()")
    await one(database, f"ALTER DATABASE {name} SET TimeZone = '{zone}'")
    async with Database(dsn, application_name="test") as elsewhere:
        assert await one(elsewhere, "SHOW TimeZone") == zone
        opened = Stores(elsewhere, FastLane(None), Addresses("", None, "", embedded=False))
        assert (await Monitor(opened, no_progress_seconds=60).spending(24)).days[0].cost.known == 1


async def test_what_failed_for_good_cost_all_its_attempts(database: Database, monitor: Monitor) -> None:
    await put(database, "a", max_attempts=2)
    for _ in range(2):
        await one(database, "UPDATE crewtop.tasks SET run_at = now()")
        [claim] = await take(database)
        await ledger.record_calls(database, [call(claim, cost=Decimal("0.25"))])
        await end(database, claim, RunOutcome.FAILED, error="no")
        failed = (await monitor.spending(24)).failed
    assert failed == Money(Decimal("0.50"), 0, 2)
    await one(database, "UPDATE crewtop.tasks SET finished_at = now() - interval '25 hours'")
    assert (await monitor.spending(24)).failed == Money()


def raw(at: str, day: int, today: str, last_hour: str, unpriced: int = 0) -> dict[str, object]:
    spent = {"calls": 4, "unpriced": unpriced, "cost": last_hour}
    days = [{"at": day, "calls": 5, "unpriced": 0, "cost": today}]
    empty = dict.fromkeys(("models", "crews", "queues", "hours"))
    return {**empty, "at": at, "days": days, "last_hour": spent, "failed": NOTHING}


def test_the_day_is_projected_from_its_last_hour() -> None:
    at, day = "2026-01-31T18:00:00+00:00", 1_769_817_600
    found = spending(raw(at, day, "10", "1.5"), 24)
    assert found.today == Money(Decimal(10), 0, 5)
    assert found.projected == Money(Decimal(19), 0, 5)
    lower_bound = spending(raw(at, day, "10", "1.5", unpriced=2), 24).projected
    assert lower_bound == Money(Decimal(19), 2, 5)


def test_a_quiet_hour_projects_nothing() -> None:
    assert spending(raw("2026-01-31T18:00:00+00:00", 1_769_817_600, "10", "0"), 24).projected is None


async def test_no_table_of_tasks_is_read(database: Database) -> None:
    await one(
        database,
        """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, finished_at)
           SELECT 'q', 'a', 3, 'completed', '{}', now() FROM generate_series(1, 3000)""",
    )
    await one(database, "ANALYZE crewtop.tasks")
    async with database.connection() as connection:
        await connection.execute("SET enable_seqscan = on")
        rows = await connection.fetch("EXPLAIN (COSTS OFF) " + statement("spending"), 24, 14, 20_000)
    plan = "\n".join(row[0] for row in rows)
    assert "Seq Scan on tasks" not in plan
    assert "tasks_to_look_at" in plan
    assert not any(table in plan for table in ("on runs", "on llm_calls", "on steps"))
