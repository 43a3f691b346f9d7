"""Operator actions: they mean what was seen, they are recorded, and what they refuse is said in words."""

from __future__ import annotations

import re

from crewtop.model.operations import Action, Target
from crewtop.model.task import RunOutcome
from crewtop.store import console
from crewtop.store.database import Database
from tests.store.helpers import counters_are_true, end, history_is_gapless, one, put, run, take, task


async def act(database: Database, action: Action, *targets: Target, reason: str | None = None) -> dict[int, str]:
    result, _ = await console.operate(database, action, list(targets), "ann@host", reason)
    return {item.task_id: item.why for item in result.items}


async def test_retry_runs_a_failed_task_again_with_one_more_attempt(database: Database) -> None:
    [task_id] = await put(database, "a", max_attempts=1, priority=1)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="no")
    assert await act(database, Action.RETRY, Target(task_id, 3)) == {task_id: "retried"}
    row = await task(database, task_id)
    assert (row["status"], row["max_attempts"], row["failed_runs"], row["priority"]) == ("pending", 2, 1, 1)
    [again] = await take(database)
    assert again.task_id == task_id
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_success_wins_once_it_is_committed(database: Database) -> None:
    """Case C27."""
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    for action in Action:
        [why] = (await act(database, action, Target(task_id, 2))).values()
        assert re.fullmatch(r"not (retried|failed|requeued|cancelled): completed \d+\.\d s ago", why)
    assert (await task(database, task_id))["status"] == "completed"


async def test_a_task_that_moved_since_it_was_seen_is_left_alone(database: Database) -> None:
    """Failed, retried by somebody else, failed again: the operator saw the first failure."""
    [task_id] = await put(database, "a", max_attempts=1)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="no")
    await act(database, Action.RETRY, Target(task_id, 3))
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="no")
    [why] = (await act(database, Action.RETRY, Target(task_id, 3))).values()
    assert re.fullmatch(r"not retried: failed \d+\.\d s ago, since you looked", why)


async def test_failing_a_running_task_fences_its_worker_off(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    result, _ = await console.operate(database, Action.FAIL, [Target(task_id, 2)], "ann@host", "runs away")
    assert (result.items[0].run_id, result.items[0].worker_id) == (claim.run_id, "w1")
    late = await end(database, claim, RunOutcome.COMPLETED, result='"too late"')
    assert not late.accepted
    row = await task(database, task_id)
    assert (row["status"], row["error"]) == ("failed", "failed by ann@host: runs away")
    kept = await run(database, claim.run_id)
    assert (kept["outcome"], kept["late"], kept["result"]) == ("superseded", True, '"too late"')


async def test_requeue_gives_a_running_task_to_another_worker(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await act(database, Action.REQUEUE, Target(task_id, 2))
    [again] = await take(database, "w2")
    assert (again.task_id, again.failures) == (task_id, 0)
    assert again.run_id != claim.run_id


async def test_cancel_is_at_once_before_the_start_and_asked_for_during_a_run(database: Database) -> None:
    first, second = await put(database, *"aa")
    await take(database)
    said = await act(database, Action.CANCEL, Target(first, 2), Target(second, 1))
    assert said == {first: "cancelling: its process is being killed", second: "cancelled"}
    assert (await task(database, first))["status"] == "running"
    assert await act(database, Action.CANCEL, Target(first, 3)) == {first: "not cancelled: already cancelling"}
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_a_bulk_action_answers_for_each_task_and_keeps_the_audit(database: Database) -> None:
    ids = await put(database, *["a"] * 5)
    said = await act(database, Action.CANCEL, *(Target(i, 1) for i in ids), Target(999, 1), reason="wrong batch")
    assert list(said.values()) == ["cancelled"] * 5 + ["not cancelled: there is no such task"]
    assert await one(database, "SELECT actor || ': ' || reason FROM crewtop.operations") == "ann@host: wrong batch"
    assert await one(database, "SELECT count(*) FROM crewtop.operation_items WHERE done") == 5
    assert await one(database, "SELECT count(*) FROM crewtop.operation_items WHERE NOT done") == 1
    reason = await one(database, "SELECT reason FROM crewtop.task_history WHERE task_id = $1 AND version = 2", ids[0])
    assert reason == "cancel: wrong batch"


async def test_an_action_on_nothing_is_harmless(database: Database) -> None:
    result, queues = await console.operate(database, Action.RETRY, [], "ann", None)
    assert (result.items, queues) == ((), frozenset())
