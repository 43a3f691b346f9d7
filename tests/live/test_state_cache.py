"""A reader never goes back, never answers what a task was not, and comes round within seconds of an untold change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from redis.asyncio import Redis

from crewtop.live import keys
from crewtop.live.fast_lane import FastLane
from crewtop.live.state_cache import ENDING_CHARACTERS, StateCache, parsed, written
from crewtop.live.states import ENDED_SECONDS, LIVE_SECONDS, told_stands
from crewtop.model.live import Ending, Stand, State
from crewtop.model.task import TaskStatus

RUNNING, COMPLETED = TaskStatus.RUNNING, TaskStatus.COMPLETED
TASK = 7


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        yield client


@pytest.fixture
def asked(live: FastLane, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scripts that readers had Redis run."""
    scripts: list[str] = []
    run = live.run

    async def noted(script: str, *arguments: Any) -> Any:
        scripts.append(script)
        return await run(script, *arguments)

    monkeypatch.setattr(live, "run", noted)
    return scripts


@pytest.fixture
def key(live: FastLane) -> str:
    """Where the task's entry is."""
    return f"{keys.tasks(live.whose() or '')}{TASK}"


class Postgres:
    """What stands in for the truth: a task's newest state, and how often it was asked for."""

    def __init__(self, state: State | None) -> None:
        self.state = state
        self.asked = 0

    async def __call__(self) -> State | None:
        self.asked += 1
        return self.state


async def test_the_first_question_goes_to_postgres_and_the_next_to_redis(live: FastLane) -> None:
    cache, truth = StateCache(live), Postgres(State(2, RUNNING))
    assert [await cache.read(TASK, truth) for _ in range(3)] == [State(2, RUNNING)] * 3
    assert await StateCache(live).read(TASK, truth) == State(2, RUNNING)
    assert truth.asked == 1


async def test_a_told_change_is_seen_without_asking_postgres(live: FastLane) -> None:
    cache, truth = StateCache(live), Postgres(State(2, RUNNING))
    await cache.read(TASK, truth)
    await live.stand([Stand(TASK, 3, COMPLETED)])
    assert await cache.read(TASK, truth) == State(3, COMPLETED)
    await live.stand([Stand(TASK, 2, RUNNING)])  # told late
    assert await cache.read(TASK, truth) == State(3, COMPLETED)
    assert truth.asked == 1


async def test_an_id_that_no_task_can_have_is_not_taken_for_another(live: FastLane) -> None:
    await StateCache(live).read(TASK, Postgres(State(2, RUNNING)))
    assert await StateCache(live).read(-TASK, Postgres(None)) is None


async def test_nobody_s_task_takes_no_room(live: FastLane, redis: Redis) -> None:
    await live.stand([Stand(task_id, 2, RUNNING) for task_id in range(1_200)])
    assert await redis.keys(keys.TASK + "*") == []


async def test_an_entry_is_believed_for_seconds_and_an_end_for_a_minute(live: FastLane, redis: Redis, key: str) -> None:
    await StateCache(live).read(TASK, Postgres(State(2, RUNNING)))
    assert 0 < await redis.pttl(key) <= LIVE_SECONDS * 1_000
    await live.stand([Stand(TASK, 3, COMPLETED)])
    assert LIVE_SECONDS * 1_000 < await redis.pttl(key) <= ENDED_SECONDS * 1_000


async def test_a_slow_reader_does_not_fill_in_what_has_changed_meanwhile(
    live: FastLane, redis: Redis, key: str
) -> None:
    """Also where the change was told to a Redis that had forgotten everything in between."""

    async def slow() -> State:
        await redis.flushdb()
        assert await StateCache(live).read(TASK, Postgres(State(3, COMPLETED))) == State(3, COMPLETED)
        await redis.flushdb()
        return State(2, RUNNING)

    async def overtaken() -> State:
        await live.stand([Stand(TASK, 3, COMPLETED)])
        return State(2, RUNNING)

    for fetch in (slow, overtaken):
        await redis.flushdb()
        await StateCache(live).read(TASK, fetch)
        assert not await redis.exists(key)


