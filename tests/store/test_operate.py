"""Operator actions: they mean what was seen, they are recorded, and what they refuse is said in words."""

from __future__ import annotations

import asyncio
import re

import pytest

from crewtop.model.operations import Action, Order, Target
from crewtop.model.task import RunOutcome
from crewtop.store import batch, operations
from crewtop.store.database import Database
from tests.store.helpers import (
    act,
    counters_are_true,
    end,
    history_is_gapless,
    one,
    put,
    run,
    somebody_waits,
    take,
    task,
)

WAITS = "UPDATE crewtop.tasks SET status = 'waiting', waiting_for = 1, dependencies = 1 WHERE id = $1"


async def failed(database: Database, n: int = 1, **fields: object) -> list[int]:
    """Tasks that have failed, at version 3."""
    ids = await put(database, *["a"] * n, max_attempts=1, **fields)
    for claim in await take(database, limit=n):
        await end(database, claim, RunOutcome.FAILED, error="no")
    return ids


async def test_retry_runs_a_failed_task_again_with_one_more_attempt(database: Database) -> None:
    """Case X8."""
    [task_id] = await failed(database, priority=1, queue="q", budget_seconds=60.0)
    assert await act(database, Action.RETRY, Target(task_id, 3)) == {task_id: "retried"}
    row = await task(database, task_id)
    assert (row["status"], row["max_attempts"], row["failed_runs"], row["priority"]) == ("pending", 2, 1, 1)
    assert (row["queue"], row["budget_seconds"]) == ("q", 60.0)
    [again] = await take(database)
    assert again.task_id == task_id
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_a_retry_of_what_still_waits_for_others_waits_again(database: Database) -> None:
    [task_id] = await failed(database)
    await one(database, "UPDATE crewtop.tasks SET waiting_for = 1 WHERE id = $1", task_id)
    await act(database, Action.RETRY, Target(task_id, 3))
    assert (await task(database, task_id))["status"] == "waiting"


async def test_what_waits_for_others_is_not_run_from_scratch_without_them(database: Database) -> None:
    [task_id] = await failed(database)
    await one(database, "UPDATE crewtop.tasks SET waiting_for = 1 WHERE id = $1", task_id)
    said = await act(database, Action.RERUN, Target(task_id, 3))
    assert said == {task_id: "not rerun: it waits for other tasks: retry it instead"}


async def test_rerun_is_a_new_task_linked_to_the_old_one(database: Database) -> None:
    """Case X8."""
    [task_id] = await failed(database, priority=1, queue="q", budget_seconds=60.0)
    said = await act(database, Action.RERUN, Target(task_id, 3))
    assert said == {task_id: f"rerun as task {task_id + 1}"}
    fresh, old = await task(database, task_id + 1), await task(database, task_id)
    assert (fresh["rerun_of"], fresh["status"], fresh["failed_runs"], fresh["error"]) == (task_id, "pending", 0, None)
    for same in ("crew", "queue", "priority", "inputs", "budget_seconds", "max_attempts"):
        assert fresh[same] == old[same]
    assert (old["status"], old["version"]) == ("failed", 3)
    await counters_are_true(database)


async def test_success_wins_once_it_is_committed(database: Database) -> None:
    """Case C27."""
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    for action in set(Action) - {Action.UNDO}:
        [why] = (await act(database, action, Target(task_id, 2), argument=1)).values()
        assert re.fullmatch(r"not \w+: completed [\d.]+m?s ago(, since you looked)?", why)
    assert (await task(database, task_id))["status"] == "completed"


async def test_success_in_an_open_transaction_wins_too(database: Database) -> None:
    """Case C27: the operator's action waits for it, and then says what has become of the task."""
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    async with database.connection() as worker:
        async with worker.transaction():
            await worker.execute("SELECT FROM crewtop.tasks WHERE id = $1 FOR NO KEY UPDATE", task_id)
            action = asyncio.create_task(act(database, Action.REQUEUE, Target(task_id, 2)))
            await somebody_waits(database)
            await worker.execute(
                """WITH t AS (UPDATE crewtop.tasks SET status = 'completed', version = 3, lease_expires_at = NULL,
                                     finished_at = clock_timestamp() WHERE id = $1)
                   INSERT INTO crewtop.transitions (task_id, version, at, old_status, new_status, run_id, actor)
                   VALUES ($1, 3, clock_timestamp(), 'running', 'completed', $2, 'worker:w1')""",
                task_id, claim.run_id,
            )  # fmt: skip
        [why] = (await action).values()
    assert re.fullmatch(r"not requeued: completed [\d.]+m?s ago", why)


