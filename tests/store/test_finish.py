"""How runs end: guarded by the fence, counted, and never refused for what they hold."""

from __future__ import annotations

import asyncio

import pytest

from crewtop.model.operations import Action, Target
from crewtop.model.task import MAX_CRASHES, SERVICE_LEVELS_SECONDS, Finish, RunOutcome, TaskStatus
from crewtop.store import lease
from crewtop.store.database import Database, statement
from tests.store.helpers import act, counters_are_true, due, end, expire, history_is_gapless, one, put, run, take, task


async def test_a_result_is_kept_on_its_run(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    done = await end(database, claim, RunOutcome.COMPLETED, result='{"answer": "ünï"}', log_tail="last words")
    assert done.status is TaskStatus.COMPLETED
    row = await run(database, claim.run_id)
    assert (row["result"], row["outcome"], row["log_tail"]) == ('{"answer": "ünï"}', "completed", "last words")
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_a_failure_rests_and_runs_again_until_attempts_are_spent(database: Database) -> None:
    [task_id] = await put(database, "a", max_attempts=2)
    [first] = await take(database)
    assert (await end(database, first, RunOutcome.FAILED, error="no", delay_seconds=60)).status is TaskStatus.RETRY
    assert await take(database) == []
    await due(database, task_id)
    [second] = await take(database)
    assert second.run_id != first.run_id
    assert (await task(database, second.task_id))["failed_runs"] == 1
    assert (await end(database, second, RunOutcome.FAILED, error="still no")).status is TaskStatus.FAILED
    row = await task(database, task_id)
    assert (row["error"], row["failed_runs"]) == ("still no", 2)
    await history_is_gapless(database)


async def test_a_terminal_failure_spends_no_further_attempt(database: Database) -> None:
    await put(database, "a", max_attempts=5)
    [claim] = await take(database)
    assert (await end(database, claim, RunOutcome.FAILED, error="bad key", terminal=True)).status is TaskStatus.FAILED


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (RunOutcome.THROTTLED, TaskStatus.RETRY),
        (RunOutcome.CRASHED, TaskStatus.RETRY),
        (RunOutcome.INTERRUPTED, TaskStatus.PENDING),
        (RunOutcome.RETURNED, TaskStatus.PENDING),
    ],
)
async def test_what_is_not_the_tasks_fault_spends_no_attempt(
    database: Database, outcome: RunOutcome, status: TaskStatus
) -> None:
    [task_id] = await put(database, "a", max_attempts=1)
    [claim] = await take(database)
    assert (await end(database, claim, outcome, error="why")).status is status
    assert (await task(database, task_id))["failed_runs"] == 0


async def test_throttling_is_counted_from_the_first_429_and_not_from_the_enqueue(database: Database) -> None:
    """Case C20: a task that was scheduled for next week has all its patience left."""
    [task_id] = await put(database, "a")
    await one(database, "UPDATE crewtop.tasks SET created_at = now() - interval '7 d' WHERE id = $1", task_id)
    [claim] = await take(database)
    assert (await end(database, claim, RunOutcome.THROTTLED, error="429")).status is TaskStatus.RETRY
    await one(database, "UPDATE crewtop.runs SET claimed_at = now() - interval '25 h'")
    await due(database, task_id)
    [claim] = await take(database)
    assert (await end(database, claim, RunOutcome.THROTTLED, error="429")).status is TaskStatus.FAILED


async def test_a_rest_without_end_is_cut_to_a_day(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.THROTTLED, error="429", delay_seconds=1e300)
    assert await one(database, "SELECT run_at <= now() + interval '1 d' FROM crewtop.tasks WHERE id = $1", task_id)


async def test_a_task_that_kills_its_process_again_and_again_is_quarantined(database: Database) -> None:
    [task_id] = await put(database, "a", max_attempts=10)
    statuses = []
    for _ in range(MAX_CRASHES):
        await due(database, task_id)
        [claim] = await take(database)
        statuses.append((await end(database, claim, RunOutcome.CRASHED, error="killed by signal 9")).status)
    assert statuses == [TaskStatus.RETRY, TaskStatus.RETRY, TaskStatus.FAILED]
    assert (await task(database, task_id))["error"] == "quarantined after 3 process deaths: killed by signal 9"


