"""What holds queues and crews back, as an operator sets it."""

from __future__ import annotations

from crewtop.store import limits
from crewtop.store.database import Database
from tests.store.helpers import one, put, take


async def places(database: Database) -> list[tuple[int, bool]]:
    async with database.connection() as connection:
        rows = await connection.fetch("SELECT n, run_id IS NOT NULL AS taken FROM crewtop.slots ORDER BY n")
        return [(row["n"], row["taken"]) for row in rows]


async def test_a_limit_has_a_place_for_each_and_what_runs_takes_them_first(database: Database) -> None:
    await put(database, *"aaa")
    await take(database, limit=2)
    await limits.set_limit(database, "crew", "a", 3, None)
    assert await places(database) == [(1, True), (2, True), (3, False)]
    assert len(await take(database, limit=9)) == 1
    await limits.set_limit(database, "crew", "a", 1, 60.0)
    assert (await places(database))[0] == (1, True)
    await limits.set_limit(database, "crew", "a", None, None)
    assert await places(database) == []
    assert await one(database, "SELECT count(*) FROM crewtop.limits") == 0


async def test_a_paused_queue_hands_nothing_out_and_says_who_and_why(database: Database) -> None:
    await put(database, "a", queue="q")
    assert await limits.pause_queue(database, "q", "ann@host", "invoice unclear")
    assert await limits.pause_queue(database, "q", "bob@host", None)
    said = "SELECT paused_by || ': ' || paused_reason FROM crewtop.queues"
    assert await one(database, said) == "ann@host: invoice unclear"
    assert await take(database) == []
    assert await limits.resume_queue(database, "q")
    assert len(await take(database)) == 1
    assert not await limits.pause_queue(database, "nowhere", "ann", None)


async def test_a_queues_tasks_may_be_let_rise(database: Database) -> None:
    await put(database, "a", queue="q")
    assert await limits.set_boost(database, "q", 60.0)
    assert await one(database, "SELECT boost_seconds FROM crewtop.queues") == 60.0
    assert await limits.set_boost(database, "q", None)
    assert await one(database, "SELECT boost_seconds FROM crewtop.queues") is None
