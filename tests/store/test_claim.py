"""What a worker gets when it claims, and in which order."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from crewtop.model.task import NewTask, RunOutcome, portion
from crewtop.store import lease, producer
from crewtop.store.database import Database, statement
from tests.store.helpers import LEASE, counters_are_true, end, history_is_gapless, one, put, take, task


async def test_urgent_tasks_come_first_then_older_ones(database: Database) -> None:
    low, normal, first, second = await producer.enqueue(
        database, [portion([NewTask("a", "{}", priority=priority) for priority in (4, 3, 1, 1)])]
    )
    claims = await take(database, limit=10)
    assert [claim.task_id for claim in claims] == [first, second, normal, low]


async def test_a_claim_takes_no_more_than_the_free_slots(database: Database) -> None:
    await put(database, *"aaaaa")
    assert len(await take(database, limit=3)) == 3
    assert len(await take(database, limit=3)) == 2
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_tasks_that_are_not_due_or_of_unknown_crews_stay(database: Database) -> None:
    await put(database, "a", run_at=datetime.now(UTC) + timedelta(hours=10))
    await put(database, "deleted_yesterday")
    assert await take(database, limit=10) == []


async def test_a_run_at_long_ago_counts_as_now(database: Database) -> None:
    [old] = await put(database, "a", run_at=datetime(1970, 1, 1, tzinfo=UTC))
    row = await task(database, old)
    assert row["run_at"] == row["created_at"]


async def test_a_paused_queue_gives_nothing_and_others_go_on(database: Database) -> None:
    await put(database, "a", queue="paused")
    [other] = await put(database, "a", queue="open")
    await one(database, "UPDATE crewtop.queues SET paused_at = now() WHERE name = 'paused'")
    assert [claim.task_id for claim in await take(database, limit=10)] == [other]


async def test_a_worker_claims_from_its_queues_alone(database: Database) -> None:
    await put(database, "a", queue="one")
    [two] = await put(database, "a", queue="two")
    claims = await lease.claim(database, "w1", ["two"], ["a"], 10, LEASE)
    assert [claim.task_id for claim in claims] == [two]


async def test_a_task_that_was_handed_back_keeps_its_place_but_not_its_wait(database: Database) -> None:
    """Case C11: the wait of an attempt begins when the attempt could have begun."""
    first, _second = await put(database, *"aa")
    await one(database, "UPDATE crewtop.tasks SET run_at = now() - interval '1 h' WHERE id = $1", first)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.INTERRUPTED)
    [again] = await take(database)
    assert again.task_id == first
    assert await one(database, "SELECT waited_seconds < 60 FROM crewtop.runs WHERE id = $1", again.run_id)
    assert await one(database, "SELECT waited_seconds >= 3600 FROM crewtop.runs WHERE id = $1", claim.run_id)


async def test_claims_at_the_same_time_never_share_a_task(database: Database) -> None:
    await put(database, *["a"] * 60)
    rounds = await asyncio.gather(*(take(database, f"w{n}", 10) for n in range(8)))
    taken = [claim.task_id for claims in rounds for claim in claims]
    assert len(taken) == len(set(taken)) == 60
    await counters_are_true(database)


async def test_the_claim_reads_the_ready_index_and_never_scans(database: Database) -> None:
    """A backlog that is not due or less urgent must cost nothing: one probe for each queue and priority."""
    await one(database, "INSERT INTO crewtop.queues (name) VALUES ('q')")
    await one(
        database,
        """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, run_at)
           SELECT 'q', 'a', 1 + n % 4, 'pending', '{}', now() + CASE n % 4 WHEN 0 THEN interval '1 h' ELSE '0' END
           FROM generate_series(1, 20000) AS n""",
    )
    await one(database, "ANALYZE crewtop.tasks")
    async with database.connection() as connection:
        plan = "\n".join(
            row[0]
            for row in await connection.fetch("EXPLAIN (COSTS OFF) " + statement("claim"), "w1", None, ["a"], 10, LEASE)
        )
    assert "Index Scan using tasks_ready" in plan
    assert "Seq Scan on tasks" not in plan
    assert "Index Scan using tasks_pkey" in plan


async def test_a_throttled_crew_is_held_back_until_its_provider_said(database: Database) -> None:
    """Case C20: one 429 speaks for all tasks of the crew; the others go on."""
    await put(database, "a", "a", "b")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.THROTTLED, error="429", delay_seconds=30, throttled_by="openai")
    assert [c.crew for c in await take(database, limit=5, crews=("a", "b"))] == ["b"]
    assert (
        await one(database, "SELECT provider FROM crewtop.throttles WHERE until > now() + interval '29 s'") == "openai"
    )
    await one(database, "UPDATE crewtop.throttles SET until = now()")
    assert [c.crew for c in await take(database, limit=5, crews=("a", "b"))] == ["a"]
