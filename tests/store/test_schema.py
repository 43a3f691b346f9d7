"""A database of version 1, brought up to date, is as good as a new one, and keeps what it held."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from crewtop import embedded
from crewtop.model.errors import CrewtopError, Refused
from crewtop.model.task import RunOutcome
from crewtop.store import schema
from crewtop.store.database import Database
from tests.conftest import dsn_of
from tests.store.catalog import catalog, differences
from tests.store.helpers import counters_are_true, end, history_is_gapless, one, put, take

VERSION_1 = (Path(__file__).parent / "schema_v1.sql").read_text()

CONTENTS = """
INSERT INTO crewtop.queues (name) VALUES ('default');
INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, version, lease_expires_at, finished_at, run_id, cost)
SELECT 'default', 'a', 3, status, '{"n": 1}', 3,
       CASE WHEN status = 'running' THEN now() - interval '1 min' END,
       CASE WHEN status IN ('completed', 'failed', 'cancelled') THEN now() END, 100 + place, 0.25
FROM unnest(ARRAY['waiting', 'pending', 'running', 'retry', 'completed', 'failed', 'cancelled'])
     WITH ORDINALITY AS s (status, place);
INSERT INTO crewtop.runs (id, task_id, worker_id, waited_seconds, outcome, result)
SELECT 100 + id, id, 'old', 1, CASE status WHEN 'running' THEN status ELSE 'failed' END, '"kept"' FROM crewtop.tasks;
SELECT setval('crewtop.runs_id_seq', 200);
INSERT INTO crewtop.task_history (task_id, version, old_status, new_status, actor)
SELECT id, v, (way || status)[v - 1], (way || status)[v], 'old'
FROM (SELECT id, status, ARRAY['pending', CASE status WHEN 'running' THEN 'retry' ELSE 'running' END] AS way
      FROM crewtop.tasks) AS t
CROSS JOIN generate_series(1, 3) AS v;
INSERT INTO crewtop.steps (run_id, position, task_id, name, status, started_at)
SELECT id, 1, task_id, 'step', 'completed', now() FROM crewtop.runs;
INSERT INTO crewtop.llm_calls (run_id, call_id, task_id, model, outcome, started_at, cost, price_source)
SELECT id, 'c', task_id, 'm', 'ok', now(), 0.25, 'test' FROM crewtop.runs;
INSERT INTO crewtop.operations (action, actor, reason) VALUES ('retry', 'me@host', 'why'), ('cancel', 'me@host', NULL);
INSERT INTO crewtop.operation_items (operation_id, task_id, done, outcome)
VALUES (1, 4, true, 'retried'), (1, 5, false, 'not retried: completed 3 s ago');
INSERT INTO crewtop.workers (id, host, pid, boot_id, crewtop, crews, slots, lease_seconds, stopped_at)
VALUES ('old', 'h', 1, 'b', '0', '{a}', 1, 30, now());
"""


@pytest.fixture
async def empty(servers: embedded.Servers) -> AsyncIterator[Database]:
    """A database without our schema."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    connection = await asyncpg.connect(servers.dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    async with Database(dsn_of(servers.dsn, name), application_name="test", timeout=20) as database:
        yield database
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


@pytest.fixture
async def old(empty: Database) -> Database:
    """A database of version 1 that has been in use."""
    async with empty.connection() as connection:
        await connection.execute(VERSION_1)
        await connection.execute(CONTENTS)
    return empty


async def test_an_upgraded_database_equals_a_new_one(old: Database, database: Database) -> None:
    assert await schema.upgrade(old) == 1
    assert "\n".join(differences(await catalog(old), await catalog(database))) == ""
    assert await schema.check(old) == schema.SCHEMA_VERSION


async def test_what_it_held_is_kept_and_work_goes_on(old: Database) -> None:
    await one(old, "UPDATE crewtop.tasks SET error = 'HTTP 503: no answer' WHERE status = 'failed'")
    await schema.upgrade(old)
    assert await one(old, "SELECT failure = crewtop.fingerprint('HTTP 429: no answer') FROM crewtop.tasks WHERE id = 6")
    await counters_are_true(old)
    await history_is_gapless(old)
    assert await one(old, "SELECT count(*) FROM crewtop.runs WHERE result::text = '\"kept\"'") == 7
    assert await one(old, "SELECT sum(cost) FROM crewtop.llm_calls") * 100 == 175
    assert await one(old, "SELECT bool_and(ended_at IS NOT NULL) FROM crewtop.llm_calls"), "so that sums have them"
    assert await one(old, "SELECT status FROM crewtop.tasks WHERE id = 1") == "pending", "it waited for nothing"
    [fresh] = await put(old, "a", priority=1)
    assert fresh == 8
    [claim] = await take(old)
    assert claim.task_id == fresh
    assert (await end(old, claim, RunOutcome.COMPLETED, result="1")).accepted
    for claim in await take(old, limit=9):
        await end(old, claim, RunOutcome.COMPLETED, result="2")
    await counters_are_true(old)
    await history_is_gapless(old)


async def test_old_operations_say_what_they_did_and_no_more_than_is_known(old: Database) -> None:
    await schema.upgrade(old)
    async with old.connection() as connection:
        rows = await connection.fetch(
            "SELECT state, role, total, done, refused, ended_at = at AS at_once FROM crewtop.operations ORDER BY id"
        )
    assert [tuple(row) for row in rows] == [("done", "?", 2, 1, 1, True), ("done", "?", 0, 0, 0, True)]
    assert await one(old, "SELECT count(*) FROM crewtop.operation_items WHERE left_version IS NULL") == 2


