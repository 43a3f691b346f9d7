"""Limits over all workers, exact under races; priorities that rise with waiting; pauses."""

from __future__ import annotations

import asyncio

import pytest

from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Action, Target
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Claim, Finish, RunOutcome
from crewtop.store import housekeeping, lease, limits, tasklist
from crewtop.store.database import Database
from tests.store.helpers import act, counters_are_true, end, expire, one, put, take


async def test_a_limit_is_exact_however_many_claim_at_once(database: Database, dsn: str) -> None:
    await put(database, *["a"] * 40)
    await limits.set_limit(database, "queue", "default", 3, None)
    async with Database(dsn, application_name="test", connections=8) as many:
        for _ in range(4):
            claims = [c for batch in await asyncio.gather(*(take(many, f"w{n}", 5) for n in range(8))) for c in batch]
            assert await one(database, "SELECT count(*) FROM crewtop.tasks WHERE status = 'running'") == 3
            assert len(claims) == 3
            await asyncio.gather(*(end(many, claim, RunOutcome.COMPLETED) for claim in claims))


async def test_a_crew_is_limited_over_queues_and_leaves_room_to_others(database: Database) -> None:
    await limits.set_limit(database, "crew", "a", 2, None)
    for queue in ("q1", "q2"):
        await put(database, "a", "a", queue=queue)
    await put(database, "b", "b", queue="q1", priority=4)
    claims = await take(database, limit=10, crews=("a", "b"))
    assert sorted(c.crew for c in claims) == ["a", "a", "b", "b"]
    assert await take(database, limit=10, crews=("a", "b")) == []


async def test_a_crew_at_its_limit_starves_nobody_behind_it(database: Database) -> None:
    await limits.set_limit(database, "crew", "a", 1, None)
    await put(database, *["a"] * 20)
    await put(database, *["b"] * 5)
    first = await take(database, limit=10, crews=("a", "b"))
    assert [(c.crew, c.cut) for c in first] == [("a", True)]
    assert [c.crew for c in await take(database, limit=9, crews=("a", "b"))] == ["b"] * 5
    done = await end(database, first[0], RunOutcome.COMPLETED)
    assert list(done.freed) == ["default"]  # whoever waits for the place is told


async def test_a_late_report_beside_one_that_frees_a_place_names_no_queue(database: Database) -> None:
    await put(database, "a", "a")
    [lost] = await take(database)
    await expire(database, lost.task_id)
    await lease.rescue(database, "w2", 60.0)
    await limits.set_limit(database, "queue", "default", 1, None)
    [held] = await take(database)
    reports = [Finish(c.run_id, c.task_id, RunOutcome.COMPLETED, 1.0) for c in (lost, held)]
    ended = await lease.finish(database, "w1", reports, SERVICE_LEVELS_SECONDS)
    assert {item.accepted for item in ended} == {True, False}
    assert all(list(item.freed) == ["default"] for item in ended)


@pytest.mark.parametrize("way", ["finish", "rescue", "requeue", "fail"])
async def test_a_place_is_free_again_however_the_run_ended(database: Database, way: str) -> None:
    await limits.set_limit(database, "queue", "default", 1, None)
    [task_id, _] = await put(database, "a", "a")
    [claim] = await take(database, limit=5)
    if way == "finish":
        await end(database, claim, RunOutcome.FAILED, error="x", delay_seconds=60)
    elif way == "rescue":
        await expire(database, task_id)
        await lease.rescue(database, "w2", 60.0)
    else:
        await act(database, Action(way), Target(task_id, 2))
    assert len(await take(database, limit=5)) == 1


async def test_a_place_that_was_forgotten_is_swept_free(database: Database) -> None:
    await limits.set_limit(database, "queue", "default", 1, None)
    await put(database, "a", "a")
    [claim] = await take(database)
    await housekeeping.sweep_slots(database)
    assert await take(database) == []
    await one(database, "DELETE FROM crewtop.tasks WHERE id = $1", claim.task_id)
    await housekeeping.sweep_slots(database)
    assert len(await take(database)) == 1


async def test_a_rate_is_a_bucket_that_fills(database: Database) -> None:
    await put(database, *["a"] * 10)
    await limits.set_limit(database, "queue", "default", None, 60.0)

    async def after(seconds: float) -> list[Claim]:
        await one(
            database,
            "UPDATE crewtop.limits SET refilled_at = refilled_at - make_interval(secs => $1)",
            seconds,
        )
        return await take(database, limit=10)

    await one(database, "UPDATE crewtop.limits SET tokens = 0")
    assert len(await after(0.5)) == 0
    assert len(await after(0.6)) == 1
    assert len(await after(3.0)) == 3
    assert len(await after(60.0)) == 5  # five seconds' worth, however long nothing was started
    await counters_are_true(database)


async def test_two_workers_never_spend_one_start_twice(database: Database, dsn: str) -> None:
    await put(database, *["a"] * 40)
    await limits.set_limit(database, "crew", "a", None, 600.0)
    await one(database, "UPDATE crewtop.limits SET tokens = 7, refilled_at = now() + interval '1 hour'")
    async with Database(dsn, application_name="test", connections=8) as many:
        claims = await asyncio.gather(*(take(many, f"w{n}", 5) for n in range(8)))
    assert sum(map(len, claims)) == 7


async def test_a_limit_that_is_lifted_holds_nobody_back(database: Database) -> None:
    await put(database, *["a"] * 5)
    await limits.set_limit(database, "queue", "default", 0, None)
    assert await take(database, limit=5) == []
    await limits.set_limit(database, "queue", "default", None, None)
    assert len(await take(database, limit=5)) == 5


async def test_waiting_raises_a_task_where_its_queue_says_so(database: Database) -> None:
    old, older, urgent = (
        (await put(database, "a", priority=4))[0],
        (await put(database, "a", priority=3))[0],
        (await put(database, "a", priority=2))[0],
    )
    age = """UPDATE crewtop.tasks SET created_at = now() - make_interval(secs => $2),
                                      run_at = now() - make_interval(secs => $2) WHERE id = $1"""
    await one(database, age, old, 130)
    await one(database, age, older, 90)
    assert [c.task_id for c in await take(database, limit=1)] == [urgent]
    await limits.set_boost(database, "default", 60.0)
    [fresh] = await put(database, "a", priority=2)
    # old rose twice, to 2, and came first; older rose once, to 2; fresh is a 2 by itself.
    assert [c.task_id for c in await take(database, limit=5)] == [fresh, older, old]


async def test_the_screens_order_is_the_claim_order(database: Database) -> None:
    for n in range(40):
        [task_id] = await put(database, "a", priority=n % 5)
        await one(
            database,
            "UPDATE crewtop.tasks SET run_at = now() + make_interval(secs => $2) WHERE id = $1",
            task_id,
            60.0 if n > 35 else -n * 7.0,
        )
    await limits.set_boost(database, "default", 45.0)
    page = await tasklist.list_tasks(database, TaskFilter(), "priority", 100, 60.0)
    claimed = [c.task_id for c in await take(database, limit=40)]
    assert len(claimed) == 36
    assert [row.id for row in page.rows][:36] == claimed


async def test_nothing_is_claimed_from_a_paused_queue(database: Database) -> None:
    await put(database, "a")
    assert await limits.pause_queue(database, "default", "ann@host", "provider is down")
    assert await take(database) == []
    assert await limits.resume_queue(database, "default")
    assert len(await take(database)) == 1
    assert not await limits.pause_queue(database, "none", "ann@host", None)
