"""Failures by what went wrong."""

from __future__ import annotations

from decimal import Decimal

from crewtop.model.failures import Failures
from crewtop.model.money import Money
from crewtop.model.pricing import Tokens
from crewtop.model.task import RunOutcome
from crewtop.store import failures, ledger
from crewtop.store.database import Database, statement
from tests.store.helpers import call, end, one, put, take

DAY = 86_400.0


async def fail(database: Database, error: str, crew: str = "a", *, attempts: int = 1, queue: str = "default") -> int:
    """A task that fails once; it backs off where it has more attempts."""
    await put(database, crew, max_attempts=attempts, queue=queue)
    [claim] = await take(database, crews=(crew,))
    await end(database, claim, RunOutcome.FAILED, error=error, delay_seconds=3_600)
    return claim.task_id


async def read(database: Database) -> Failures:
    return await failures.read(database, DAY)


async def test_nothing_failed_is_no_group(database: Database) -> None:
    await put(database, "a")
    found = await read(database)
    assert (found.groups, found.looked_at, found.more) == ((), 0, False)
    assert found.bucket_seconds == 3_600


async def test_like_errors_are_one_group_the_largest_first(database: Database) -> None:
    await fail(database, "KeyError: 'total'")
    await fail(database, "HTTP 503 after 12 s", "b", queue="q1")
    last = await fail(database, "HTTP 500 after 9.5 s", "a", queue="q2")
    many, single = (await read(database)).groups
    assert (many.failed, many.retrying, single.failed) == (2, 0, 1)
    assert (many.sample, many.sample_task) == ("HTTP 500 after 9.5 s", last)
    assert (many.crews, many.queues) == (("a", "b"), ("q1", "q2"))
    assert many.first_at < many.last_at
    assert many.key == await one(database, "SELECT failure FROM crewtop.tasks WHERE id = $1", last)


async def test_what_backs_off_is_counted_apart_and_its_cost_counts_too(database: Database) -> None:
    await fail(database, "HTTP 503", attempts=1)
    await fail(database, "HTTP 500", attempts=3)
    await one(database, "UPDATE crewtop.tasks SET calls = 2, unpriced_calls = 1, cost = 0.5")
    [group] = (await read(database)).groups
    assert (group.failed, group.retrying) == (1, 1)
    assert group.cost == Money(Decimal("1.0"), 2, 4)
    assert sum(group.trend) == 1


async def test_a_retried_task_that_completes_is_no_failure_any_more(database: Database) -> None:
    task_id = await fail(database, "HTTP 503", attempts=3)
    await one(database, "UPDATE crewtop.tasks SET run_at = now() WHERE id = $1", task_id)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    assert (await read(database)).groups == ()


async def test_the_trend_ends_now_and_what_failed_before_it_is_left_out(database: Database) -> None:
    for hours in (0.5, 0.5, 23.5, 25):
        task_id = await fail(database, "no")
        await one(
            database,
            "UPDATE crewtop.tasks SET finished_at = now() - make_interval(secs => $2) WHERE id = $1",
            task_id, hours * 3_600,
        )  # fmt: skip
    [group] = (await read(database)).groups
    assert group.trend == (1, *[0] * 22, 2)
    assert group.failed == 3


async def test_money_is_of_all_attempts(database: Database) -> None:
    await put(database, "a", max_attempts=2)
    for _ in range(2):
        await one(database, "UPDATE crewtop.tasks SET run_at = now()")
        [claim] = await take(database)
        await ledger.record_calls(database, [call(claim, tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal("0.25"))])
        await end(database, claim, RunOutcome.FAILED, error="no")
    [group] = (await read(database)).groups
    assert group.cost == Money(Decimal("0.50"), 0, 2)


async def test_only_the_newest_are_looked_at_and_it_is_said(database: Database) -> None:
    await one(
        database,
        """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, finished_at, error)
           SELECT 'q', 'a', 3, 'failed', '{}', now(), 'worker ' || n FROM generate_series(1, 20100) AS n""",
    )
    found = await read(database)
    assert (found.looked_at, found.more) == (20_000, True)
    assert [group.failed for group in found.groups] == [20_000]


async def test_the_table_is_not_read_whole(database: Database) -> None:
    await one(
        database,
        """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, finished_at)
           SELECT 'q', 'a', 3, 'completed', '{}', now() FROM generate_series(1, 3000)""",
    )
    await one(database, "ANALYZE crewtop.tasks")
    async with database.connection() as connection:
        await connection.execute("SET enable_seqscan = on")
        plan = "\n".join(
            row[0]
            for row in await connection.fetch(
                "EXPLAIN (COSTS OFF) " + statement("failures"), DAY, failures.LOOKED_AT, failures.RESTING_LOOKED_AT,
                failures.BUCKETS, failures.MOST_GROUPS,
            )
        )  # fmt: skip
    assert "Seq Scan on tasks" not in plan
    assert plan.count("tasks_to_look_at") == 2
