"""What whoever watches is told: by whom what was changed, in order, whatever Redis goes through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from redis.asyncio import Redis

from crewtop import operations
from crewtop.admission import Task
from crewtop.live import keys
from crewtop.live.fast_lane import FastLane
from crewtop.model.live import UNKNOWN, Change, Happening, Happenings, LogLine, Transition
from crewtop.model.money import Money
from crewtop.model.operations import Action, Order
from crewtop.model.snapshot import RunningRow
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Claim, Finish, Finished, RunOutcome
from crewtop.monitor.events import FOLLOWED_RUNS, MOST, NEWEST, follow
from crewtop.queue import Queue
from crewtop.store import operations as operations_store
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from crewtop.worker.recorder import Recorder
from crewtop.worker.telling import Telling
from tests.live.gate import Gate
from tests.store.helpers import one, take

CHANGE = Change(1, "q", "a", None, "pending", "producer")


class Worker:
    """The parts of a worker that change tasks, driven by hand."""

    def __init__(self, database: Database, live: FastLane) -> None:
        self.database = database
        self.telling = Telling(live, "w1")
        self.recorder = Recorder(database, "w1", SERVICE_LEVELS_SECONDS, self._recorded, self.telling)

    async def take(self, limit: int = 1) -> list[Claim]:
        claims = await take(self.database, limit=limit)
        self.telling.claimed(claims)
        return claims

    async def end(self, claim: Claim, outcome: RunOutcome, **fields: object) -> None:
        self.recorder.finish([(Finish(claim.run_id, claim.task_id, outcome, 1.0)._replace(**fields), False)])
        assert await self.recorder.flush()

    async def _recorded(self, ended: list[Finished]) -> None:
        pass


def queue_on(database: Database, live: FastLane) -> Queue:
    return Queue(Stores(database, live, Addresses("", None, "", embedded=False)), 1_000)


@pytest.fixture
def queue(database: Database, live: FastLane) -> Queue:
    return queue_on(database, live)


@pytest.fixture
def worker(database: Database, live: FastLane) -> Worker:
    return Worker(database, live)


def nothing_runs() -> Sequence[RunningRow]:
    return ()


def running(run_id: int, age: float = 3_600.0) -> RunningRow:
    return RunningRow(
        run_id + 100,
        run_id,
        "q",
        "a",
        3,
        "w1",
        age,
        0.0,
        None,
        None,
        None,
        None,
        0,
        Money(Decimal(0), 0, 0),
        None,
        False,
    )


@asynccontextmanager
async def watching(
    live: FastLane, *, logs: bool = False, rows: Sequence[RunningRow] = ()
) -> AsyncIterator[AsyncIterator[Happenings]]:
    """Somebody who watches, and has had the first answer."""
    stream = follow(live, logs, lambda: rows)
    await anext(stream)
    yield stream
    await stream.aclose()  # type: ignore[attr-defined]


async def hear(stream: AsyncIterator[Happenings], count: int) -> list[Happening]:
    """The next so many happenings."""
    heard: list[Happening] = []
    async with asyncio.timeout(30):
        while len(heard) < count:
            heard += (await anext(stream)).items
    return heard


async def transitions(stream: AsyncIterator[Happenings], count: int) -> list[Transition]:
    return [happening for happening in await hear(stream, count) if isinstance(happening, Transition)]


def story(happenings: Sequence[Transition]) -> list[tuple[str | None, str, str]]:
    return [(item.old_status, item.new_status, item.actor) for item in happenings]


async def test_a_tasks_life_is_told_in_order_with_who_did_what(
    database: Database, live: FastLane, queue: Queue, worker: Worker
) -> None:
    async with watching(live) as stream:
        task_id = await queue.enqueue("a", queue="kitchen", max_attempts=1)
        [claim] = await worker.take()
        await worker.end(claim, RunOutcome.FAILED, error="out of cheese")
        await worker.telling.flush()
        [seen] = await operations_store.targets(database, [task_id])
        await operations.act(database, live, Order(Action.RETRY, reason="cheese came"), [seen.target])
        [claim] = await worker.take()
        await worker.end(claim, RunOutcome.COMPLETED, result="1")
        await worker.telling.flush()
        heard = await transitions(stream, 6)
    me = f"operator:{operations.operator()}"
    assert story(heard) == [
        (None, "pending", "producer"),
        ("pending", "running", "worker:w1"),
        ("running", "failed", "worker:w1"),
        ("failed", "pending", me),
        ("pending", "running", "worker:w1"),
        ("running", "completed", "worker:w1"),
    ]
    assert {(item.task_id, item.queue, item.crew, item.count) for item in heard} == {(task_id, "kitchen", "a", 1)}
    assert [item.reason for item in heard] == [None, None, "out of cheese", "retry: cheese came", None, None]
    assert heard[-1].run_id == claim.run_id


async def test_of_every_operators_action_is_told_what_the_history_says(
    database: Database, live: FastLane, queue: Queue
) -> None:
    orders = [
        Order(Action.PRIORITY, 1), Order(Action.MOVE, "other"), Order(Action.FAIL), Order(Action.RETRY),
        Order(Action.CANCEL), Order(Action.RETRY),
    ]  # fmt: skip
    async with watching(live) as stream:
        task_id = await queue.enqueue("a")
        for order in orders:
            [seen] = await operations_store.targets(database, [task_id])
            last = await operations.act(database, live, order, [seen.target])
        [_ async for _ in operations.undo(database, live, last.operation.id, None, timedelta(hours=1))]
        async with database.connection() as connection:
            history = await connection.fetch(
                "SELECT old_status, new_status, actor FROM crewtop.task_history WHERE task_id = $1 ORDER BY version",
                task_id,
            )
        [seen] = await operations_store.targets(database, [task_id])
        await operations.act(database, live, Order(Action.DELETE), [seen.target])
        *heard, gone = await transitions(stream, 9)
    assert story(heard) == [tuple(row) for row in history]
    assert gone.new_status == "deleted"
    assert [item.queue for item in heard] == ["default"] * 2 + ["other"] * 6
    assert gone.queue == "other"


async def test_an_undone_move_is_told_with_the_queue_that_the_task_is_back_in(
    database: Database, live: FastLane, queue: Queue
) -> None:
    task_id = await queue.enqueue("a", queue="kitchen")
    async with watching(live) as stream:
        [seen] = await operations_store.targets(database, [task_id])
        moved = await operations.act(database, live, Order(Action.MOVE, "bar"), [seen.target])
        [_ async for _ in operations.undo(database, live, moved.operation.id, None, timedelta(hours=1))]
        assert [item.queue for item in await transitions(stream, 2)] == ["bar", "kitchen"]


async def test_a_rerun_is_told_as_the_new_task_that_it_is(database: Database, live: FastLane, queue: Queue) -> None:
    old = [await queue.enqueue("a", queue="kitchen") for _ in range(2)]
    seen = [standing.target for standing in await operations_store.targets(database, old)]
    await operations.act(database, live, Order(Action.CANCEL), seen)
    async with watching(live) as stream:
        seen = [standing.target for standing in await operations_store.targets(database, old)]
        await operations.act(database, live, Order(Action.RERUN), seen)
        heard = await transitions(stream, 2)
    assert [(item.task_id, item.old_status, item.new_status, item.queue) for item in heard] == [
        (new, None, "pending", "kitchen") for new in (old[1] + 1, old[1] + 2)
    ]


@pytest.mark.parametrize(
    ("outcome", "follows"),
    [
        (RunOutcome.COMPLETED, ("pending", "all that it depends on has ended")),
        (RunOutcome.FAILED, ("failed", "task 1, on which it depends, failed")),
    ],
)
async def test_what_waited_for_a_task_is_told_after_its_end(
    live: FastLane, queue: Queue, worker: Worker, outcome: RunOutcome, follows: tuple[str, str]
) -> None:
    first = await queue.enqueue("a", max_attempts=1)
    after = await queue.enqueue("b", queue="kitchen", depends_on=[first])
    async with watching(live) as stream:
        [claim] = await worker.take()
        await worker.end(claim, outcome, error="no" if outcome is RunOutcome.FAILED else None)
        await worker.telling.flush()
        _, end, item = await transitions(stream, 3)
    assert (end.task_id, end.new_status) == (first, outcome.value)
    assert (item.task_id, item.queue, item.crew, item.old_status) == (after, "kitchen", "b", "waiting")
    assert (item.new_status, item.reason, item.actor) == (*follows, "worker:w1")


async def test_what_waited_for_a_cancelled_task_is_told_as_the_operators_doing(
    database: Database, live: FastLane, queue: Queue
) -> None:
    first = await queue.enqueue("a")
    after = await queue.enqueue("b", depends_on=[first])
    async with watching(live) as stream:
        [seen] = await operations_store.targets(database, [first])
        await operations.act(database, live, Order(Action.CANCEL), [seen.target])
        cancelled, item = await transitions(stream, 2)
    assert (cancelled.task_id, cancelled.new_status) == (first, "cancelled")
    assert (item.task_id, item.new_status, item.actor) == (after, "failed", cancelled.actor)


async def test_a_thousand_tasks_at_once_are_one_entry(live: FastLane, queue: Queue, redis_url: str) -> None:
    async with watching(live) as stream:
        ids = await queue.enqueue_many(Task("a", {"n": n}) for n in range(1_000))
        [item] = await transitions(stream, 1)
    assert (item.task_id, item.crew, item.new_status, item.count) == (ids[0], "a", "pending", 1_000)
    async with Redis.from_url(redis_url) as client:
        assert await client.xlen(keys.EVENT) == 1


async def test_a_fan_out_tells_who_waits(live: FastLane, queue: Queue) -> None:
    async with watching(live) as stream:
        fan = await queue.fan_out([Task("a", key="k"), Task("a")], then=Task("join"))
        await queue.enqueue("a", key="k")  # already there
        await queue.enqueue("last")
        heard = await transitions(stream, 4)
    assert [(item.task_id, item.new_status) for item in heard[:3]] == [
        (fan.ids[0], "pending"),
        (fan.ids[1], "pending"),
        (fan.then, "waiting"),
    ]
    assert heard[3].crew == "last"


async def test_a_busy_worker_tells_counts(live: FastLane, queue: Queue, worker: Worker) -> None:
    await queue.enqueue_many(Task("a") for _ in range(100))
    async with watching(live) as stream:
        for claim in await worker.take(100):
            worker.recorder.finish([(Finish(claim.run_id, claim.task_id, RunOutcome.COMPLETED, 1.0), False)])
        assert await worker.recorder.flush()
        await worker.telling.flush()
        heard = await transitions(stream, 2)
    assert [(item.old_status, item.new_status, item.count) for item in heard] == [
        ("pending", "running", 100),
        ("running", "completed", 100),
    ]


async def test_what_had_lost_its_lease_is_not_told_as_an_end(
    database: Database, live: FastLane, queue: Queue, worker: Worker
) -> None:
    task_id = await queue.enqueue("a")
    [claim] = await worker.take()
    [seen] = await operations_store.targets(database, [task_id])
    await worker.telling.flush()
    await operations.act(database, live, Order(Action.FAIL), [seen.target])
    async with watching(live) as stream:
        await worker.end(claim, RunOutcome.COMPLETED, result="1")
        await worker.telling.flush()
        await queue.enqueue("b")
        [item] = await transitions(stream, 1)
    assert item.crew == "b"


async def test_whoever_comes_later_sees_the_newest_first(live: FastLane) -> None:
    await live.tell([CHANGE._replace(task_id=n) for n in range(300)])
    stream = follow(live, False, nothing_runs)
    first = await anext(stream)
    assert [item.task_id for item in first.items] == list(range(300 - NEWEST, 300))


async def test_what_is_left_out_is_known_from_the_list_of_runs(live: FastLane) -> None:
    row = replace(running(5), queue="kitchen", crew="cook")
    async with watching(live, logs=True, rows=[row]) as stream:
        await live.tell(
            [Change(row.task_id, UNKNOWN, UNKNOWN, "running", "retry", "worker:w2", 5, "its worker is gone")]
        )
        [item] = await transitions(stream, 1)
    assert (item.queue, item.crew) == ("kitchen", "cook")


async def test_lines_come_from_now_on_and_of_new_runs_from_their_beginning(live: FastLane) -> None:
    await live.append_log(1, ["long ago"])
    rows = [running(1)]
    async with watching(live, logs=True, rows=rows) as stream:
        await live.append_log(1, ["now"])
        await live.append_log(2, ["first line of a new run"])
        await live.append_log(3, ["of one that nobody knows"])
        rows.append(running(2, age=0.0))
        heard = await hear(stream, 2)
    assert [(item.run_id, item.task_id, item.text) for item in heard if isinstance(item, LogLine)] == [
        (1, 101, "now"),
        (2, 102, "first line of a new run"),
    ]


async def test_the_last_lines_of_a_run_come_after_its_end(live: FastLane) -> None:
    rows = [running(1)]
    async with watching(live, logs=True, rows=rows) as stream:
        await live.tell([CHANGE])
        await hear(stream, 1)
        rows.clear()
        await live.append_log(1, ["good bye"])
        [line] = await hear(stream, 1)
    assert isinstance(line, LogLine)
    assert line.text == "good bye"


async def test_changes_and_lines_are_in_the_order_in_which_they_came(live: FastLane, redis_url: str) -> None:
    watcher = watching(live, logs=True, rows=[running(1), running(2)])
    async with watcher as stream, Redis.from_url(redis_url) as client:
        for number in range(10):  # a millisecond each
            key = keys.EVENT if number % 2 else keys.log(1 + number // 2 % 2)
            fields = {"task": number, "new": "pending", "actor": "producer", "line": number}
            await client.xadd(key, fields, id=f"{4_000_000_000_000 + number}-0")
        heard = await hear(stream, 10)
    assert [item.text if isinstance(item, LogLine) else str(item.task_id) for item in heard] == [*"0123456789"]


async def test_an_answer_is_bounded_and_says_what_it_left_out(live: FastLane) -> None:
    rows = [running(n) for n in range(1, FOLLOWED_RUNS + 20)]
    async with watching(live, logs=True, rows=rows) as stream:
        await live.tell([CHANGE])
        await hear(stream, 1)
        for row in rows:
            await live.append_log(row.run_id, [f"{row.run_id}: {n}" for n in range(60)])
        total, largest = 0, 0
        async with asyncio.timeout(60):
            while total < FOLLOWED_RUNS * 60:
                happened = await anext(stream)
                assert all(isinstance(item, LogLine) and item.run_id >= 20 for item in happened.items)
                total += len(happened.items) + happened.lost
                largest = max(largest, len(happened.items))
    assert largest <= MOST


async def test_after_a_flush_it_goes_on(live: FastLane, queue: Queue, worker: Worker, redis_url: str) -> None:
    async with watching(live, logs=True, rows=[running(1)]) as stream:
        await queue.enqueue("a")
        await hear(stream, 1)
        async with Redis.from_url(redis_url) as client:
            await client.flushdb()
        [claim] = await worker.take()
        await worker.end(claim, RunOutcome.COMPLETED, result="1")
        await worker.telling.flush()
        await live.append_log(1, ["after"])
        heard = await hear(stream, 3)
    assert [item.new_status for item in heard if isinstance(item, Transition)] == ["running", "completed"]
    assert [item.text for item in heard if isinstance(item, LogLine)] == ["after"]


async def test_while_redis_is_away_it_says_so_and_then_goes_on_where_it_was(live: FastLane, redis_url: str) -> None:
    async with Gate(redis_url) as gate, FastLane(gate.url) as cut, watching(cut) as stream:
        await live.tell([CHANGE._replace(task_id=1)])
        assert [item.task_id for item in await transitions(stream, 1)] == [1]
        await gate.close()
        async with asyncio.timeout(30):
            silent = await anext(stream)
        assert silent.items == ()
        assert str(silent.note).startswith("no live events: ")
        await live.tell([CHANGE._replace(task_id=2)])
        await gate.open()
        assert [item.task_id for item in await transitions(stream, 1)] == [2]


async def test_a_redis_that_is_missing_loses_nothing_else(database: Database) -> None:
    none = FastLane(None)
    task_id = await queue_on(database, none).enqueue("a")
    worker = Worker(database, none)
    [claim] = await worker.take()
    await worker.end(claim, RunOutcome.COMPLETED, result="1")
    await worker.telling.flush()
    assert await one(database, "SELECT status FROM crewtop.tasks WHERE id = $1", task_id) == "completed"
    first = await anext(follow(none, True, nothing_runs))
    assert first == Happenings((), note="no live events: not configured")


async def test_a_redis_that_does_not_answer_holds_no_worker_up_and_what_it_missed_is_counted(
    database: Database, live: FastLane, redis_url: str
) -> None:
    async with Gate(redis_url) as gate, FastLane(gate.url) as slow:
        await gate.hold()
        worker = Worker(database, slow)
        await queue_on(database, FastLane(None)).enqueue_many(Task("a") for _ in range(3))
        [claim] = await worker.take()
        telling = asyncio.create_task(worker.telling.flush())
        await asyncio.sleep(0)
        await worker.end(claim, RunOutcome.COMPLETED, result="1")
        assert not telling.done()  # the end is recorded while Redis still owes its answer
        await telling
        await gate.open()
        async with watching(live) as stream:
            for _ in range(200):
                if await slow.tell([CHANGE]):
                    break
                await asyncio.sleep(0.05)
            await worker.telling.flush()
            lost, heard = 0, list[Happening]()
            async with asyncio.timeout(30):
                while len(heard) < 2:
                    happened = await anext(stream)
                    lost, heard = lost + happened.lost, [*heard, *happened.items]
    assert lost == 1  # the claim
    assert [item.new_status for item in heard if isinstance(item, Transition)] == ["pending", "completed"]
