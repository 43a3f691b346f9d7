"""Case C15: PgBouncer in transaction mode stands between, and other clients leave things in its sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import Unavailable
from crewtop.model.operations import Action, Target
from crewtop.model.task import RunOutcome
from crewtop.monitor.monitor import Monitor
from crewtop.store import housekeeping, lease, ledger, schema
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.pooler import POOL_SIZE, pgbouncer
from tests.store.helpers import act, beat, call, counters_are_true, end, expire, history_is_gapless, one, put, take


@pytest.fixture
def pooled_dsn(dsn: str) -> Iterator[str]:
    """Leads to the test's database through PgBouncer."""
    with pgbouncer(dsn) as through:
        yield through


@pytest.fixture
async def pooled(pooled_dsn: str) -> AsyncIterator[Database]:
    """A Database that was told nothing of the pooler, whose sessions another client has spoilt."""
    await _spoil(pooled_dsn)
    async with Database(pooled_dsn, application_name="crewtop test", connections=6, timeout=10) as opened:
        yield opened


async def _spoil(pooled_dsn: str, timeout: str = "9s") -> None:
    """Leave a search_path and a statement_timeout in every session that PgBouncer has."""
    clients = [await asyncpg.connect(pooled_dsn, statement_cache_size=0) for _ in range(POOL_SIZE)]
    transactions = [client.transaction() for client in clients]
    for client, transaction in zip(clients, transactions, strict=True):
        await transaction.start()
        await client.execute(f"SET search_path = nowhere; SET statement_timeout = '{timeout}'")
    for client, transaction in zip(clients, transactions, strict=True):
        await transaction.commit()
        await client.close()


async def test_a_pooler_is_recognised_and_a_server_is_not_taken_for_one(pooled: Database, database: Database) -> None:
    assert await one(pooled, "SELECT current_setting('search_path')") == "nowhere"
    await one(database, "SELECT 1")
    assert (pooled.pooled, database.pooled) == (True, False)


async def test_many_at_once_share_two_sessions(pooled: Database) -> None:
    answers = await asyncio.gather(*(pooled.fetch("task_status", n) for n in range(60)))
    assert answers == [[]] * 60


async def test_a_tasks_whole_life(pooled: Database, database: Database, live: FastLane) -> None:
    first, second, third = await put(pooled, *"aaa")
    claims = await asyncio.gather(*(take(pooled, f"w{n}", 1) for n in range(3)))
    claim, other, last = sorted((taken for [taken] in claims), key=lambda taken: taken.task_id)
    assert (claim.task_id, other.task_id, last.task_id) == (first, second, third)
    orders = await lease.heartbeat(pooled, beat("w0", claim, other, last))
    assert all(run.held for run in orders.runs)
    await ledger.record_calls(pooled, [call(claim)])
    assert (await end(pooled, claim, RunOutcome.COMPLETED, result="1")).accepted
    assert (await act(pooled, Action.REQUEUE, Target(other.task_id, 2)))[other.task_id].startswith("requeued")
    assert not (await end(pooled, other, RunOutcome.COMPLETED)).accepted
    await expire(database, third)
    assert [rescued.task_id for rescued in await lease.rescue(pooled, "w9", 0.0)] == [third]
    await housekeeping.fold(pooled)
    await housekeeping.prune(pooled)
    await housekeeping.prune_tasks(pooled, {"completed": 1.0}, 0)
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_the_screen_says_that_it_is_pooled(pooled: Database, live: FastLane) -> None:
    [first] = await put(pooled, "a")
    screen = Monitor(Stores(pooled, live, Addresses("", None, "", embedded=False)), 60.0)
    pictures = await asyncio.gather(*(screen.snapshot() for _ in range(3)))
    assert {picture.queues[0].ready for picture in pictures} == {1}
    assert pictures[0].pooled
    story = await screen.detail(first)
    assert story is not None


async def test_a_timeout_that_another_client_left_is_told_as_what_it_is(pooled_dsn: str) -> None:
    await _spoil(pooled_dsn, "50ms")
    async with Database(pooled_dsn, application_name="test") as pooled:
        with pytest.raises(Unavailable, match="canceling statement due to statement timeout"):
            await one(pooled, "SELECT pg_sleep(20)")


async def test_schema_and_roles_through_a_pooler(pooled: Database) -> None:
    assert await schema.check(pooled) == schema.SCHEMA_VERSION
    assert await schema.upgrade(pooled) == schema.SCHEMA_VERSION
    assert not await schema.init(pooled)


async def test_plans_that_are_kept_do_not_scan(database: Database) -> None:
    """A plan is kept from when tables were small; a pooler's sessions are others' too and stay as they were."""
    assert await one(database, "SELECT current_setting('enable_seqscan')") == "off"
    assert await one(database, "SELECT current_setting('jit')") == "off"


async def test_statements_that_are_planned_each_time_may_scan(dsn: str) -> None:
    async with Database(dsn, application_name="test", prepared=False) as database:
        assert await one(database, "SELECT current_setting('enable_seqscan')") == "on"


async def test_a_pooler_that_could_not_be_told_is_told_by_what_it_breaks(database: Database) -> None:
    """Another client in the same session: a statement that was prepared is gone."""
    await database.fetch("task_status", 1)
    await one(database, "DEALLOCATE ALL")
    with pytest.raises(Unavailable, match="taking what stands between for a pooler"):
        await database.fetch("task_status", 1)
    assert await database.fetch("task_status", 1) == []
    assert database.pooled
