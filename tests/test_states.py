"""What producers see of tasks that workers, operators and upkeep change on real stores, with a Redis that forgets."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import pytest
from redis.asyncio import Redis

import crewtop
from crewtop import operations
from crewtop.live.fast_lane import FastLane
from crewtop.model.operations import Action, Order, Target
from crewtop.model.task import RunOutcome, TaskStatus
from crewtop.queue import Queue
from crewtop.store import operations as store
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from crewtop.worker.telling import Telling
from crewtop.worker.upkeep import Pruner
from tests.store.helpers import end, one, report_of, take


def queue_on(database: Database, live: FastLane) -> Queue:
    return Queue(Stores(database, live, Addresses("", None, "", embedded=False)), 1_000)


class Shop:
    """A worker and an operator, who tell what they changed, over a handful of tasks."""

    def __init__(self, database: Database, live: FastLane, chance: random.Random) -> None:
        self.database, self.live, self.chance = database, live, chance
        self.telling = Telling(live, "w1")

    async def work(self) -> None:
        claims = await take(self.database, limit=2)
        self.telling.claimed(claims)
        await self.telling.flush()
        for claim in claims:
            outcome = self.chance.choice([RunOutcome.COMPLETED, RunOutcome.FAILED, RunOutcome.RETURNED])
            ended = await end(self.database, claim, outcome, terminal=outcome is RunOutcome.FAILED, result="1")
            self.telling.ended([ended], {claim.run_id: (report_of(claim, outcome), False)})
            await self.telling.flush()

    async def operate(self) -> None:
        task_id = self.chance.randint(1, 5)
        version = await one(self.database, "SELECT version FROM crewtop.tasks WHERE id = $1", task_id)
        action = self.chance.choice([Action.RETRY, Action.CANCEL, Action.REQUEUE, Action.FAIL])
        result = await operations.act(self.database, self.live, Order(action), [Target(task_id, version)])
        if result.done and self.chance.random() < 0.3:
            async for _ in operations.undo(self.database, self.live, result.operation.id, None, timedelta(minutes=5)):
                pass


@pytest.mark.parametrize("seed", range(3))
async def test_pollers_see_each_task_go_forward_only_while_redis_is_flushed(
    database: Database, live: FastLane, redis_url: str, seed: int
) -> None:
    """Each answer is what the task was at some moment between question and answer, by its own history."""
    chance = random.Random(seed)
    shop = Shop(database, live, chance)
    ids = list(await queue_on(database, live).enqueue_many([crewtop.Task("a")] * 5))
    done = asyncio.Event()
    seen: dict[tuple[int, int], list[TaskStatus]] = {}

    async def poll(reader: int, queue: Queue) -> None:
        while not done.is_set():
            for task_id in ids:
                at = seen.setdefault((reader, task_id), [])
                status = await queue.status(task_id)
                if not at or at[-1] is not status:
                    at.append(status)
            await asyncio.sleep(0)

    pollers = [asyncio.create_task(poll(reader, queue_on(database, live))) for reader in range(2)]
    async with Redis.from_url(redis_url) as redis:
        for _ in range(30):
            await chance.choice([shop.work, shop.operate, shop.operate])()
            if chance.random() < 0.3:
                await redis.flushdb()
    done.set()
    await asyncio.gather(*pollers)
    for (_, task_id), statuses in seen.items():
        rows = await database_history(database, task_id)
        places = iter(rows)
        assert all(status in places for status in statuses), (statuses, rows)
    for task_id in ids:
        truth = await one(database, "SELECT status FROM crewtop.tasks WHERE id = $1", task_id)
        assert await queue_on(database, live).status(task_id) == truth


async def database_history(database: Database, task_id: int) -> list[str]:
    """Every status that a task had, in order."""
    rows: list[str] = await one(
        database, "SELECT array_agg(new_status ORDER BY version) FROM crewtop.task_history WHERE task_id = $1", task_id
    )
    return rows


async def test_a_retried_task_is_not_what_it_was(database: Database, live: FastLane) -> None:
    """Nor after an undo: what the operator did comes from Postgres, with all that depends on it."""
    queue = queue_on(database, live)
    task_id = await queue.enqueue("a", max_attempts=1)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED)
    assert await queue.status(task_id) is TaskStatus.FAILED
    result = await operations.act(database, live, Order(Action.RETRY), [Target(task_id, 3)])
    assert await queue.status(task_id) is TaskStatus.PENDING
    undoing = await store.begin_undo(database, result.operation.id, "op", None, timedelta(minutes=5))
    async for _ in operations.work_off(database, live, undoing.id):
        pass
    assert await queue.status(task_id) is TaskStatus.FAILED


async def test_a_pruned_and_a_deleted_task_are_gone_at_once(database: Database, live: FastLane) -> None:
    queue = queue_on(database, live)
    pruned, deleted = await queue.enqueue_many([crewtop.Task("a"), crewtop.Task("a")])
    for claim in await take(database, limit=2):
        await end(database, claim, RunOutcome.COMPLETED, result="1")
    assert [await queue.result(task_id) for task_id in (pruned, deleted)] == [1, 1]
    await operations.act(database, live, Order(Action.DELETE), [Target(deleted, 3)])
    await one(database, "UPDATE crewtop.tasks SET finished_at = now() - interval '2 days'")
    await Pruner(database, live, {"completed": 86_400.0}).prune()
    for task_id in (pruned, deleted):
        with pytest.raises(crewtop.Refused, match=f"there is no task {task_id}"):
            await queue.status(task_id)


async def test_a_result_that_is_waited_for_comes_when_it_is_told(database: Database, live: FastLane) -> None:
    queue, telling = queue_on(database, live), Telling(live, "w1")
    task_id = await queue.enqueue("a")
    waiting = asyncio.create_task(queue.result(task_id, timeout=30))
    claims = await take(database)
    telling.claimed(claims)
    ended = await end(database, claims[0], RunOutcome.COMPLETED, result='{"n": 1}')
    telling.ended([ended], {claims[0].run_id: (report_of(claims[0], RunOutcome.COMPLETED), False)})
    await telling.flush()
    assert await waiting == {"n": 1}


async def test_each_database_has_a_name_of_its_own(database: Database, dsn: str) -> None:
    async with Database(dsn, application_name="test", connections=1) as other:
        assert other.identity is None
        for opened in (database, other):
            await one(opened, "SELECT 1")
        assert database.identity == other.identity
        assert str(database.identity).endswith(
            "." + str(await one(database, "SELECT oid FROM pg_database WHERE datname = current_database()"))
        )
