"""What is forgotten when, and what stays."""

from __future__ import annotations

import asyncio

import pytest

from crewtop.store import housekeeping
from crewtop.store.database import Database
from tests.store.helpers import counters_are_true, one

KEEPING = {"completed": 14 * 86_400.0, "cancelled": 30 * 86_400.0, "failed": 90 * 86_400.0}


async def ended(database: Database, status: str, days: int, count: int = 1) -> list[int]:
    """Tasks that ended so many days ago, with a run, a step, a call and a line of history each."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            """WITH task AS (
                 INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, created_at, finished_at)
                 SELECT 'q', 'a', 3, $1, '{}', now() - interval '1 h' - make_interval(days => $2),
                        CASE WHEN $1 IN ('completed', 'failed', 'cancelled') THEN now() - make_interval(days => $2) END
                 FROM generate_series(1, $3) RETURNING id
               ), run AS (
                 INSERT INTO crewtop.runs (id, task_id, worker_id, waited_seconds) SELECT id, id, 'w', 0 FROM task
               ), step AS (
                 INSERT INTO crewtop.steps (run_id, position, task_id, name, status, started_at)
                 SELECT id, 1, id, 's', 'completed', now() FROM task
               ), call AS (
                 INSERT INTO crewtop.llm_calls (run_id, call_id, task_id, model, outcome, started_at, price_source)
                 SELECT id, 'c', id, 'm', 'ok', now(), 'test' FROM task
               ), history AS (
                 INSERT INTO crewtop.transitions (task_id, version, old_status, new_status, actor)
                 SELECT id, 2, 'pending', 'running', 'w' FROM task)
               SELECT id FROM task ORDER BY id""",
            status, days, count,
        )  # fmt: skip
    return [row["id"] for row in rows]


async def left(database: Database) -> list[int]:
    async with database.connection() as connection:
        return [row["id"] for row in await connection.fetch("SELECT id FROM crewtop.tasks ORDER BY id")]


async def prune(database: Database, keeping: dict[str, float] = KEEPING) -> int:
    """A whole pass; answers how many were deleted."""
    place, deleted = 0, 0
    while True:
        some, further = await housekeeping.prune_tasks(database, keeping, place)
        deleted += len(some)
        if further is None:
            return deleted
        place = further


async def test_each_status_is_kept_for_its_own_time(database: Database) -> None:
    stay = []
    for status, days in (("completed", 14), ("cancelled", 30), ("failed", 90)):
        await ended(database, status, days + 1)
        stay += await ended(database, status, days - 1)
    assert await prune(database) == 3
    assert await left(database) == stay


async def test_what_has_not_ended_stays_however_old_it_is(database: Database) -> None:
    stay = await ended(database, "pending", 400)
    await prune(database)
    assert await left(database) == stay


async def test_what_is_kept_for_ever_stays(database: Database) -> None:
    stay = await ended(database, "failed", 4_000)
    assert await prune(database, {"completed": 1.0}) == 0
    assert await prune(database, {}) == 0
    assert await left(database) == stay


async def test_all_that_is_a_tasks_goes_with_it_and_the_counters_stay_true(database: Database) -> None:
    await ended(database, "completed", 20, count=3)
    [stays] = await ended(database, "completed", 1)
    await prune(database)
    for table in ("runs", "steps", "llm_calls", "transitions"):
        assert await one(database, f"SELECT array_agg(task_id) FROM crewtop.{table}") == [stays]
    await counters_are_true(database)


async def test_what_a_task_still_needs_stays_until_that_has_ended(database: Database) -> None:
    parent, result, other = await ended(database, "completed", 20, count=3)
    child, dependent = await ended(database, "pending", 20, count=2)
    await one(database, "UPDATE crewtop.tasks SET parent_id = $1 WHERE id = $2", parent, child)
    await one(
        database,
        "INSERT INTO crewtop.task_dependencies (depends_on, task_id, name, settled) VALUES ($1, $2, 'r', true)",
        result, dependent,
    )  # fmt: skip
    await prune(database)
    assert await left(database) == [parent, result, child, dependent]
    assert other not in await left(database)
    await one(database, "UPDATE crewtop.tasks SET status = 'failed', finished_at = now() WHERE status = 'pending'")
    await prune(database)
    assert await left(database) == [child, dependent]


async def test_a_batch_looks_at_a_thousand_tasks_and_says_where_it_was(database: Database) -> None:
    ids = await ended(database, "completed", 20, count=2_500)
    assert await housekeeping.prune_tasks(database, KEEPING, 0) == (ids[:1_000], ids[999])
    assert await housekeeping.prune_tasks(database, KEEPING, ids[999]) == (ids[1_000:2_000], ids[1_999])
    assert await housekeeping.prune_tasks(database, KEEPING, ids[1_999]) == (ids[2_000:], None)


async def test_a_pass_ends_where_tasks_are_too_young(database: Database) -> None:
    await ended(database, "completed", 1, count=1_200)
    assert await housekeeping.prune_tasks(database, KEEPING, 0) == ([], None)


async def test_workers_that_prune_at_once_share_the_work(database: Database) -> None:
    await ended(database, "completed", 20, count=1_500)
    counts = await asyncio.gather(*(prune(database) for _ in range(4)))
    assert await left(database) == []
    assert sum(counts) == 1_500


async def test_what_an_operator_works_on_is_left_for_the_next_time(database: Database) -> None:
    held, gone = await ended(database, "failed", 100, count=2)
    async with database.connection() as connection, connection.transaction():
        await connection.execute("SELECT FROM crewtop.tasks WHERE id = $1 FOR NO KEY UPDATE", held)
        await prune(database)
        assert await left(database) == [held]
    assert gone not in await left(database)


@pytest.mark.parametrize(("ended_ago", "remaining"), [("91 days", 0), ("89 days", 1)])
async def test_operations_are_kept_for_ninety_days(database: Database, ended_ago: str, remaining: int) -> None:
    await one(
        database,
        """INSERT INTO crewtop.operations (action, state, ended_at, actor, total)
           VALUES ('retry', 'done', now() - $1::text::interval, 'me', 1)""",
        ended_ago,
    )
    await one(database, "INSERT INTO crewtop.operation_items (operation_id, task_id, seen) VALUES (1, 1, 1)")
    await housekeeping.prune(database)
    for table in ("operations", "operation_items"):
        assert await one(database, f"SELECT count(*) FROM crewtop.{table}") == remaining


async def test_an_operation_goes_after_the_one_that_took_it_back(database: Database) -> None:
    await one(
        database,
        """INSERT INTO crewtop.operations (action, state, ended_at, actor, total, undoes)
           SELECT 'retry', 'done', now() - interval '91 days', 'me', 1, undoes
           FROM (VALUES (NULL::bigint), (1)) AS o (undoes)""",
    )
    await housekeeping.prune(database)
    assert await one(database, "SELECT array_agg(id) FROM crewtop.operations") == [1]
    await housekeeping.prune(database)
    assert await one(database, "SELECT count(*) FROM crewtop.operations") == 0
