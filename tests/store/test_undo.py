"""Taking operations back: what is still as the operation left it becomes what it was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from crewtop.model.errors import Refused
from crewtop.model.operations import Action, Operation, Target
from crewtop.model.task import RunOutcome
from crewtop.store import batch, operations
from crewtop.store.database import Database
from tests.store.helpers import act, counters_are_true, end, history_is_gapless, one, put, take, task

TEN_MINUTES = timedelta(minutes=10)


async def undo(database: Database, within: timedelta = TEN_MINUTES) -> tuple[Operation, dict[int, str]]:
    """Take the newest operation back; answers the undoing, and what is said of each task."""
    [newest] = await operations.newest(database, 1)
    undoing = await operations.begin_undo(database, newest.id, "op", None, within)
    while (await batch.work(database, undoing.id)).operation.state == "running":
        pass
    said = {item.task_id: item.why for item in await operations.outcomes(database, undoing.id, 100)}
    return await operations.read(database, undoing.id), said


@pytest.mark.parametrize(
    ("action", "argument"),
    [
        (Action.RETRY, None),
        (Action.MOVE, "other"),
        (Action.PRIORITY, 0),
        (Action.EDIT, '{"x": null}'),
    ],
)
async def test_a_failed_task_becomes_what_it_was(database: Database, action: Action, argument: str | int) -> None:
    [task_id] = await put(database, "a", max_attempts=1)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="no")
    before = await task(database, task_id)
    await act(database, action, Target(task_id, 3), argument=argument)
    _, said = await undo(database)
    assert said == {task_id: "undone: failed again"}
    assert await task(database, task_id) == before | {"version": 5}
    await counters_are_true(database)
    await history_is_gapless(database)


@pytest.mark.parametrize("action", [Action.FAIL, Action.CANCEL])
async def test_a_pending_task_is_pending_again(database: Database, action: Action) -> None:
    [task_id] = await put(database, "a")
    before = await task(database, task_id)
    await act(database, action, Target(task_id, 1))
    assert (await undo(database))[1] == {task_id: "undone: pending again"}
    assert await task(database, task_id) == before | {"version": 3}


async def test_what_ran_is_put_into_its_queue_and_that_is_said(database: Database) -> None:
    [task_id] = await put(database, "a")
    await take(database)
    await act(database, Action.FAIL, Target(task_id, 2))
    assert (await undo(database))[1] == {task_id: "undone: pending again, since its process was killed"}
    assert [claim.task_id for claim in await take(database)] == [task_id]
    await history_is_gapless(database)


async def test_a_wish_to_cancel_is_withdrawn_while_the_task_still_runs(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await act(database, Action.CANCEL, Target(task_id, 2))
    assert (await undo(database))[1] == {task_id: "undone: not to be cancelled any more"}
    assert (await end(database, claim, RunOutcome.COMPLETED, result="1")).status == "completed"
    await history_is_gapless(database)


async def test_what_has_moved_on_is_left_alone(database: Database) -> None:
    first, second = await put(database, *"aa", max_attempts=1)
    for claim in await take(database, limit=2):
        await end(database, claim, RunOutcome.FAILED, error="no")
    await act(database, Action.RETRY, Target(first, 3), Target(second, 3))
    await take(database)
    undoing, said = await undo(database)
    assert (undoing.done, undoing.refused) == (1, 1)
    assert said[first].startswith("not undone: changed since, running ")
    assert said[second] == "undone: failed again"


async def test_a_rerun_that_has_not_started_is_deleted(database: Database) -> None:
    [task_id] = await put(database, "a", max_attempts=1)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="no")
    await act(database, Action.RERUN, Target(task_id, 3))
    assert (await undo(database))[1] == {task_id + 1: "undone"}
    assert await one(database, "SELECT array_agg(id) FROM crewtop.tasks") == [task_id]
    await act(database, Action.RERUN, Target(task_id, 3))
    await take(database)
    assert (await undo(database))[1][task_id + 2].startswith("not undone: changed since, running ")


async def test_a_key_that_another_task_took_since_is_left_to_it(database: Database) -> None:
    [task_id] = await put(database, "a")
    await one(database, "UPDATE crewtop.tasks SET key = 'k', key_scope = 'live'")
    await act(database, Action.CANCEL, Target(task_id, 1))
    [twin] = await put(database, "a")
    await one(database, "UPDATE crewtop.tasks SET key = 'k', key_scope = 'live' WHERE id = $1", twin)
    assert (await undo(database))[1] == {task_id: f"not undone: key k is held by task {twin}"}


async def test_some_operations_cannot_be_taken_back(database: Database) -> None:
    [task_id] = await put(database, "a")
    await act(database, Action.MOVE, Target(task_id, 1), argument="other")
    with pytest.raises(Refused, match=r"operation 1 is older than 0 min \(screen.undo_minutes\)"):
        await undo(database, timedelta(0))
    await undo(database)
    with pytest.raises(Refused, match="operation 2 was to undo: that cannot be undone"):
        await undo(database)
    await act(database, Action.DELETE, Target(task_id, 3))
    with pytest.raises(Refused, match="was to delete: that cannot be undone"):
        await undo(database)
    with pytest.raises(Refused, match="there is no operation 99"):
        await operations.begin_undo(database, 99, "op", None, TEN_MINUTES)
