"""Limits in a real Redis, with a clock that the test turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack

import pytest
from redis.asyncio import Redis

from crewtop.live import keys
from crewtop.live.allowances import (
    GRACE_SECONDS,
    LEASE_SECONDS,
    SETTLED_SECONDS,
    Allowance,
    Answered,
    Asked,
    Ended,
    Exchange,
    Kept,
    SharedAllowances,
    Told,
)
from crewtop.live.fast_lane import FastLane
from crewtop.model.allowance import AllowanceState, Limits

ONE = Allowance("openai", "gpt-4.1", "KEY_A")
HOLDS = 61.0
NOTHING = Kept(0, 0.0)


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


Worker = Callable[[str], SharedAllowances]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def worker(live: FastLane, redis_url: str, clock: Clock) -> AsyncIterator[Worker]:
    """Workers by name, on an empty Redis."""
    async with AsyncExitStack() as stack:
        made = {}
        for name in ("w1", "w2", "w3"):
            made[name] = await stack.enter_async_context(SharedAllowances(redis_url, name, clock))
        yield made.__getitem__


def exchange(
    *asked: Asked,
    limits: Limits | Sequence[Limits] = Limits(),  # noqa: B008
    allowances: Sequence[Allowance] = (ONE,),
    ways: Sequence[Sequence[int]] = ((0,),),
    in_flight: Sequence[int] | None = None,
    ended: Sequence[Ended] = (),
    told: Sequence[Told] = (),
    remembers: bool = False,
    kept: Sequence[tuple[Kept, Kept]] = (),
) -> Exchange:
    each = [limits] * len(allowances) if isinstance(limits, Limits) else limits
    top = min((ask.priority for ask in asked), default=0)
    waiting = [ask.tokens for ask in asked if ask.priority == top]
    return Exchange(
        "openai", "gpt-4.1", allowances, each, kept or [(NOTHING, NOTHING)] * len(allowances),
        in_flight or [0] * len(allowances), ways, asked, told, ended,
        (top, len(waiting), sum(waiting)), remembers,
    )  # fmt: skip


def calls(names: str, tokens: int = 10, priority: int = 3) -> list[Asked]:
    return [Asked(name, tokens, priority) for name in names]


async def ask(worker: SharedAllowances, request: Exchange) -> Answered:
    answer = await worker.exchange(request)
    assert answer is not None, worker.down
    return answer


async def test_a_limit_of_requests_is_shared_and_says_when_to_come_back(worker: Worker, clock: Clock) -> None:
    limits = Limits(requests_per_minute=3)
    first = await ask(worker("w1"), exchange(*calls("ab"), limits=limits))
    clock.seconds += 10
    second = await ask(worker("w2"), exchange(*calls("cd"), limits=limits))
    assert (list(first.granted), list(second.granted)) == ([0, 0], [0])
    assert second.again == pytest.approx(HOLDS - 10)
    clock.seconds += second.again
    third = await ask(worker("w2"), exchange(*calls("d"), limits=limits))
    assert list(third.granted) == [0]
    assert third.workers == 1  # w1 has been silent for too long
    assert third.used[0].requests == 2


async def test_tokens_are_reserved_settled_and_refunded(worker: Worker, clock: Clock) -> None:
    limits = Limits(tokens_per_minute=100)
    first = await ask(worker("w1"), exchange(*calls("ab", tokens=50), *calls("c", tokens=50), limits=limits))
    assert (len(first.granted), first.used[0].tokens) == (2, 100)
    settled = await ask(
        worker("w1"),
        exchange(
            *calls("c", tokens=50), limits=limits, ended=[Ended("a", [0], tokens=20), Ended("b", [0], unsent=True)]
        ),
    )
    assert (list(settled.granted), settled.used[0].tokens, settled.used[0].requests) == ([0], 70, 2)
    dearer = await ask(worker("w1"), exchange(limits=limits, ended=[Ended("c", [0], tokens=80)]))
    assert dearer.used[0].tokens == 100
    again = await ask(
        worker("w1"), exchange(limits=limits, ended=[Ended("c", [0], tokens=80), Ended("b", [0], tokens=9)])
    )
    assert again.used[0].tokens == 100  # told twice, or of a call that was given back: nothing changes


async def test_a_settled_call_counts_no_longer_than_a_minute_after_its_answer(worker: Worker, clock: Clock) -> None:
    limits = Limits(requests_per_minute=1)
    await ask(worker("w1"), exchange(*calls("a"), limits=limits))
    clock.seconds += 0.3
    answer = await ask(worker("w1"), exchange(*calls("b"), limits=limits, ended=[Ended("a", [0], tokens=5)]))
    assert answer.again == pytest.approx(SETTLED_SECONDS)
    clock.seconds += answer.again
    assert list((await ask(worker("w1"), exchange(*calls("b"), limits=limits))).granted) == [0]


async def test_a_call_draws_on_several_allowances_or_on_none(worker: Worker) -> None:
    together = Allowance("openai", "*", "KEY_A")
    request = exchange(
        *calls("abc"),
        allowances=[together, ONE],
        limits=[Limits(requests_per_minute=2), Limits(requests_per_minute=9)],
        ways=[[0, 1]],
    )
    answer = await ask(worker("w1"), request)
    assert [used.requests for used in answer.used] == [2, 2]


async def test_the_key_with_the_most_room_is_taken(worker: Worker) -> None:
    other = Allowance("openai", "gpt-4.1", "KEY_B")
    request = exchange(
        *calls("abcdef"),
        allowances=[ONE, other],
        limits=[Limits(requests_per_minute=2), Limits(requests_per_minute=4)],
        ways=[[0], [1]],
    )
    answer = await ask(worker("w1"), request)
    assert sorted(answer.granted) == [0, 0, 1, 1, 1, 1]


async def test_a_pause_holds_back_all_workers_and_only_its_key(worker: Worker, clock: Clock) -> None:
    await ask(worker("w1"), exchange(*calls("a")))
    await ask(worker("w1"), exchange(ended=[Ended("a", [0], tokens=0, pause=30.0)]))
    held = await ask(worker("w2"), exchange(*calls("b")))
    assert (list(held.granted), held.again, held.used[0].paused) == ([], 30.0, 30.0)
    other = exchange(*calls("c"), allowances=[Allowance("openai", "gpt-4.1", "KEY_B")])
    assert list((await ask(worker("w3"), other)).granted) == [0]
    clock.seconds += 30
    assert list((await ask(worker("w2"), exchange(*calls("b")))).granted) == [0]


async def test_calls_at_once_count_over_workers_until_a_silent_one_is_dead(worker: Worker, clock: Clock) -> None:
    limits = Limits(at_once=2)
    await ask(worker("w1"), exchange(*calls("ab"), limits=limits))
    assert not (await ask(worker("w2"), exchange(*calls("c"), limits=limits))).granted
    clock.seconds += LEASE_SECONDS / 2
    await ask(worker("w1"), exchange(limits=limits, in_flight=[1]))  # one has ended; the other is renewed by this
    assert len((await ask(worker("w2"), exchange(*calls("cd"), limits=limits))).granted) == 1
    clock.seconds += LEASE_SECONDS + 0.001
    alone = await ask(worker("w2"), exchange(*calls("d"), limits=limits, in_flight=[1]))
    assert (list(alone.granted), alone.used[0].in_flight, alone.used[0].requests) == ([0], 2, 4)


async def test_a_higher_priority_on_another_host_goes_first(worker: Worker, clock: Clock) -> None:
    limits = Limits(requests_per_minute=1)
    await ask(worker("w1"), exchange(*calls("x"), limits=limits))
    await ask(worker("w2"), exchange(*calls("u", priority=0), limits=limits))
    given_back = [Ended("x", [0], unsent=True)]
    low = await ask(worker("w1"), exchange(*calls("l", priority=3), limits=limits, ended=given_back))
    assert (list(low.granted), low.again) == ([], 0.25)
    assert list((await ask(worker("w2"), exchange(*calls("u", priority=0), limits=limits))).granted) == [0]


async def test_a_waiting_worker_that_falls_silent_holds_up_nobody(worker: Worker, clock: Clock) -> None:
    limits = Limits(requests_per_minute=1)
    await ask(worker("w1"), exchange(*calls("x"), limits=limits))
    await ask(worker("w2"), exchange(*calls("u", priority=0), limits=limits))
    clock.seconds += 1.1
    low = exchange(*calls("l"), limits=limits, ended=[Ended("x", [0], unsent=True)])
    assert list((await ask(worker("w1"), low)).granted) == [0]


async def test_equal_workers_take_turns(worker: Worker, clock: Clock) -> None:
    limits = Limits(requests_per_minute=1)
    served: list[str] = []
    await ask(worker("w1"), exchange(*calls("x"), limits=limits))
    last = "x"
    for turn in range(20):
        for name in ("w1", "w2"):  # w1 always asks first, and always in the moment in which there is room
            ended = [Ended(last, [0], unsent=True)] if name == "w1" else []
            answer = await ask(
                worker(name),
                exchange(*calls(f"{name}-{turn}".split()[0:1]), limits=limits, ended=ended),  # type: ignore[arg-type]
            )
            if answer.granted:
                served.append(name)
                last = f"{name}-{turn}"
            clock.seconds += 0.2
    assert min(served.count("w1"), served.count("w2")) >= 5


async def test_an_answer_that_was_lost_is_asked_for_again_and_counted_once(worker: Worker, clock: Clock) -> None:
    limits = Limits(requests_per_minute=2, tokens_per_minute=25)
    await ask(worker("w1"), exchange(*calls("a"), limits=limits))
    again = await ask(worker("w1"), exchange(*calls("a"), limits=limits))
    assert (list(again.granted), again.used[0].requests, again.used[0].tokens) == ([0], 1, 10)


async def test_after_a_flush_nothing_goes_out_until_all_have_told_again(
    worker: Worker, clock: Clock, redis_url: str
) -> None:
    limits = Limits(requests_per_minute=2)
    before = await ask(worker("w1"), exchange(*calls("a"), limits=limits))
    await ask(worker("w2"), exchange(*calls("b"), limits=limits))
    async with Redis.from_url(redis_url) as client:
        await client.flushdb()
    clock.seconds += 0.5
    fresh = await ask(worker("w1"), exchange(*calls("c"), limits=limits, remembers=True))
    assert (list(fresh.granted), fresh.epoch != before.epoch) == ([], True)
    assert fresh.again == pytest.approx(GRACE_SECONDS)
    await ask(worker("w1"), exchange(limits=limits, told=[Told("a", 0, 10, 50.0)], remembers=True))
    await ask(worker("w2"), exchange(limits=limits, told=[Told("b", 0, 10, 55.0)], remembers=True))
    clock.seconds += GRACE_SECONDS
    told = await ask(worker("w1"), exchange(*calls("c"), limits=limits, remembers=True))
    assert (list(told.granted), told.used[0].requests) == ([], 2)
    assert told.again == pytest.approx(48.0)


async def test_what_is_shown_grows_old_and_says_when_it_resumes(worker: Worker, redis_url: str) -> None:
    await ask(worker("w1"), exchange(*calls("a")))
    state = AllowanceState("openai", "gpt-4.1", "KEY_A", 3_000, 1, None, 10, None, 1, 27.0, "limit reached")
    async with SharedAllowances(redis_url, "w9") as real:  # Redis's own clock
        await ask(real, exchange())
        await real.show([state])
        (shown,) = await real.states() or ()
        assert shown.resumes_in == pytest.approx(27.0, abs=2.0)
        assert (shown.requests_used, shown.reason) == (1, "limit reached")
        await worker("w1").show([state])  # of a clock that stands in 1970
        assert await real.states() == []


async def test_every_key_is_in_the_slot_of_its_provider_and_expires(worker: Worker, redis_url: str) -> None:
    odd = Allowance("open{ai}:x", "a/b c", "/run/secrets/key")
    request = Exchange("open{ai}:x", "a/b c", [odd], [Limits(requests_per_minute=1)], [(NOTHING, NOTHING)], [0], [[0]],
                       calls("ab"), want=(3, 2, 20))  # fmt: skip
    await ask(worker("w1"), request)
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        names = [name for name in await client.keys("*") if name.startswith(keys.LIMIT)]
        assert len(names) == 7
        assert {name[len(keys.LIMIT) :].split("}")[0] for name in names} == {"{open%7Bai%7D%3Ax"}
        assert all([await client.pttl(name) > 0 for name in names])


async def test_without_redis_there_is_no_answer_and_no_error() -> None:
    async with SharedAllowances(None, "w1") as away:
        assert await away.exchange(exchange(*calls("a"))) is None
        assert await away.states() is None


async def test_many_workers_at_once_get_exactly_what_there_is(worker: Worker) -> None:
    limits = Limits(requests_per_minute=100)
    answers = await asyncio.gather(
        *(
            ask(worker(name), exchange(*[Asked(f"{name}-{part}-{n}", 1, 3) for n in range(30)], limits=limits))
            for name in ("w1", "w2", "w3")
            for part in range(3)
        )
    )
    assert sum(len(answer.granted) for answer in answers) == 100
