"""What the screen reads: never a body, exact counts, safe texts."""

from __future__ import annotations

from decimal import Decimal

from crewtop.model.pricing import Tokens
from crewtop.model.task import RunOutcome
from crewtop.store import console, housekeeping, lease, ledger
from crewtop.store.database import Database
from tests.store.helpers import beat, call, counters_are_true, end, one, put, take


async def test_a_long_result_comes_in_parts_with_its_size(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED, result='"' + "x" * 1_000_000 + '"')
    detail = await console.read_detail(database, claim.task_id, 60)
    assert detail is not None
    excerpt = detail.runs[0].result
    assert excerpt is not None
    assert (len(excerpt.text), excerpt.size, excerpt.whole) == (console.FIRST_CHUNK, 1_000_002, False)
    more = await console.read_body(database, claim.task_id, claim.run_id, "result", 200_000)
    assert len(more.text) == 200_000
    assert (await console.read_body(database, 10**6, 1, "result", 10)).size == 0


async def test_bodies_and_stories_of_unknown_tasks(database: Database) -> None:
    assert await console.read_detail(database, 12345, 60) is None


async def test_folding_changes_no_sum(database: Database) -> None:
    await put(database, *["a"] * 20)
    for claim in await take(database, limit=20):
        await end(database, claim, RunOutcome.COMPLETED, result="1")
    sums = """SELECT sum(completed), sum(met),
                (SELECT sum(bar.value::int) FROM crewtop.stats CROSS JOIN LATERAL jsonb_each_text(wait) AS bar)
              FROM crewtop.stats"""
    async with database.connection() as connection:
        before = await connection.fetchrow(sums)
        await connection.execute("UPDATE crewtop.stats SET at = at - interval '1 min'")
        await connection.execute("UPDATE crewtop.depth SET at = at - interval '1 min'")
    rows = await one(database, "SELECT count(*) FROM crewtop.stats")
    await housekeeping.fold(database)
    async with database.connection() as connection:
        assert await connection.fetchrow(sums) == before
    assert await one(database, "SELECT count(*) FROM crewtop.stats") < rows
    await counters_are_true(database)
    await one(database, "UPDATE crewtop.depth SET at = at - interval '2 h' WHERE span = 10")
    await housekeeping.fold(database)
    await counters_are_true(database)
    assert await one(database, "SELECT count(*) FROM crewtop.depth WHERE span = 10") == 0


async def test_rollups_grow_coarser_with_age_and_keep_their_sums(database: Database) -> None:
    await put(database, *["a"] * 12)
    claims = await take(database, limit=12)
    for number, claim in enumerate(claims):
        await ledger.record_calls(database, [call(claim, tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal("0.5"))])
        await end(database, claim, RunOutcome.COMPLETED, result="1")
        for table in ("stats", "model_stats"):
            await one(
                database,
                f"""UPDATE crewtop.{table} SET at = date_trunc('hour', now()) - interval '4 d' + $1 * interval '7 s'
                    WHERE at > now() - interval '1 min'""",
                number,
            )
    sums = """SELECT sum(completed), (SELECT sum(bar.value::int) FROM crewtop.stats, jsonb_each_text(run_ok) AS bar),
                     (SELECT (sum(calls), sum(cost))::text FROM crewtop.model_stats) FROM crewtop.stats"""
    async with database.connection() as connection:
        before = await connection.fetchrow(sums)
    for _ in range(3):
        await housekeeping.fold(database)
    async with database.connection() as connection:
        assert await connection.fetchrow(sums) == before
    for table in ("stats", "model_stats"):
        assert await one(database, f"SELECT array_agg(span) FROM crewtop.{table}") == [3_600]


async def test_a_worker_that_nobody_has_heard_of_for_a_week_is_forgotten(database: Database) -> None:
    for worker in ("old", "new"):
        await lease.heartbeat(database, beat(worker))
    await one(database, "UPDATE crewtop.workers SET heartbeat_at = now() - interval '8 d' WHERE id = 'old'")
    await housekeeping.prune(database)
    assert await one(database, "SELECT array_agg(id) FROM crewtop.workers") == ["new"]


async def test_counters_follow_deletes_and_truncates(database: Database) -> None:
    [task_id, _] = await put(database, *"aa")
    await one(database, "DELETE FROM crewtop.tasks WHERE id = $1", task_id)
    await counters_are_true(database)
    await one(database, "TRUNCATE crewtop.tasks CASCADE")
    await counters_are_true(database)
