"""What a producer may hand in, and how what it may not is refused before anything is written."""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import crewtop
from crewtop.admission import checked_task
from crewtop.live.fast_lane import FastLane
from crewtop.model.task import RunOutcome, TaskStatus
from crewtop.queue import Queue
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.store.helpers import end, one, take


@pytest.fixture
def queue(database: Database, live: FastLane) -> Queue:
    return Queue(Stores(database, live, Addresses("", None, "", embedded=False)), 1_000)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"priority": 5}, "priority 5 is out of range: use 0 to 4"),
        ({"priority": "high"}, "priority 'high' is out of range"),
        ({"priority": True}, "priority True is out of range"),
        ({"run_at": datetime(2026, 1, 1)}, "run_at 2026-01-01T00:00:00 has no time zone"),
        ({"max_attempts": 0}, "max_attempts 0 is out of range: use 1 to 100"),
        ({"budget": timedelta(0)}, "budget 0:00:00 is out of range: use up to 365 days"),
        ({"budget": timedelta.max}, "is out of range: use up to 365 days"),
        ({"inputs": {"x": float("nan")}}, "are not JSON"),
        ({"inputs": {"x": object()}}, "are not JSON"),
        ({"inputs": {1: "x"}}, "a key that is not text"),
        ({"inputs": ["x"]}, "are a list: use an object"),
        ({"inputs": {"x": "y" * 1_000}}, r"are \d+ bytes, over queue.max_input_bytes = 1000"),
        ({"crew": ""}, "crew '' is not a name"),
        ({"crew": "a\x00b"}, "holds NUL"),
        ({"queue": "q" * 201}, "is not a name: use 1 to 200 characters"),
    ],
)
async def test_bad_input_is_refused_before_anything_is_written(
    queue: Queue, database: Database, fields: dict[str, Any], complaint: str
) -> None:
    arguments = {"crew": "a", **fields}
    with pytest.raises(crewtop.Refused, match=complaint):
        await queue.enqueue(**arguments)
    with pytest.raises(crewtop.Refused, match=complaint):
        await queue.enqueue_many([crewtop.Task("fine"), crewtop.Task(**arguments)])
    assert await one(database, "SELECT count(*) FROM crewtop.tasks") == 0


async def test_many_tasks_get_their_ids_in_order(queue: Queue, database: Database) -> None:
    ids = await queue.enqueue_many(crewtop.Task("a", {"n": n}, queue=f"q{n % 3}") for n in range(50))
    stored = await one(database, "SELECT array_agg((inputs->>'n')::int ORDER BY id) FROM crewtop.tasks")
    assert ids == sorted(ids)
    assert stored == list(range(50))


async def test_text_that_postgres_cannot_hold_is_replaced_and_flagged(queue: Queue, database: Database) -> None:
    task_id = await queue.enqueue("a", {"k\x00": "\ud800 \\u0000 fine \U0001f600"})
    row = await one(database, "SELECT inputs::text || ' ' || inputs_replaced FROM crewtop.tasks WHERE id = $1", task_id)
    assert row == '{"k\ufffd": "\ufffd \\\\u0000 fine \U0001f600"} 2'


async def test_the_end_of_time_is_a_date_too(queue: Queue) -> None:
    task_id = await queue.enqueue("a", run_at=datetime(9999, 12, 31, tzinfo=UTC))
    assert await queue.status(task_id) is TaskStatus.PENDING


async def test_waiting_ends_with_the_timeout_and_unknown_tasks_are_refused(queue: Queue) -> None:
    task_id = await queue.enqueue("a")
    with pytest.raises(TimeoutError):
        await queue.result(task_id, timeout=0.05)
    for asked in (queue.status(99), queue.result(99), queue.cancel(99)):
        with pytest.raises(crewtop.Refused, match="there is no task 99"):
            await asked


async def test_cancelling_a_running_task_twice_is_said_to_work_twice(queue: Queue, database: Database) -> None:
    task_id = await queue.enqueue("a")
    await take(database)
    assert await queue.cancel(task_id)
    assert await queue.cancel(task_id)
    assert await one(database, "SELECT status FROM crewtop.tasks") == "running"


async def test_a_result_that_could_not_be_stored_is_not_none(queue: Queue, database: Database) -> None:
    task_id = await queue.enqueue("a")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED, error="the result or error could not be stored: too odd")
    with pytest.raises(crewtop.TaskFailed, match="completed: the result or error could not be stored"):
        await queue.result(task_id, timeout=5)


async def test_without_waiting_one_gets_what_is_there(queue: Queue, database: Database) -> None:
    ended, waiting = [await queue.enqueue("a") for _ in range(2)]
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED, result="7")
    assert await queue.result(ended, timeout=0) == 7
    with pytest.raises(TimeoutError, match="has not ended within 0 s"):
        await queue.result(waiting, timeout=0)


async def test_a_cancelled_task_is_told_to_who_waits(queue: Queue) -> None:
    task_id = await queue.enqueue("a")
    assert await queue.cancel(task_id)
    assert not await queue.cancel(task_id)
    with pytest.raises(crewtop.TaskCancelled):
        await queue.result(task_id, timeout=5)


def test_the_blocking_twin_does_the_same(dsn: str, redis_url: str, tmp_path: Path) -> None:
    config = tmp_path / "crewtop.toml"
    config.write_text(f'[postgres]\ndsn = "{dsn}"\n[redis]\nurl = "{redis_url}"\n')
    with crewtop.connect_blocking(config=config) as queue:
        first, second = queue.enqueue_many([crewtop.Task("a"), crewtop.Task("b")])
        assert queue.status(first) is TaskStatus.PENDING
        assert queue.cancel(second, "not needed")
        with pytest.raises(crewtop.TaskCancelled):
            queue.result(second, timeout=5)


def test_a_thread_that_still_waits_when_the_queue_closes_is_let_go(dsn: str, redis_url: str, tmp_path: Path) -> None:
    config = tmp_path / "crewtop.toml"
    config.write_text(f'[postgres]\ndsn = "{dsn}"\n[redis]\nurl = "{redis_url}"\n')
    with ThreadPoolExecutor(1) as threads:
        with crewtop.connect_blocking(config=config) as queue:
            task_id = queue.enqueue("a")
            waiting = threads.submit(queue.result, task_id)
            assert queue.status(task_id) is TaskStatus.PENDING
            while not waiting.running():
                pass
        with pytest.raises((CancelledError, crewtop.CrewtopError)):
            waiting.result(timeout=10)


async def test_connect_uses_what_it_is_told(dsn: str, redis_url: str) -> None:
    async with crewtop.connect(postgres=dsn, redis=redis_url) as queue:
        assert await queue.enqueue("a", priority=crewtop.Priority.HIGH) == 1


def test_a_budget_is_seconds_in_the_database() -> None:
    assert checked_task(crewtop.Task("a", budget=timedelta(minutes=2)), 10).budget_seconds == 120.0