async def test_an_interruption_is_free_twice_and_then_spends_an_attempt(database: Database) -> None:
    [task_id] = await put(database, "a", max_attempts=2)
    statuses = []
    for _ in range(3):
        await due(database, task_id)
        [claim] = await take(database)
        statuses.append((await end(database, claim, RunOutcome.INTERRUPTED)).status)
    assert statuses == [TaskStatus.PENDING, TaskStatus.PENDING, TaskStatus.RETRY]
    assert (await task(database, task_id))["failed_runs"] == 1


async def test_a_late_write_of_a_dead_worker_changes_nothing_but_is_kept(database: Database) -> None:
    """Case C16: the lease ran out, another worker finished the task, then the first one comes back."""
    [task_id] = await put(database, "a")
    [lost] = await take(database, "dead")
    await expire(database, task_id)
    [rescued] = await lease.rescue(database, "w2", 0.0)
    assert (rescued.task_id, rescued.status) == (task_id, TaskStatus.RETRY)
    [again] = await take(database, "w2")
    await end(database, again, RunOutcome.COMPLETED, "w2", result='"second"')
    before = await task(database, task_id)
    late = await end(database, lost, RunOutcome.COMPLETED, "dead", result='"first"')
    assert not late.accepted
    assert await task(database, task_id) == before
    row = await run(database, lost.run_id)
    assert (row["late"], row["result"], row["outcome"]) == (True, '"first"', "lost")
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_one_late_report_does_not_hold_up_the_batch(database: Database) -> None:
    await put(database, *"aaa")
    claims = await take(database, limit=3)
    await act(database, Action.FAIL, Target(claims[1].task_id, 2))
    ended = await lease.finish(
        database,
        "w1",
        [Finish(c.run_id, c.task_id, RunOutcome.COMPLETED, 1.0, result="1") for c in claims],
        SERVICE_LEVELS_SECONDS,
    )
    assert {item.task_id: item.accepted for item in ended} == {
        claims[0].task_id: True,
        claims[1].task_id: False,
        claims[2].task_id: True,
    }


async def test_the_same_report_twice_counts_once(database: Database) -> None:
    """A worker that lost its connection during the commit reports again."""
    await put(database, "a")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    again = await end(database, claim, RunOutcome.COMPLETED, result="1")
    assert not again.accepted
    row = await run(database, claim.run_id)
    assert (row["outcome"], row["late"]) == ("completed", False)
    assert await one(database, "SELECT sum(completed) FROM crewtop.stats") == 1


async def test_a_completed_task_is_never_claimed_or_rescued_again(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    await due(database, task_id)
    assert await take(database, limit=10) == []
    assert await lease.rescue(database, "w2", 0.0) == []


async def test_finish_and_operators_at_once_leave_one_outcome(database: Database) -> None:
    """Case C27: whoever commits first wins, and the other is told."""
    await put(database, *["a"] * 20)
    claims = await take(database, limit=20)
    operation = act(database, Action.REQUEUE, *(Target(c.task_id, 2) for c in claims))
    finishes = [end(database, claim, RunOutcome.COMPLETED, result="1") for claim in claims]
    said, *ended = await asyncio.gather(operation, *finishes)
    for done in ended:
        assert said[done.task_id].startswith("not requeued") is done.accepted
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_finish_resolves_tasks_by_primary_key(database: Database) -> None:
    """The plan must not depend on how many run: through the index on running rows it was 14 times slower."""
    await one(database, "INSERT INTO crewtop.queues (name) VALUES ('q')")
    await one(
        database,
        """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, run_id, lease_expires_at)
           SELECT 'q', 'a', 1, 'running', '{}', n, now() FROM generate_series(1, 5000) AS n""",
    )
    await one(database, "ANALYZE crewtop.tasks")
    nothing: list[object] = [None] * 3
    async with database.connection() as connection:
        rows = await connection.fetch(
            "EXPLAIN (COSTS OFF) " + statement("finish"),
            "w1", [1, 2, 3], [1, 2, 3], ["completed"] * 3, [1.0] * 3, nothing, nothing, nothing, nothing, [0] * 3,
            nothing, [0.0] * 3, [False] * 3, nothing, list(SERVICE_LEVELS_SECONDS), 2, 3, 86_400.0,
        )  # fmt: skip
    plan = "\n".join(row[0] for row in rows)
    looked_up = plan.split("using tasks_running")[1:]
    assert all(part.split("Index Cond: ")[1].startswith("(id = ") for part in looked_up)
    assert "Seq Scan on tasks" not in plan
    assert "Seq Scan on runs" not in plan