async def test_an_upgrade_waits_for_workers_of_the_old_version_to_be_stopped(old: Database) -> None:
    await one(old, "UPDATE crewtop.workers SET stopped_at = NULL")
    with pytest.raises(Refused, match=r"nothing was upgraded: workers of the old version are at work \(old\)"):
        await schema.upgrade(old)
    await one(old, "UPDATE crewtop.workers SET heartbeat_at = now() - interval '2 min'")
    assert await schema.upgrade(old) == 1


async def test_several_upgrades_at_once_do_it_once(old: Database) -> None:
    found = await asyncio.gather(*(schema.upgrade(old) for _ in range(3)))
    assert found.count(1) == 1
    assert await schema.check(old) == schema.SCHEMA_VERSION


async def test_an_upgrade_and_a_worker_that_starts_meanwhile_wait_for_each_other_in_turn(
    old: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table is written anew for minutes: to be the victim of a deadlock at the end of them would be a pity."""
    with monkeypatch.context() as before:
        before.setattr(schema, "SCHEMA_VERSION", 2)
        await schema.upgrade(old)
    heartbeat = "WITH b AS (UPDATE crewtop.workers SET busy = 1 RETURNING id) SELECT count(*) FROM b, crewtop.tasks"
    async with old.connection() as reader, asyncio.TaskGroup() as group, reader.transaction():
        await reader.execute("SELECT FROM crewtop.tasks")
        upgrade = group.create_task(schema.upgrade(old))
        await waiting(old, 1)
        beat = group.create_task(one(old, heartbeat))
        await waiting(old, 2)
    assert (await upgrade, await beat) == (2, 7)


async def waiting(database: Database, sessions: int) -> None:
    """Until so many sessions wait for a lock."""
    waiters = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(10):
        while await one(database, waiters) < sessions:  # noqa: ASYNC110  what is awaited lives in the database
            await asyncio.sleep(0.01)


async def test_a_migration_that_fails_changes_nothing(old: Database, database: Database) -> None:
    await one(old, "CREATE TABLE crewtop.schedules ()")
    before = await catalog(old)
    with pytest.raises(asyncpg.DuplicateTableError):
        await schema.upgrade(old)
    assert await catalog(old) == before
    await one(old, "DROP TABLE crewtop.schedules")
    await schema.upgrade(old)
    assert "\n".join(differences(await catalog(old), await catalog(database))) == ""


async def test_an_old_version_says_how_to_go_on(old: Database) -> None:
    for ask in (schema.check, schema.init):
        with pytest.raises(CrewtopError, match=r"has schema version 1, .* stop the workers, then run `crewtop db upg"):
            await ask(old)


async def test_a_newer_version_says_how_to_go_on(database: Database) -> None:
    await one(database, "UPDATE crewtop.settings SET value = '99' WHERE key = 'schema_version'")
    for ask in (schema.check, schema.init, schema.upgrade, schema.prepare):
        with pytest.raises(CrewtopError, match=r"has schema version 99, .* install the newer crewtop"):
            await ask(database)


async def test_a_database_without_a_schema_says_how_to_go_on(empty: Database) -> None:
    for ask in (schema.check, schema.upgrade):
        with pytest.raises(CrewtopError, match="has no crewtop schema: run `crewtop db init`"):
            await ask(empty)


async def test_the_embedded_database_is_created_and_brought_up_to_date_by_itself(empty: Database) -> None:
    await schema.prepare(empty)
    assert await schema.check(empty) == schema.SCHEMA_VERSION
    async with empty.connection() as connection:
        await connection.execute("DROP SCHEMA crewtop CASCADE")
        await connection.execute(VERSION_1)
    await schema.prepare(empty)
    assert await schema.check(empty) == schema.SCHEMA_VERSION


@pytest.mark.parametrize(
    ("one_error", "another"),
    [
        (
            "worker shop-1@db1:12 is gone: lease expired 3.2 s ago",
            "worker shop-2@db2:7 is gone: lease expired 14 s ago",
        ),
        ("no order 550e8400-e29b-41d4-a716-446655440000", "no order 00000000-beef-cafe-babe-000000000001"),
        ("KeyError: 'order_id'", "KeyError: 'customer'"),
        ("connect to 10.0.0.1:5432 refused", "connect to db2.internal:80 refused"),
        ("object at 0x7f00aa is  gone", "object at 0x11 is gone\n"),
        ("bad answer: 'it began", "bad answer: 'and never ended, " + "on and on " * 30),
    ],
)
async def test_errors_that_differ_in_numbers_names_and_addresses_are_alike(
    database: Database, one_error: str, another: str
) -> None:
    same = await one(database, "SELECT crewtop.fingerprint($1) = crewtop.fingerprint($2)", one_error, another)
    assert same


@pytest.mark.parametrize("error", ["", "'", "\\", "\\x4", "can't", "won't", "(", "ünï ✗", "x" * 500, "\\" * 500])
async def test_any_error_has_eight_digits(database: Database, error: str) -> None:
    assert await one(database, "SELECT crewtop.fingerprint($1) ~ '^[0-9a-f]{8}$'", error)
