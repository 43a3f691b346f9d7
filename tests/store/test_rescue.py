"""Leases: held by heartbeats, taken back when they run out, whatever the workers table says."""

from __future__ import annotations

import asyncio

import asyncpg

from crewtop.model.operations import Action, Target
from crewtop.model.task import MAX_LOSSES, RunOutcome, TaskStatus
from crewtop.store import lease, operations
from crewtop.store.database import Database
from tests.store.helpers import (
    act,
    beat,
    counters_are_true,
    due,
    end,
    expire,
    history_is_gapless,
    one,
    put,
    run,
    take,
    task,
)


async def test_a_heartbeat_extends_the_leases_of_all_runs(database: Database) -> None:
    await put(database, *"aa")
    claims = await take(database, limit=2)
    await one(database, "UPDATE crewtop.tasks SET lease_expires_at = now()")
    orders = await lease.heartbeat(database, beat("w1", *claims))
    assert all(held.held and not held.cancel for held in orders.runs)
    assert await one(database, "SELECT bool_and(lease_expires_at > now() + interval '20 s') FROM crewtop.tasks")


async def test_a_locked_task_costs_the_other_runs_no_lease(database: Database, dsn: str) -> None:
    await put(database, *"aaa")
    claims = await take(database, limit=3)
    await one(database, "UPDATE crewtop.tasks SET lease_expires_at = now()")
    holder = await asyncpg.connect(dsn)
    async with holder.transaction():
        await holder.execute("SELECT FROM crewtop.tasks WHERE id = $1 FOR UPDATE", claims[0].task_id)
        orders = await asyncio.wait_for(lease.heartbeat(database, beat("w1", *claims)), 10)
    await holder.close()
    assert all(held.held for held in orders.runs)
    assert (
        await one(database, "SELECT count(*) FROM crewtop.tasks WHERE lease_expires_at > now() + interval '9 s'") == 2
    )


async def test_a_heartbeat_tells_of_lost_and_cancelled_runs(database: Database) -> None:
    await put(database, *"aaa")
    kept, lost, cancelled = await take(database, limit=3)
    await act(database, Action.FAIL, Target(lost.task_id, 2))
    await act(database, Action.CANCEL, Target(cancelled.task_id, 2))
    orders = await lease.heartbeat(database, beat("w1", kept, lost, cancelled))
    assert {held.run_id: (held.held, held.cancel) for held in orders.runs} == {
        kept.run_id: (True, False),
        lost.run_id: (False, False),
        cancelled.run_id: (True, True),
    }


async def test_a_heartbeat_brings_back_what_an_operator_asked_for(database: Database) -> None:
    await lease.heartbeat(database, beat("w1"))
    assert await operations.order_worker(database, "w1", 12, drain=True)
    orders = await lease.heartbeat(database, beat("w1"))
    assert (orders.desired_slots, orders.draining) == (12, True)
    assert not await operations.order_worker(database, "nobody", 1, drain=False)


async def test_an_expired_lease_is_rescued_without_the_workers_row(database: Database) -> None:
    """Case C16: deleting the dead worker's row hides nothing, and a namesake's heartbeat saves nothing."""
    [task_id] = await put(database, "a", max_attempts=1)
    [claim] = await take(database, "host:1:aaaa")
    await expire(database, task_id)
    await lease.heartbeat(database, beat("host:1:bbbb"))
    await one(database, "DELETE FROM crewtop.workers")
    [rescued] = await lease.rescue(database, "w2", 0.0)
    assert (rescued.run_id, rescued.queue, rescued.crew) == (claim.run_id, "default", "a")
    assert "host:1:aaaa is gone: lease expired 14" in rescued.why
    row = await task(database, task_id)
    assert (row["status"], row["failed_runs"], row["lost_runs"]) == ("retry", 0, 1)
    assert (await run(database, claim.run_id))["outcome"] == "lost"
    assert await lease.rescue(database, "w3", 0.0) == []
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_a_rescuer_leaves_its_own_runs_and_takes_as_many_as_it_may(database: Database) -> None:
    await put(database, *"aaaa")
    own, *others = await take(database, limit=4)
    for claim in (own, *others):
        await expire(database, claim.task_id)
    first = await lease.rescue(database, "w1", 0.0, {own.run_id}, limit=2)
    second = await lease.rescue(database, "w1", 0.0, {own.run_id}, limit=2)
    assert {item.run_id for item in (*first, *second)} == {claim.run_id for claim in others}


async def test_a_live_lease_is_left_alone(database: Database) -> None:
    await put(database, "a")
    await take(database)
    assert await lease.rescue(database, "w2", 0.0) == []


async def test_a_task_that_loses_every_worker_fails(database: Database) -> None:
    [task_id] = await put(database, "a")
    for _ in range(MAX_LOSSES):
        await due(database, task_id)
        await take(database)
        await expire(database, task_id)
        [rescued] = await lease.rescue(database, "w2", 0.0)
    assert rescued.status is TaskStatus.FAILED


async def test_a_lost_task_that_was_being_cancelled_is_cancelled(database: Database) -> None:
    [task_id] = await put(database, "a")
    await take(database)
    await act(database, Action.CANCEL, Target(task_id, 2))
    await expire(database, task_id)
    [rescued] = await lease.rescue(database, "w2", 0.0)
    assert rescued.status is TaskStatus.CANCELLED
    await history_is_gapless(database)


async def test_a_cancelled_run_ends_as_cancelled_even_if_it_failed_meanwhile(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await act(database, Action.CANCEL, Target(task_id, 2))
    assert (await end(database, claim, RunOutcome.FAILED, error="x")).status is TaskStatus.CANCELLED


async def test_a_result_that_came_before_the_kill_wins_over_cancel(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await act(database, Action.CANCEL, Target(task_id, 2))
    assert (await end(database, claim, RunOutcome.COMPLETED, result="1")).status is TaskStatus.COMPLETED
