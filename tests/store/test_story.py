"""What a task's story says of others, and of why it does not run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from crewtop.model.detail import TaskDetail, Tied
from crewtop.model.ledger import ToolEntry
from crewtop.model.operations import Action, Target
from crewtop.model.task import NewTask, RunOutcome, Ties
from crewtop.store import console, lease, ledger, limits, producer
from crewtop.store.database import Database, statement
from tests.store.helpers import act, beat, end, one, put, take, task


async def story(database: Database, task_id: int) -> TaskDetail:
    found = await console.read_detail(database, task_id, 60)
    assert found is not None
    return found


async def why(database: Database, task_id: int) -> str | None:
    return (await story(database, task_id)).waits_because


async def waited(database: Database, task_id: int, seconds: float) -> None:
    """Let a task have waited."""
    await one(
        database, "UPDATE crewtop.tasks SET run_at = now() - make_interval(secs => $2) WHERE id = $1", task_id, seconds
    )


@pytest.fixture
async def served(database: Database) -> Database:
    """A database with a worker that takes tasks of crew a."""
    await lease.heartbeat(database, beat("w1"))
    return database


async def test_a_story_names_what_it_fanned_out(database: Database) -> None:
    [parent] = await put(database, "a")
    (first, second), _ = await producer.enqueue_tied(
        database, [NewTask(crew, "{}", ties=Ties(parent_id=parent)) for crew in ("b", "c")]
    )
    ties = (await story(database, parent)).ties
    assert ties.children == (Tied("b", first, "pending"), Tied("c", second, "pending"))
    assert (await story(database, first)).ties.parent_id == parent


async def test_uses_of_tools_are_kept_as_they_begin_and_end_and_go_with_their_task(database: Database) -> None:
    await put(database, "a", "a")
    claim, other = await take(database, limit=2)
    begun = ToolEntry(claim.run_id, claim.task_id, 1, 2, "search", "started", None, 3.0, None)
    await ledger.record_tools(database, [begun, replace(begun, number=2, tool="read")])
    await ledger.record_tools(database, [replace(begun, outcome="error", error="no such page", seconds=2.5)])
    await ledger.record_tools(database, [replace(begun, outcome="ok")])  # an end is final
    await ledger.record_tools(database, [replace(begun, run_id=other.run_id, number=9)])  # under the fence of its run
    found = (await story(database, claim.task_id)).tools
    assert [(use.number, use.tool, use.outcome, use.error, use.seconds) for use in found] == [
        (1, "search", "error", "no such page", 2.5),
        (2, "read", "started", None, None),
    ]
    await end(database, claim, RunOutcome.COMPLETED)
    await database.fetch("delete_tasks", [claim.task_id])
    assert await one(database, "SELECT count(*) FROM crewtop.tool_uses") == 0


async def test_a_story_names_what_was_run_again(database: Database) -> None:
    await put(database, "a", max_attempts=1)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="no")
    await act(database, Action.RERUN, Target(claim.task_id, (await task(database, claim.task_id))["version"]))
    [again] = (await story(database, claim.task_id)).ties.reruns
    assert (again.name, again.status) == ("a", "pending")
    assert (await story(database, again.task_id)).ties.rerun_of == claim.task_id


async def test_relatives_are_found_by_index(database: Database) -> None:
    await one(
        database,
        """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, parent_id, rerun_of)
           SELECT 'q', 'a', 3, 'pending', '{}', nullif(n / 10, 0), nullif(n / 20, 0)
           FROM generate_series(1, 3000) AS n""",
    )
    await one(database, "ANALYZE crewtop.tasks")
    async with database.connection() as connection:
        await connection.execute("SET enable_seqscan = on")
        rows = await connection.fetch("EXPLAIN (COSTS OFF) " + statement("task_ties"), 7, 100)
    plan = "\n".join(row[0] for row in rows)
    assert "Seq Scan on tasks" not in plan
    assert "tasks_by_parent" in plan
    assert "tasks_by_rerun" in plan


async def test_what_runs_or_has_ended_waits_for_nothing(served: Database) -> None:
    await put(served, "a")
    [claim] = await take(served)
    assert await why(served, claim.task_id) is None
    await end(served, claim, RunOutcome.COMPLETED, result="1")
    assert await why(served, claim.task_id) is None


async def test_a_task_that_is_not_due_says_when_it_is(served: Database) -> None:
    [later] = await put(served, "a", run_at=datetime(2999, 1, 31, 14, 2, 11, tzinfo=UTC))
    assert await why(served, later) == "it is not due before 2999-01-31 14:02:11Z"
    [resting] = await put(served, "a")
    [claim] = await take(served)
    await end(served, claim, RunOutcome.FAILED, error="no", delay_seconds=60)
    said = await why(served, resting)
    assert said is not None
    assert said.startswith("it backs off until 20")


async def test_a_paused_queue_says_by_whom_and_why(served: Database) -> None:
    [task_id] = await put(served, "a")
    await limits.pause_queue(served, "default", "me@host", "quota")
    assert await why(served, task_id) == "its queue is paused by me@host: quota"
    await limits.resume_queue(served, "default")
    await limits.pause_queue(served, "default", "me@host", None)
    assert await why(served, task_id) == "its queue is paused by me@host"


async def test_a_throttled_crew_says_whose_word_it_waits_for(served: Database) -> None:
    await put(served, "a")
    [claim] = await take(served)
    await end(served, claim, RunOutcome.THROTTLED, throttled_by="openai", delay_seconds=3_600)
    [other] = await put(served, "a")
    said = await why(served, other)
    assert said in [f"its crew is held back for {left} s more, since openai said 429" for left in range(3_500, 3_601)]


async def test_without_a_worker_for_it_it_says_what_is_missing(database: Database) -> None:
    [task_id] = await put(database, "a")
    missing = "no live worker takes tasks of crew a from queue default"
    assert await why(database, task_id) == missing
    await lease.heartbeat(database, beat("w1"))
    assert await why(database, task_id) == "it is the next of its queue"
    for blow in (
        "draining = true",
        "draining = false, slots = 0",
        "slots = 1, heartbeat_at = now() - 0.76 * make_interval(secs => lease_seconds)",  # three of four beats missed
        "heartbeat_at = now(), queues = '{other}'",
    ):
        await one(database, f"UPDATE crewtop.workers SET {blow}")
        assert await why(database, task_id) == missing


async def test_a_limit_that_is_used_up_is_named(served: Database) -> None:
    await limits.set_limit(served, "queue", "default", 1, None)
    first, second = await put(served, "a", "a")
    assert await why(served, first) == "it is the next of its queue"
    await take(served)
    assert await why(served, second) == "queue default may run 1 at once, and does"
    await limits.set_limit(served, "queue", "default", None, None)
    await limits.set_limit(served, "crew", "a", None, 5)
    await one(served, "UPDATE crewtop.limits SET tokens = 0")
    assert await why(served, second) == "crew a may start 5 a minute, and did"


async def test_the_tasks_before_it_are_counted(served: Database) -> None:
    first, second, urgent, low = [(await put(served, "a", priority=priority))[0] for priority in (3, 3, 1, 4)]
    await put(served, "a", queue="other", priority=0)
    await put(served, "a", priority=0, run_at=datetime(2999, 1, 1, tzinfo=UTC))
    assert await why(served, urgent) == "it is the next of its queue"
    assert await why(served, first) == "1 task of its queue is before it"
    assert await why(served, second) == "2 tasks of its queue are before it"
    assert await why(served, low) == "3 tasks of its queue are before it"


async def test_waiting_raises_others_before_it_as_the_claim_does(served: Database) -> None:
    """The order that the story tells is the order in which tasks are claimed."""
    ids = [(await put(served, "a", priority=priority))[0] for priority in (0, 1, 1, 2, 3, 3, 4, 4)]
    await one(served, "UPDATE crewtop.queues SET boost_seconds = 100")
    for task_id, seconds in zip(ids, (5, 150, 20, 250, 90, 130, 470, 30), strict=True):
        await waited(served, task_id, seconds)
    told = [await why(served, task_id) for task_id in ids]
    before = [int(said.split()[0]) if said and said[0].isdigit() else 0 for said in told]
    claimed = [claim.task_id for claim in await take(served, limit=len(ids))]
    assert [ids[place] for place in sorted(range(len(ids)), key=before.__getitem__)] == claimed
    assert sorted(before) == list(range(len(ids)))


async def test_so_many_that_they_are_not_counted_are_said_to_be_more(served: Database) -> None:
    await one(
        served,
        """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs)
           SELECT 'default', 'a', 2, 'pending', '{}' FROM generate_series(1, 10500)""",
    )
    [task_id] = await put(served, "a")
    assert await why(served, task_id) == "10,000 or more tasks of its queue are before it"