async def test_of_opposite_actions_the_first_wins(database: Database) -> None:
    """Case C27."""
    [task_id] = await put(database, "a")
    said = await asyncio.gather(
        act(database, Action.FAIL, Target(task_id, 1)), act(database, Action.CANCEL, Target(task_id, 1))
    )
    assert sorted(one_said[task_id].split()[0] for one_said in said) == sorted(
        ["not", "failed"] if (await task(database, task_id))["status"] == "failed" else ["not", "cancelled"]
    )
    await history_is_gapless(database)


async def test_a_task_that_moved_since_it_was_seen_is_left_alone(database: Database) -> None:
    """Failed, retried by somebody else, failed again: the operator saw the first failure."""
    [task_id] = await failed(database)
    await act(database, Action.RETRY, Target(task_id, 3))
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="no")
    [why] = (await act(database, Action.RETRY, Target(task_id, 3))).values()
    assert re.fullmatch(r"not retried: failed [\d.]+m?s ago, since you looked", why)


async def test_failing_a_running_task_fences_its_worker_off(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    operation = await operations.begin(
        database, Order(Action.FAIL, reason="runs away"), [Target(task_id, 2)], "ann@host"
    )
    worked = await batch.work(database, operation.id)
    assert worked.kills == (("w1", claim.run_id),)
    late = await end(database, claim, RunOutcome.COMPLETED, result='"too late"')
    assert not late.accepted
    row = await task(database, task_id)
    assert (row["status"], row["error"], row["operator_runs"]) == ("failed", "failed by ann@host: runs away", 1)
    kept = await run(database, claim.run_id)
    assert (kept["outcome"], kept["late"], kept["result"]) == ("superseded", True, '"too late"')


async def test_requeue_gives_a_running_task_to_another_worker(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await act(database, Action.REQUEUE, Target(task_id, 2))
    [again] = await take(database, "w2")
    assert (again.task_id, (await task(database, task_id))["failed_runs"]) == (task_id, 0)
    assert again.run_id != claim.run_id
    assert (await task(database, task_id))["operator_runs"] == 1


async def test_a_run_that_is_taken_away_gives_its_slot_back(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await one(database, "INSERT INTO crewtop.limits (scope, name, max_running) VALUES ('crew', 'a', 1)")
    await one(database, "INSERT INTO crewtop.slots VALUES ('crew', 'a', 1, $1)", claim.run_id)
    await act(database, Action.REQUEUE, Target(task_id, 2))
    assert await one(database, "SELECT count(*) FROM crewtop.slots WHERE run_id IS NULL") == 1


async def test_cancel_is_at_once_before_the_start_and_asked_for_during_a_run(database: Database) -> None:
    first, second = await put(database, *"aa")
    await take(database)
    said = await act(database, Action.CANCEL, Target(first, 2), Target(second, 1))
    assert said == {first: "cancelling: its process is being killed", second: "cancelled"}
    assert (await task(database, first))["status"] == "running"
    assert await act(database, Action.CANCEL, Target(first, 3)) == {first: "not cancelled: already cancelling"}
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_cancel_takes_along_what_was_fanned_out_and_has_not_started(database: Database) -> None:
    parent, running, child, grandchild, stranger = await put(database, *"aabbb")
    await take(database, limit=2)
    for child_id, parent_id in ((running, parent), (child, parent), (grandchild, running)):
        await one(database, "UPDATE crewtop.tasks SET parent_id = $2 WHERE id = $1", child_id, parent_id)
    said = await act(database, Action.CANCEL, Target(parent, 2))
    assert said == {
        parent: "cancelling: its process is being killed", child: "cancelled", grandchild: "cancelled",
    }  # fmt: skip
    assert (await task(database, running))["status"] == "running"
    assert (await task(database, stranger))["status"] == "pending"


async def test_cancelling_what_has_ended_takes_nothing_along(database: Database) -> None:
    [parent] = await failed(database)
    [child] = await put(database, "b")
    await one(database, "UPDATE crewtop.tasks SET parent_id = $2 WHERE id = $1", child, parent)
    assert list(await act(database, Action.CANCEL, Target(parent, 3))) == [parent]
    assert (await task(database, child))["status"] == "pending"


async def test_delete_leaves_nothing_of_a_task_and_nothing_of_another_is_touched(database: Database) -> None:
    gone, kept = await failed(database, 2)
    assert await act(database, Action.DELETE, Target(gone, 3)) == {gone: "deleted"}
    for table in ("runs", "task_history"):
        assert await one(database, f"SELECT array_agg(DISTINCT task_id) FROM crewtop.{table}") == [kept]
    assert await one(database, "SELECT array_agg(id) FROM crewtop.tasks") == [kept]
    await counters_are_true(database)


async def test_a_running_task_cannot_be_deleted_and_a_needed_result_stays(database: Database) -> None:
    first, second = await put(database, *"aa")
    [claim, _] = await take(database, limit=2)
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    [dependent] = await put(database, "b")
    await one(database, "INSERT INTO crewtop.task_dependencies VALUES ($1, $2, 'x', true)", first, dependent)
    said = await act(database, Action.DELETE, Target(first, 3), Target(second, 2))
    assert said[first] == f"not deleted: task {dependent} needs its result"
    assert said[second].startswith("not deleted: running")
    assert await operations.delete_tasks(database, [first, second, 999]) == 0


async def test_moving_and_raising_change_what_they_name_and_nothing_else(database: Database) -> None:
    [task_id] = await put(database, "a", queue="slow", priority=4)
    await act(database, Action.MOVE, Target(task_id, 1), argument="fast")
    await act(database, Action.PRIORITY, Target(task_id, 2), argument=0)
    row = await task(database, task_id)
    assert (row["queue"], row["priority"], row["status"], row["version"]) == ("fast", 0, "pending", 3)
    reasons = "SELECT array_agg(reason ORDER BY version) FROM crewtop.transitions"
    assert await one(database, reasons) == ["move from slow to fast", "priority from 4 to 0"]
    [claim] = await take(database)
    assert (await task(database, claim.task_id))["queue"] == "fast"
    await counters_are_true(database)


async def test_edited_inputs_are_run_from_the_first_step(database: Database) -> None:
    """Case X8."""
    [task_id] = await failed(database)
    last_run = (await task(database, task_id))["run_id"]
    await act(database, Action.EDIT, Target(task_id, 3), argument='{"order": "A-2", "note": null}')
    row = await task(database, task_id)
    assert (row["inputs"], row["steps_since"], row["status"]) == (
        '{"order": "A-2", "note": null}',
        last_run,
        "failed",
    )


async def test_a_bulk_action_answers_for_each_task_and_keeps_the_audit(database: Database) -> None:
    ids = await put(database, *["a"] * 5)
    said = await act(database, Action.CANCEL, *(Target(i, 1) for i in ids), Target(999, 1), reason="wrong batch")
    assert list(said.values()) == ["cancelled"] * 5 + ["not cancelled: there is no such task"]
    assert await one(database, "SELECT actor || ': ' || reason FROM crewtop.operations") == "op: wrong batch"
    assert await one(database, "SELECT role = session_user FROM crewtop.operations")
    [operation] = await operations.newest(database, 9)
    assert (operation.state, operation.total, operation.done, operation.refused) == ("done", 6, 5, 1)
    assert await operations.refusals(database, operation.id) == {"there is no such task": 1}
    reason = await one(database, "SELECT reason FROM crewtop.task_history WHERE task_id = $1 AND version = 2", ids[0])
    assert reason == "cancel: wrong batch"


async def test_an_action_on_nothing_is_harmless(database: Database) -> None:
    assert await act(database, Action.RETRY) == {}


@pytest.mark.parametrize("scope", ["live", "completed", "always"])
async def test_a_task_whose_key_is_held_stays_as_it_is(database: Database, scope: str) -> None:
    """Case C08."""
    [old] = await failed(database)
    [live] = await put(database, "a")
    await one(database, "UPDATE crewtop.tasks SET key = 'acct-42', key_scope = 'live' WHERE id = $1", old)
    await one(database, "UPDATE crewtop.tasks SET key = 'acct-42', key_scope = $2 WHERE id = $1", live, scope)
    for action in (Action.RETRY, Action.RERUN):
        [why] = (await act(database, action, Target(old, 3))).values()
        assert why.endswith(f": key acct-42 is held by task {live}")
    assert (await task(database, old))["version"] == 3


async def test_of_two_with_one_key_the_first_is_retried(database: Database) -> None:
    first, second = await failed(database, 2)
    await one(database, "UPDATE crewtop.tasks SET key = 'k', key_scope = 'live'")
    said = await act(database, Action.RETRY, Target(first, 3), Target(second, 3))
    assert said == {first: "retried", second: f"not retried: key k is held by task {first}"}


async def test_keys_that_collide_stop_nothing_else(database: Database) -> None:
    """Case C08."""
    ids = await failed(database, 50)
    await one(database, "UPDATE crewtop.tasks SET key = 'k' || id, key_scope = 'live'")
    twins = await put(database, *["a"] * 5)
    for old, twin in zip(ids, twins, strict=False):
        await one(
            database, "UPDATE crewtop.tasks SET key = 'k' || $2::text, key_scope = 'live' WHERE id = $1", twin, str(old)
        )
    await act(database, Action.RETRY, *(Target(i, 3) for i in ids))
    [operation] = await operations.newest(database, 1)
    assert (operation.done, operation.refused) == (45, 5)
    assert await operations.refusals(database, operation.id) == {"key already held": 5}


async def test_a_key_that_is_taken_at_this_moment_stops_nothing_else(database: Database) -> None:
    """A producer's transaction with the key is open while the batch is judged, and commits before it is done."""
    first, second = await failed(database, 2)
    await one(database, "UPDATE crewtop.tasks SET key = 'k' || id, key_scope = 'live'")
    async with database.connection() as producer:
        async with producer.transaction():
            twin = await producer.fetchval(
                """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, key, key_scope)
                   VALUES ('default', 'a', 3, 'pending', '{}', 'k' || $1::text, 'live') RETURNING id""",
                str(first),
            )
            action = asyncio.create_task(act(database, Action.RETRY, Target(first, 3), Target(second, 3)))
            await somebody_waits(database)
        said = await action
    assert said == {first: f"not retried: key k{first} is held by task {twin}", second: "retried"}
    await history_is_gapless(database)


async def test_what_waits_for_a_failed_task_hears_of_it(database: Database) -> None:
    first, second = await put(database, *"ab")
    await one(database, "INSERT INTO crewtop.task_dependencies VALUES ($1, $2, 'x')", first, second)
    await one(database, WAITS, second)
    await act(database, Action.FAIL, Target(first, 1))
    assert (await task(database, second))["status"] == "failed"
    await history_is_gapless(database)


async def test_a_retry_at_a_rate_drips(database: Database) -> None:
    """Case C20: a thousand tasks that failed together must not come back together."""
    ids = await put(database, *["a"] * 5)
    for claim in await take(database, limit=5):
        await end(database, claim, RunOutcome.FAILED, error="x", terminal=True)
    await act(database, Action.RETRY, *(Target(task_id, 3) for task_id in ids), argument=30)
    waits = await one(
        database,
        """SELECT array_agg(round(extract(epoch FROM t.run_at - o.at)) ORDER BY t.id)
           FROM crewtop.tasks AS t CROSS JOIN crewtop.operations AS o""",
    )
    assert [float(seconds) for seconds in waits] == [0, 2, 4, 6, 8]
