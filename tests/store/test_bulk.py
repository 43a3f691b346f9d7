"""Operations over a filter: fixed when they are asked for, worked off by anybody, paused, resumed, cancelled."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import Refused
from crewtop.model.filters import TaskFilter, parse
from crewtop.model.operations import Action, Matching, Operation, Order, Target
from crewtop.model.task import RunOutcome
from crewtop.operations import carry_on
from crewtop.store import batch, operations, tasklist
from crewtop.store.database import Database
from tests.store.helpers import act, counters_are_true, end, history_is_gapless, one, put, take, task

FAILED = parse("status:failed")


async def failed(database: Database, n: int, crew: str = "a") -> list[int]:
    ids = await put(database, *[crew] * n, max_attempts=1)
    for claim in await take(database, limit=n, crews=(crew,)):
        await end(database, claim, RunOutcome.FAILED, error="no")
    return ids


async def retry_all(database: Database, matching: Matching) -> Operation:
    return await operations.begin_matching(database, Order(Action.RETRY), matching, "op")


async def test_all_is_what_was_there_when_the_operator_looked(database: Database) -> None:
    """Case C28: what fails between the look and the action is excluded, and told."""
    seen = await failed(database, 3)
    others = await failed(database, 2, crew="b")
    page = await tasklist.list_tasks(database, parse("crew:a status:failed"), "newest", 100, 60)
    await failed(database, 4)
    matching = Matching(parse("crew:a status:failed"), page.at)
    scope = await operations.price(database, Action.RETRY, matching)
    assert (scope.count, scope.statuses, scope.newcomers, scope.others) == (3, {"failed": 3}, 4, len(others))
    assert scope.sample == tuple(reversed(seen))
    operation = await retry_all(database, matching)
    assert (operation.total, operation.scope) == (3, "status:failed crew:a")
    worked = await batch.work(database, operation.id)
    assert (worked.operation.done, worked.operation.state) == (3, "done")
    assert len(page.rows) == scope.count == worked.operation.done


async def test_the_price_is_of_an_attempt_and_says_what_is_unknown(database: Database) -> None:
    ids = await failed(database, 2)
    await one(
        database,
        "UPDATE crewtop.tasks SET cost = 3, calls = 2, unpriced_calls = 1, failed_runs = 2 WHERE id = $1",
        ids[0],
    )
    scope = await operations.price(database, Action.RETRY, Matching(FAILED))
    assert (scope.cost.known, scope.cost.unknown, scope.cost.calls) == (Decimal("1.5"), 1, 2)
    [first, _] = await operations.targets(database, ids)
    assert first.cost.known == Decimal("1.5")


async def test_undoing_is_never_ordered_over_tasks(database: Database) -> None:
    ids = await failed(database, 1)
    order, matching = Order(Action.UNDO), Matching(FAILED)
    with pytest.raises(Refused, match="for an operation"):
        await operations.price(database, Action.UNDO, matching)
    with pytest.raises(Refused, match="for an operation"):
        await operations.begin_matching(database, order, matching, "op")
    with pytest.raises(Refused, match="for an operation"):
        await operations.begin(database, order, [Target(ids[0], 1)], "op")
    assert await operations.newest(database, 10) == []


async def test_a_filter_that_matches_nothing_does_nothing(database: Database) -> None:
    operation = await retry_all(database, Matching(parse("crew:nobody")))
    assert (operation.total, operation.state) == (0, "done")
    assert (await batch.work(database, operation.id)).operation.state == "done"


async def test_what_changes_after_the_freezing_is_refused(database: Database) -> None:
    ids = await failed(database, 3)
    operation = await retry_all(database, Matching(FAILED))
    await act(database, Action.RETRY, *(s.target for s in await operations.targets(database, ids[:1])))
    worked = await batch.work(database, operation.id)
    assert (worked.operation.done, worked.operation.refused) == (2, 1)
    assert await operations.refusals(database, operation.id) == {"queued": 1}


async def test_an_operation_goes_batch_by_batch_and_can_be_halted_in_between(database: Database) -> None:
    await failed(database, 5)
    operation = await retry_all(database, Matching(FAILED))
    first = await batch.work(database, operation.id, limit=2)
    assert (first.operation.done, first.operation.left, first.operation.state) == (2, 3, "running")
    await operations.halt(database, operation.id, "paused", ["running"])
    assert (await batch.work(database, operation.id, limit=2)).operation.done == 2
    await operations.halt(database, operation.id, "running", ["paused"])
    assert (await batch.work(database, operation.id, limit=2)).operation.done == 4
    await operations.halt(database, operation.id, "cancelled", ["running", "paused"])
    last = (await batch.work(database, operation.id)).operation
    assert (last.done, last.left, last.state) == (4, 1, "cancelled")
    with pytest.raises(Refused, match="operation 1 is cancelled: it stays so"):
        await operations.halt(database, operation.id, "running", ["paused"])
    [*_, untouched] = await operations.outcomes(database, operation.id, 10)
    assert (untouched.done, untouched.why) == (None, "its turn has not come")
    await history_is_gapless(database)


async def test_what_a_dead_process_left_is_worked_off_by_a_worker(database: Database) -> None:
    ids = await failed(database, 3)
    operation = await retry_all(database, Matching(FAILED))
    await batch.work(database, operation.id, limit=1)
    await carry_on(database, FastLane(None))
    assert (await operations.read(database, operation.id)).done == 1
    await one(database, "UPDATE crewtop.operations SET worked_at = now() - interval '31 s'")
    await carry_on(database, FastLane(None))
    assert (await operations.read(database, operation.id)).state == "done"
    assert (await task(database, ids[2]))["status"] == "pending"


async def test_two_processes_may_work_off_one_operation(database: Database) -> None:
    await failed(database, 20)
    operation = await retry_all(database, Matching(FAILED))

    async def work_off() -> None:
        while (await batch.work(database, operation.id, limit=3)).operation.state == "running":
            pass

    await asyncio.gather(work_off(), work_off(), work_off())
    assert (await operations.read(database, operation.id)).done == 20
    await history_is_gapless(database)
    await counters_are_true(database)


async def test_cancelling_all_takes_their_children_along(database: Database) -> None:
    parent, child = await put(database, *"ab")
    await one(database, "UPDATE crewtop.tasks SET parent_id = $2 WHERE id = $1", child, parent)
    operation = await operations.begin_matching(
        database, Order(Action.CANCEL), Matching(TaskFilter(crews=("a",))), "op"
    )
    assert operation.total == 2
    assert (await batch.work(database, operation.id)).operation.done == 2
