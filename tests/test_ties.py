"""Tasks that have to do with one another: keys that only one holds, dependencies, fan-out and fan-in."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import crewtop
from crewtop import words
from crewtop.admission import Task
from crewtop.live.fast_lane import FastLane
from crewtop.model.operations import Action, Order, Target
from crewtop.model.task import RunOutcome, TaskStatus
from crewtop.plain.tasks import task_text
from crewtop.queue import Queue
from crewtop.store import batch, console, dependents, operations
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.store.helpers import act, counters_are_true, end, history_is_gapless, one, put, take, task


@pytest.fixture
def queue(database: Database) -> Queue:
    """Without Redis: these tests change tasks behind the backs of those who tell it."""
    return Queue(Stores(database, FastLane(None), Addresses("", None, "", embedded=False)), 1_000)


async def works(database: Database, outcome: RunOutcome = RunOutcome.COMPLETED, **fields: object) -> int:
    """Claim the next task and end it; answers its id."""
    [claim] = await take(database)
    await end(database, claim, outcome, **fields)
    return claim.task_id


async def test_a_second_task_of_a_live_key_is_the_first_one(queue: Queue, database: Database) -> None:
    first = await queue.enqueue("a", key="acct-42")
    again = await queue.enqueue("a", key="acct-42")
    assert (first.new, again.new, again) == (True, False, first)
    await queue.enqueue("b", key="acct-42")  # another crew's keys are others
    await works(database)
    assert (await queue.enqueue("a", key="acct-42")).new
    await counters_are_true(database)


async def test_two_producers_a_moment_apart_make_one_task(queue: Queue) -> None:
    ids = await asyncio.gather(*(queue.enqueue("a", key="once") for _ in range(8)))
    assert len(set(ids)) == 1
    assert [i.new for i in ids].count(True) == 1


@pytest.mark.parametrize(
    ("scope", "outcome", "free"),
    [
        ("live", RunOutcome.COMPLETED, True),
        ("completed", RunOutcome.COMPLETED, False),
        ("completed", RunOutcome.FAILED, True),
        ("always", RunOutcome.FAILED, False),
    ],
)
async def test_a_key_is_held_as_long_as_its_scope_says(
    queue: Queue, database: Database, scope: str, outcome: RunOutcome, free: bool
) -> None:
    await queue.enqueue("a", key="k", key_scope=scope)
    await works(database, outcome, error="x", terminal=True)
    assert (await queue.enqueue("a", key="k", key_scope=scope)).new is free


async def test_a_window_frees_the_key_when_it_is_over(queue: Queue, database: Database) -> None:
    hourly = Task("a", key="report", key_scope="always", key_window=timedelta(hours=1))
    [first] = await queue.enqueue_many([hourly])
    assert await queue.enqueue_many([hourly]) == [first]
    await one(database, "UPDATE crewtop.tasks SET key_window = key_window - interval '1 hour'")
    assert (await queue.enqueue_many([hourly]))[0].new


async def test_a_batch_answers_for_each_task(queue: Queue) -> None:
    held = await queue.enqueue("a", key="k")
    refused = Task("a", {"x": float("nan")})
    answers = await queue.enqueue_each(
        [
            Task("a", key="k"),
            refused,
            Task("b"),
            Task("c", depends_on=[refused]),
            Task("a", key="l"),
            Task("a", key="l"),
        ]
    )
    existing, bad, new, follows, first, twin = answers
    assert (existing, getattr(existing, "new", None)) == (held, False)
    assert isinstance(bad, crewtop.Refused)
    assert isinstance(follows, crewtop.Refused)
    assert "depends on a task that was refused" in str(follows)
    assert not isinstance(new, crewtop.Refused)
    assert new.new
    assert (first == twin, getattr(first, "new", None), getattr(twin, "new", None)) == (True, True, False)


async def test_a_dependent_starts_when_the_last_dependency_has_completed(queue: Queue, database: Database) -> None:
    left, right = Task("a"), Task("a")
    last = Task("a", depends_on={"left": left, "right": right})
    last_id, left_id, right_id = await queue.enqueue_many([last, left, right])
    assert await queue.status(last_id) is TaskStatus.WAITING
    assert left_id < last_id
    first, second = await take(database, limit=5)
    await end(database, first, RunOutcome.COMPLETED, result='"L"')
    assert await queue.status(last_id) is TaskStatus.WAITING
    done = await end(database, second, RunOutcome.COMPLETED, result='"R"')
    assert list(done.freed) == ["default"]
    [claim] = await take(database)
    assert (claim.task_id, claim.dependencies) == (last_id, 2)
    assert right_id in (first.task_id, second.task_id)
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_both_dependencies_ending_in_one_statement_free_the_dependent_once(
    queue: Queue, database: Database
) -> None:
    children = [Task("a") for _ in range(20)]
    fan = await queue.fan_out(children, then=Task("a"))
    claims = await take(database, limit=50)
    assert len(claims) == 20
    await asyncio.gather(*(end(database, claim, RunOutcome.COMPLETED, result="1") for claim in claims))
    assert await queue.status(fan.then) is TaskStatus.PENDING
    row = await task(database, fan.then)
    assert (row["waiting_for"], row["version"]) == (0, 2)
    await counters_are_true(database)
    await history_is_gapless(database)


@pytest.mark.parametrize(
    ("policy", "status"),
    [("fail", TaskStatus.FAILED), ("cancel", TaskStatus.CANCELLED), ("continue", TaskStatus.PENDING)],
)
async def test_a_failed_dependency_means_what_the_policy_says(
    queue: Queue, database: Database, policy: str, status: TaskStatus
) -> None:
    fan = await queue.fan_out([Task("a")], then=Task("a"), on_failure=policy)
    after = await queue.enqueue("a", depends_on=[fan.then], on_failure="fail")
    await works(database, RunOutcome.FAILED, error="x", terminal=True)
    assert await queue.status(fan.then) is status
    assert await queue.status(after) is (TaskStatus.WAITING if policy == "continue" else TaskStatus.FAILED)
    if policy != "continue":
        assert f"task {fan.ids[0]}, on which it depends, failed" in (await task(database, fan.then))["error"]
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_a_dependency_that_has_ended_already_counts(queue: Queue, database: Database) -> None:
    done = await queue.enqueue("a")
    await works(database, result="7")
    after = await queue.enqueue("a", depends_on={"x": done})
    assert await queue.status(after) is TaskStatus.PENDING
    await history_is_gapless(database)


async def test_what_a_dead_worker_left_unsettled_is_settled(queue: Queue, database: Database) -> None:
    fan = await queue.fan_out([Task("a")], then=Task("a"))
    await one(
        database, "UPDATE crewtop.tasks SET status = 'failed', finished_at = now() WHERE id = $1", fan.ids[0]
    )  # by somebody who died before the dependents were told
    await dependents.settle_the_rest(database, "worker:w9")
    assert await queue.status(fan.then) is TaskStatus.FAILED


async def test_circles_strangers_and_unknown_tasks_are_refused(queue: Queue, database: Database) -> None:
    needs: dict[str, Task | int] = {}
    first = Task("a", depends_on=needs)
    needs["b"] = Task("b", depends_on=[first])
    with pytest.raises(crewtop.Refused, match="in a circle: a -> b -> a"):
        await queue.enqueue_many([first, needs["b"]])  # type: ignore[list-item]
    with pytest.raises(crewtop.Refused, match="not in this batch"):
        await queue.enqueue_many([Task("a", depends_on=[Task("b")])])
    with pytest.raises(crewtop.Refused, match="there is no task 99"):
        await queue.enqueue("a", depends_on=[99])
    with pytest.raises(crewtop.Refused, match="on_failure 'explode' is unknown: use one of fail, continue, cancel"):
        await queue.enqueue("a", depends_on=[1], on_failure="explode")
    assert await one(database, "SELECT count(*) FROM crewtop.tasks") == 0


async def test_results_can_be_read_by_name_and_are_capped(queue: Queue, database: Database) -> None:
    fan = await queue.fan_out([Task("a"), Task("a")], then=Task("a"), on_failure="continue")
    await works(database, result='{"n": 1}')
    await works(database, result='"' + "x" * 100 + '"')
    rows = await database.fetch("dependency_results", fan.then, 50)
    assert [(r["name"], r["status"], r["result"], r["size"]) for r in rows] == [
        ("a", "completed", '{"n": 1}', 8),
        ("a-2", "completed", None, 102),
    ]
    await put(database, "a")


async def test_a_retried_dependent_waits_for_what_is_retried_with_it(queue: Queue, database: Database) -> None:
    fan = await queue.fan_out([Task("a"), Task("a")], then=Task("a"))
    for _ in fan.ids:
        await works(database, RunOutcome.FAILED, error="x", terminal=True)
    first, second = fan.ids

    async def retry(*ids: int) -> dict[int, str]:
        targets = [Target(i, (await task(database, i))["version"]) for i in ids]
        return await act(database, Action.RETRY, *targets)

    said = await retry(fan.then)
    assert said[fan.then] == f"not retried: task {first}, on which it depends, has not completed: retry that one too"
    rerun = await act(database, Action.RERUN, Target(fan.then, (await task(database, fan.then))["version"]))
    assert rerun[fan.then].startswith(f"not rerun: task {first}, on which it depends")
    await retry(second)
    await works(database, result="2")
    await retry(first, fan.then)
    assert await queue.status(fan.then) is TaskStatus.WAITING
    await works(database, result="1")
    assert await queue.status(fan.then) is TaskStatus.PENDING
    assert (await task(database, fan.then))["waiting_for"] == 0
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_a_tasks_story_names_what_it_has_to_do_with(queue: Queue, database: Database) -> None:
    fan = await queue.fan_out([Task("a", key="k-1")], then=Task("b"), parent=await queue.enqueue("p"))
    child = await console.read_detail(database, fan.ids[0], 60.0)
    gather = await console.read_detail(database, fan.then, 60.0)
    assert child is not None
    assert gather is not None
    assert words.ties(child.ties) == [
        "key k-1 (live)", f"fanned out from {child.ties.parent_id}", f"needed by {fan.then} waiting",
    ]  # fmt: skip
    assert f"depends on {fan.ids[0]} pending" in words.ties(gather.ties)
    assert f"depends on {fan.ids[0]} pending" in task_text(gather)


async def test_undoing_a_cancel_brings_back_the_waiting_too(queue: Queue, database: Database) -> None:
    fan = await queue.fan_out([Task("a")], then=Task("a"))
    ids = [int(fan.ids[0]), int(fan.then)]
    operation = await operations.begin(database, Order(Action.CANCEL), [Target(i, 1) for i in ids], "op")
    await batch.work(database, operation.id)
    assert await queue.status(fan.then) is TaskStatus.CANCELLED
    undoing = await operations.begin_undo(database, operation.id, "op", None, timedelta(minutes=5))
    await batch.work(database, undoing.id)
    assert await queue.status(fan.ids[0]) is TaskStatus.PENDING
    assert await queue.status(fan.then) is TaskStatus.WAITING
    await works(database, result="1")
    assert await queue.status(fan.then) is TaskStatus.PENDING
    await counters_are_true(database)
    await history_is_gapless(database)


async def test_nothing_more_comes_from_a_cancelled_parent(queue: Queue, database: Database) -> None:
    parent = await queue.enqueue("p")
    await take(database, crews=("p",))
    assert await queue.cancel(parent)
    with pytest.raises(crewtop.Refused, match=f"task {parent} is cancelled: nothing more can come from it"):
        await queue.fan_out([Task("a")], then=Task("a"), parent=parent)