async def test_what_is_gone_stays_gone(live: FastLane, redis: Redis, key: str) -> None:
    cache, truth = StateCache(live), Postgres(State(3, COMPLETED))
    await cache.read(TASK, truth)
    await live.stand([Stand(TASK)])
    truth.state = None
    assert await cache.read(TASK, truth) is None
    assert not await redis.exists(key)
    await redis.set(key, "3 completed")  # as a deletion that was never told leaves it
    assert await cache.read(TASK, truth) is None


async def test_a_reader_that_knows_better_mends_what_is_behind(live: FastLane, redis: Redis, key: str) -> None:
    """It saw a newer version in Postgres while Redis was away for it."""
    cache, truth = StateCache(live), Postgres(State(4, COMPLETED))
    await cache.read(TASK, truth)
    await redis.set(key, "3 running", px=60_000)
    assert await cache.read(TASK, truth) == State(4, COMPLETED)
    assert await redis.get(key) == "4 completed"


async def test_short_ends_are_kept_and_long_ones_stay_in_postgres(live: FastLane) -> None:
    cache = StateCache(live)
    short = Postgres(State(3, COMPLETED, Ending('{"answer": "ß"}', None)))
    long = Postgres(State(3, COMPLETED, Ending("9" * ENDING_CHARACTERS, None)))
    for task_id, truth, asked in ((1, short, 1), (2, long, 2)):
        await cache.read(task_id, Postgres(State(3, COMPLETED)))  # the status alone
        assert await cache.read(task_id, truth, whole=True) == truth.state
        assert await cache.read(task_id, truth, whole=True) == truth.state
        assert truth.asked == asked


@pytest.mark.parametrize(
    "entry", ["?a1", "", "3", "x running", "3 asleep", "3 completed [1]", "3 failed {", "3 failed 7"]
)
def test_what_is_no_entry_is_not_believed(entry: str) -> None:
    assert parsed(entry) is None


def test_of_a_message_only_what_is_told_is_heard() -> None:
    message = "x\n7\n\n8 3 completed\n9 3 asleep\n1 2 running 4\n² 3 running"
    assert list(told_stands(message)) == [Stand(7), Stand(8, 3, COMPLETED)]


def test_an_entry_is_read_as_it_was_written() -> None:
    for state in (State(1, RUNNING), State(9, TaskStatus.FAILED, Ending(None, "a b\n\ud800")), State(2, COMPLETED)):
        assert parsed(written(state)) == state


async def test_without_redis_every_question_goes_to_postgres() -> None:
    truth = Postgres(State(2, RUNNING))
    async with FastLane(None) as lane:
        cache = StateCache(lane)
        assert [await cache.read(TASK, truth) for _ in range(3)] == [State(2, RUNNING)] * 3
    assert truth.asked == 3


async def test_two_databases_on_one_redis_know_nothing_of_each_other(redis_url: str, live: FastLane) -> None:
    async with FastLane(redis_url, whose=lambda: "other") as other, FastLane(redis_url, whose=lambda: None) as nobody:
        await StateCache(live).read(TASK, Postgres(State(2, RUNNING)))
        assert await StateCache(other).read(TASK, Postgres(State(5, COMPLETED))) == State(5, COMPLETED)
        assert await StateCache(nobody).read(TASK, Postgres(State(1, RUNNING))) == State(1, RUNNING)
        assert await StateCache(live).read(TASK, Postgres(None)) == State(2, RUNNING)


async def test_questions_of_the_same_moment_share_a_round_trip_and_are_counted(
    live: FastLane, redis: Redis, asked: list[str]
) -> None:
    cache, truth = StateCache(live), Postgres(State(2, RUNNING))
    await asyncio.gather(*(cache.read(task_id, truth) for task_id in range(20)))
    asked.clear()
    assert len(await asyncio.gather(*(cache.read(task_id, truth) for task_id in range(20)))) == 20
    assert len(asked) == 2  # the first does not wait for the others
    assert await redis.hgetall(keys.states(live.whose() or "")) == {"hits": "20", "misses": "20"}
    assert await redis.ttl(keys.states(live.whose() or "")) > 0


