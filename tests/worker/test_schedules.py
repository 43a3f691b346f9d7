"""Recurring tasks on a real database: each tick once among all workers, whatever they are configured with."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from crewtop.config import Schedule
from crewtop.model.live import Change
from crewtop.store import housekeeping
from crewtop.store.database import Database
from crewtop.worker.schedules import Scheduler
from tests.store.helpers import one

HOURLY = {"cron": "0 * * * *", "crew": "report", "inputs": {"day": "today"}, "queue": "reports", "priority": 2}


class Worker(Scheduler):
    """A worker's scheduler that remembers which queues it woke, and what it told."""

    def __init__(self, database: Database, **fields: Any) -> None:
        self.woke: set[str] = set()
        self.told: list[Change] = []
        super().__init__(database, {"nightly": Schedule(**HOURLY | fields)}, self._remember, self._hear)

    async def _remember(self, queues: set[str]) -> None:
        self.woke |= queues

    async def _hear(self, changes: list[Change]) -> None:
        self.told += changes


async def let_pass(database: Database, time: str) -> None:
    """Let the next tick have come so long ago, at a full hour."""
    await one(
        database,
        "UPDATE crewtop.schedules SET next_at = date_trunc('hour', now()) - $1::text::interval, seen_at = now()",
        time,
    )


async def tasks(database: Database) -> int:
    return int(await one(database, "SELECT count(*) FROM crewtop.tasks WHERE schedule = 'nightly'"))


async def test_a_new_schedule_begins_with_its_next_tick(database: Database) -> None:
    await Worker(database).look()
    assert await one(database, "SELECT next_at = date_trunc('hour', now()) + interval '1 h' FROM crewtop.schedules")
    assert await tasks(database) == 0


async def test_a_tick_that_has_come_puts_the_task_in_and_wakes_its_queue(database: Database) -> None:
    worker = Worker(database, missed="once")
    await worker.look()
    await let_pass(database, "0 h")
    await worker.look()
    async with database.connection() as connection:
        task = await connection.fetchrow(
            "SELECT queue, crew, priority, status, inputs::text, max_attempts, schedule FROM crewtop.tasks"
        )
    assert tuple(task) == ("reports", "report", 2, "pending", '{"day": "today"}', 3, "nightly")
    assert worker.woke == {"reports"}
    [change] = worker.told
    assert (change.crew, change.old_status, change.new_status, change.actor) == (
        "report",
        None,
        "pending",
        "schedule nightly",
    )
    assert await one(
        database,
        """SELECT last_task = (SELECT id FROM crewtop.tasks) AND last_at = date_trunc('hour', now())
                  AND next_at = date_trunc('hour', now()) + interval '1 h' FROM crewtop.schedules""",
    )


async def test_many_workers_put_a_tick_in_once(database: Database) -> None:
    workers = [Worker(database, missed="once") for _ in range(8)]
    await asyncio.gather(*(worker.look() for worker in workers))
    for _ in range(3):
        await let_pass(database, "0 h")
        await asyncio.gather(*(worker.look() for worker in workers))
    assert await tasks(database) == 3


@pytest.mark.parametrize(("missed", "made_up"), [("skip", 0), ("once", 1), ("all", 5)])
async def test_missed_ticks_follow_the_policy(database: Database, missed: str, made_up: int) -> None:
    now: datetime = await one(database, "SELECT now()")
    newest = now.replace(second=0, microsecond=0) - timedelta(minutes=30)
    worker = Worker(database, missed=missed, cron=f"{newest.minute} * * * *")
    await worker.look()
    await one(database, "UPDATE crewtop.schedules SET next_at = $1", newest - timedelta(hours=4))
    await worker.look()
    assert await tasks(database) == made_up
    assert await one(database, "SELECT next_at FROM crewtop.schedules") == newest + timedelta(hours=1)


async def test_another_cron_begins_from_now_and_other_inputs_keep_the_tick(database: Database) -> None:
    await Worker(database).look()
    await let_pass(database, "0 h")
    await Worker(database, cron="30 1 1 1 *", missed="all").look()
    assert await tasks(database) == 0
    before = await one(database, "SELECT next_at FROM crewtop.schedules")
    await Worker(database, cron="30 1 1 1 *", missed="all", inputs={}).look()
    assert await one(database, "SELECT next_at FROM crewtop.schedules") == before
    assert await one(database, "SELECT definition->>'inputs' FROM crewtop.schedules") == "{}"


async def test_the_newest_workers_definition_counts_and_an_older_worker_leaves_it_alone(database: Database) -> None:
    old = Worker(database, missed="once")
    await old.look()
    new = Worker(database, missed="once", crew="better")
    await new.look()
    await let_pass(database, "0 h")
    await old.look()
    assert await tasks(database) == 0
    await new.look()
    assert await one(database, "SELECT crew FROM crewtop.tasks") == "better"


async def test_an_older_worker_takes_over_when_the_newer_ones_are_gone(database: Database) -> None:
    old = Worker(database, missed="once")
    await old.look()
    await Worker(database, missed="once", crew="better").look()
    await let_pass(database, "0 h")
    await one(database, "UPDATE crewtop.schedules SET seen_at = now() - interval '6 min'")
    await old.look()
    assert await one(database, "SELECT crew FROM crewtop.tasks") == "report"


async def test_a_schedule_that_is_switched_off_stays_and_does_not_fire(database: Database) -> None:
    await Worker(database, missed="all").look()
    off = Worker(database, missed="all", enabled=False)
    await off.look()
    await let_pass(database, "3 h")
    await off.look()
    assert await tasks(database) == 0
    await Worker(database, missed="all").look()
    assert await tasks(database) == 0, "nobody wants what would have come while it was off"


async def test_a_schedule_that_nobody_has_does_not_fire_and_is_forgotten_after_a_week(database: Database) -> None:
    await Worker(database).look()
    await let_pass(database, "0 h")
    await housekeeping.prune(database)
    assert await one(database, "SELECT count(*) FROM crewtop.schedules") == 1
    await one(database, "UPDATE crewtop.schedules SET seen_at = now() - interval '8 days'")
    await housekeeping.prune(database)
    assert await one(database, "SELECT count(*) FROM crewtop.schedules") == 0


async def test_what_nobody_had_for_a_week_begins_anew(database: Database) -> None:
    await Worker(database, missed="all").look()
    await one(
        database,
        "UPDATE crewtop.schedules SET next_at = now() - interval '8 days', seen_at = now() - interval '8 days'",
    )
    await Worker(database, missed="all").look()
    assert await tasks(database) == 0


async def test_the_next_look_is_when_the_next_tick_comes(database: Database) -> None:
    worker = Worker(database, cron="* * * * *", missed="once")
    await worker.look()
    await one(database, "UPDATE crewtop.schedules SET next_at = clock_timestamp() + interval '0.2 s'")
    await worker.look()
    async with asyncio.timeout(20):
        await worker.due.wait()