async def test_whoever_waits_for_an_end_is_woken(live: FastLane, redis: Redis) -> None:
    cache = StateCache(live)
    with cache.waiting(TASK) as told, cache.waiting(8) as other:
        async with asyncio.timeout(10):
            await told.wait()  # listening has begun
            assert not told.ended
            told.clear()
            other.clear()
            await live.stand([Stand(8, 2, RUNNING), Stand(TASK, 3, COMPLETED)])
            await told.wait()
        assert told.ended
        assert not other.is_set()


async def heard(cache: StateCache, state: State | None) -> None:
    """Wait until a poll answers so: what was told is on its way."""
    async with asyncio.timeout(10):
        while await cache.poll(TASK, Postgres(state)) != state:
            pass


async def polled(live: FastLane, state: State) -> StateCache:
    """A reader that keeps a copy of the task, and hears what is told of it."""
    cache = StateCache(live)
    with cache.waiting(8) as told:
        await told.wait()
    assert await cache.poll(TASK, Postgres(state)) == state
    return cache


async def test_who_asks_again_and_again_is_told_and_asks_neither_redis_nor_postgres(
    live: FastLane, redis: Redis, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crewtop.live.state_cache.COPY_SECONDS", 600.0)
    truth = Postgres(State(2, RUNNING))
    cache = await polled(live, State(2, RUNNING))
    asked.clear()
    assert [await cache.poll(TASK, truth) for _ in range(50)] == [State(2, RUNNING)] * 50
    await live.stand([Stand(TASK, 3, COMPLETED)])
    await heard(cache, State(3, COMPLETED))
    await live.stand([Stand(TASK, 2, RUNNING)])  # told late
    assert await cache.poll(TASK, truth) == State(3, COMPLETED)
    assert (asked, truth.asked) == ([], 0)
    cache.drop_copies()
    await cache.poll(TASK, truth)
    assert int(await redis.hget(keys.states(live.whose() or ""), "hits")) > 50  # it told how often it knew by itself


async def test_a_copy_is_believed_for_a_second(
    live: FastLane, redis: Redis, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr("crewtop.live.state_cache.COPY_SECONDS", 0.0)
    cache = await polled(live, State(2, RUNNING))
    await redis.set(key, "3 completed", px=60_000)  # as a message that was lost on its way leaves it
    assert await cache.poll(TASK, Postgres(None)) == State(3, COMPLETED)


async def test_what_an_operator_changes_is_asked_anew(live: FastLane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crewtop.live.state_cache.COPY_SECONDS", 600.0)
    cache = await polled(live, State(3, COMPLETED))
    await live.stand([Stand(TASK)])
    await heard(cache, State(4, TaskStatus.PENDING))


async def test_an_answer_that_was_overtaken_is_no_copy(live: FastLane, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is heard while the reader asks Postgres is newer than what it finds there."""
    monkeypatch.setattr("crewtop.live.state_cache.COPY_SECONDS", 600.0)
    cache = await polled(live, State(1, TaskStatus.PENDING))

    async def overtaken() -> State:
        await live.stand([Stand(9, 3, COMPLETED), Stand(TASK)])
        with cache.waiting(9) as told:
            await live.stand([Stand(9, 3, COMPLETED)])
            await told.wait()
        return State(2, RUNNING)

    cache.drop_copies()
    await live.stand([Stand(TASK)])
    assert await cache.poll(TASK, overtaken) == State(2, RUNNING)
    assert await cache.poll(TASK, Postgres(State(3, COMPLETED))) == State(3, COMPLETED)


async def test_who_hears_nothing_any_more_believes_no_copy(
    redis_url: str, live: FastLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crewtop.live.state_cache.COPY_SECONDS", 600.0)
    tasks = asyncio.all_tasks()
    async with FastLane(redis_url, whose=live.whose) as lane:
        cache = await polled(lane, State(2, RUNNING))
    await heard(cache, State(3, COMPLETED))
    assert await cache.poll(TASK, Postgres(State(4, COMPLETED))) == State(4, COMPLETED)
    async with asyncio.timeout(10):
        await asyncio.gather(*(asyncio.all_tasks() - tasks))  # none listens for ever


async def test_an_end_that_was_told_is_fetched_straight_from_postgres(
    live: FastLane, redis: Redis, asked: list[str], key: str
) -> None:
    cache, truth = StateCache(live), Postgres(State(3, COMPLETED, Ending("1", None)))
    await cache.read(TASK, Postgres(State(2, RUNNING)))
    asked.clear()
    assert await cache.read(TASK, truth, whole=True, straight=True) == truth.state
    assert asked == []
    await redis.set(key, "2 running", px=60_000)  # as an end that is told late leaves it
    assert await cache.read(TASK, truth, whole=True) == truth.state


class Readers(RuleBasedStateMachine):
    """One task that goes from version to version, told in time, late or never; readers; a Redis that forgets."""

    lane: FastLane
    client: Redis
    loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        super().__init__()
        self.do(self.client.flushdb())
        self.history = [State(1, TaskStatus.PENDING)]
        self.untold: list[State] = []
        self.readers = [StateCache(self.lane) for _ in range(3)]
        self.seen = [0, 0, 0]
        self.lost = False

    def do(self, work: object) -> object:
        return self.loop.run_until_complete(work)  # type: ignore[arg-type]

    @rule(status=st.sampled_from(list(TaskStatus)), told=st.booleans())
    def change(self, status: TaskStatus, told: bool) -> None:
        self.history.append(State(len(self.history) + 1, status))
        self.untold.append(self.history[-1])
        if told:
            self.tell(len(self.untold) - 1)

    @rule(place=st.integers(0, 5))
    def tell(self, place: int) -> None:
        if self.untold:
            state = self.untold.pop(place % len(self.untold))
            self.do(self.lane.stand([Stand(TASK, state.version, state.status)]))

    @rule(place=st.integers(0, 5))
    def die_before_telling(self, place: int) -> None:
        if self.untold:
            self.untold.pop(place % len(self.untold))
            self.lost = True

    @rule()
    def forget(self) -> None:
        self.do(self.client.flushdb())
        self.lost = False

    @rule(reader=st.integers(0, 2), meanwhile=st.sampled_from(["nothing", "change", "tell", "flush", "read"]))
    def read(self, reader: int, meanwhile: str) -> None:
        """Something else happens while the reader asks Postgres, before it is answered or after."""

        async def fetch() -> State:
            found = self.history[-1]
            if meanwhile == "change":
                self.history.append(State(len(self.history) + 1, COMPLETED))
                await self.lane.stand([Stand(TASK, len(self.history), COMPLETED)])
            elif meanwhile == "tell" and self.untold:
                late = self.untold.pop()
                await self.lane.stand([Stand(TASK, late.version, late.status)])
            elif meanwhile == "flush":
                await self.client.flushdb()
            elif meanwhile == "read":
                await self.answered((reader + 1) % 3, self.newest)
            return found

        self.do(self.answered(reader, fetch))

    async def newest(self) -> State:
        return self.history[-1]

    async def answered(self, reader: int, fetch: object) -> None:
        state = await self.readers[reader].poll(TASK, fetch)  # type: ignore[arg-type]
        assert state == self.history[state.version - 1]
        assert state.version >= self.seen[reader]
        self.seen[reader] = state.version

    @invariant()
    def is_not_behind(self) -> None:
        """What all was told of is what everybody sees, even one who has never asked."""
        if not self.untold and not self.lost:
            state = self.do(StateCache(self.lane).read(TASK, self.newest))
            assert state == self.history[-1]


def test_no_reader_goes_back_whatever_happens_to_redis(redis_url: str) -> None:
    """Every status that is answered is one that the task had, at that very version."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        Readers.loop, Readers.lane = loop, FastLane(redis_url, whose=lambda: "readers")
        Readers.client = Redis.from_url(redis_url)
        try:
            run_state_machine_as_test(  # type: ignore[no-untyped-call]
                Readers,
                settings=settings(
                    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
                ),
            )
        finally:
            loop.run_until_complete(Readers.lane.close())
            loop.run_until_complete(Readers.client.aclose())
