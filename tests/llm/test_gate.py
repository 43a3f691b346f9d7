"""The gate with a strict provider, minutes of a simulated clock, and a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from redis import Redis as Blocking

from crewtop.live.allowances import GRACE_SECONDS, Answered, Exchange
from crewtop.llm.asking import CallAsk, Denied, Fault, Outcome, Permit, Settled
from crewtop.llm.gate import Gate, Rules
from crewtop.llm.keys import KeyPool
from crewtop.model.allowance import Limits
from tests.llm.simulated import MODEL, Shared, T, World, gate, now, simulate

TIGHT = Limits(requests_per_minute=30, tokens_per_minute=4_500)


@asynccontextmanager
async def hosts(
    redis_url: str, limits: Limits | None, number: int = 3, **options: object
) -> AsyncIterator[list[tuple[Shared, Gate]]]:
    """Workers on so many hosts, on an empty Redis."""
    with Blocking.from_url(redis_url) as client:
        client.flushdb()
    async with AsyncExitStack() as stack:
        pairs = []
        for n in range(number):
            shared = await stack.enter_async_context(Shared(redis_url, f"w{n}", now))
            pairs.append((shared, await stack.enter_async_context(gate(shared, limits, workers=number, **options))))  # type: ignore[arg-type]
        yield pairs


@pytest.mark.parametrize(
    ("limits", "slowest", "on_the_way", "estimate"),
    [
        (Limits(30, 9_000, 4), 8.0, 0.0, 300),
        (Limits(45, 2_000), 0.1, 0.4, 101),
        (Limits(600, 60_000), 2.0, 0.3, 100),  # so wide that who comes first need not ask
    ],
)
def test_three_hosts_together_are_never_refused(
    redis_url: str, limits: Limits, slowest: float, on_the_way: float, estimate: int
) -> None:
    world = World(limits, (0.1, slowest), (0.0, on_the_way), (10, 100), estimate)

    async def run() -> None:
        async with hosts(redis_url, limits) as pairs:
            await asyncio.gather(*(world.callers(gate, 6, now() + 66) for _, gate in pairs))

    simulate(run())
    assert world.refused == []
    assert len(world.admitted) >= 30


@pytest.mark.parametrize(
    ("limits", "estimate", "calls"),
    [
        (Limits(requests_per_minute=30), 100, 30),
        (Limits(tokens_per_minute=6_000), 400, 60),
    ],
)
def test_three_hosts_together_use_all_that_they_may(redis_url: str, limits: Limits, estimate: int, calls: int) -> None:
    world = World(limits, (0.1, 5.0), (0.0, 0.2), (100, 100), estimate)

    async def run() -> None:
        async with hosts(redis_url, limits) as pairs:
            start = now()
            await asyncio.gather(*(world.callers(gate, 6, start + 125) for _, gate in pairs))
            made, _ = world.used(start, start + 122)
            assert made >= 2 * calls * 0.98

    simulate(run())
    assert world.refused == []


def test_where_there_is_plenty_a_call_goes_at_once_and_all_are_told_of(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at a time: the next asks, and tells of the one before; and as soon as half is used everyone asks."""
    told: list[tuple[list[str], list[str]]] = []
    exchange = Shared.exchange

    async def noted(shared: Shared, news: Exchange) -> Answered | None:
        told.append(([each.call for each in news.told], [each.call for each in news.asked]))
        return await exchange(shared, news)

    monkeypatch.setattr(Shared, "exchange", noted)

    async def run() -> None:
        async with hosts(redis_url, Limits(requests_per_minute=200), 1) as [(_, here)]:
            asks = [CallAsk(f"c{number}", "openai", MODEL, 100, "crew", "support", 3) for number in range(102)]
            await here.enter(asks[0])
            assert told == [([], ["c0"])]
            await asyncio.sleep(GRACE_SECONDS + 0.5)  # others have told by then what Redis might not know
            told.clear()
            await here.enter(asks[1])
            assert told == []
            await here.enter(asks[2])
            assert told == [(["c1"], ["c2"])]
            await here.enter(asks[3])
            await asyncio.sleep(0.1)
            assert told[1:] == [(["c3"], [])]
            await asyncio.gather(*map(here.enter, asks[4:-1]))
            await asyncio.sleep(0.1)
            told.clear()
            await here.enter(asks[-1])
            assert told == [([], ["c101"])]
            assert here.states()[0].requests_used == 102

    simulate(run())


def test_what_redis_forgot_is_not_taken_for_plenty(redis_url: str) -> None:
    """Who is quiet tells it what it had out within a second: until then nobody knows what is free."""
    world = World(Limits(requests_per_minute=600), (0.01, 0.02))

    async def run() -> None:
        async with hosts(redis_url, world.limits) as pairs:
            (_, busy), *quiet = pairs
            await asyncio.gather(*(world.call(gate, priority=1) for _, gate in quiet for _ in range(295)))
            await asyncio.sleep(0.5)
            await world.call(busy, priority=1)
            await asyncio.sleep(0.9)
            empty(redis_url)
            await asyncio.sleep(0.2)  # it has told, and the others will in 0.4 s
            await world.callers(busy, 1, now() + 5, priority=1)

    simulate(run())
    assert world.refused == []


def empty(redis_url: str) -> None:
    with Blocking.from_url(redis_url) as client:
        client.flushdb()


async def suffer(harm: str, redis_url: str, pairs: list[tuple[Shared, Gate]]) -> None:
    """Redis loses all; is away for 20 seconds and comes back as it was, or empty; or comes back late to some."""
    if harm == "flush":
        return empty(redis_url)
    for shared, _ in pairs:
        shared.away = True
    if harm == "gone":
        return None
    await asyncio.sleep(20)
    if harm != "away":
        empty(redis_url)
    for shared, _ in pairs:
        shared.away = False
        if harm == "late":
            await asyncio.sleep(7)
    return None


@pytest.mark.parametrize(
    ("harm", "at"),
    [
        *(("flush", at) for at in (59.9, 61.5)),
        *(("away", at) for at in (30.0, 59.4)),
        *(("empty", at) for at in (45.0, 59.4)),
        ("late", 58.0),
        ("gone", 58.0),
    ],
)
def test_whatever_happens_to_redis_nothing_too_much_goes_out(redis_url: str, harm: str, at: float) -> None:
    world = World(TIGHT, (0.5, 4.0), (0.0, 0.3), (50, 150), 150, seed=20)

    async def run() -> None:
        async with hosts(redis_url, TIGHT) as pairs:
            start = now()
            await asyncio.gather(*(world.callers(gate, 9, now()) for _, gate in pairs))  # all but what is kept
            await asyncio.sleep(start + at - 2 - now())
            callers = [asyncio.create_task(world.callers(gate, 6, start + at + 40)) for _, gate in pairs]
            await asyncio.sleep(2)
            await suffer(harm, redis_url, pairs)
            await asyncio.gather(*callers)
            made, _ = world.used(start + at, start + at + 40)
            assert made >= 10  # and it goes on

    simulate(run())
    assert world.refused == []


def test_the_calls_of_a_worker_that_ends_are_left_to_the_others(redis_url: str) -> None:
    world = World(TIGHT, (0.5, 4.0), (0.0, 0.3), (50, 150), 150)

    async def run() -> None:
        async with hosts(redis_url, TIGHT) as pairs:
            start = now()
            callers = [asyncio.create_task(world.callers(gate, 6, start + 123)) for _, gate in pairs]
            await asyncio.sleep(30)
            callers.pop().cancel()
            await pairs[-1][1].__aexit__()
            await asyncio.gather(*callers)
            assert world.used(start + 60, start + 122)[0] >= 27

    simulate(run())
    assert world.refused == []


def test_an_urgent_call_overtakes_all_that_wait_on_every_host_within_seconds(redis_url: str) -> None:
    world = World(Limits(requests_per_minute=60), (0.5, 2.0))

    async def run() -> None:
        async with hosts(redis_url, world.limits) as pairs:
            crowd = [asyncio.create_task(world.callers(gate, 30, now() + 200)) for _, gate in pairs[:2]]
            for at in (1, 20, 40):  # the crowd has used up its minute in the first second
                await asyncio.sleep(at)
                since = now()
                permit = await world.call(pairs[2][1], queue="urgent", priority=0)
                assert isinstance(permit, Permit)
                assert permit.waited < 7.0
                before, _ = world.used(since, since + permit.waited)
                assert before <= 1  # although fifty others had waited for longer
            for task in crowd:
                task.cancel()

    simulate(run())
    assert world.refused == []


def test_a_call_that_gives_up_waiting_makes_room_for_the_next_at_once(redis_url: str) -> None:
    world = World(Limits(requests_per_minute=1), (0.1, 0.1))

    async def run() -> None:
        async with hosts(redis_url, world.limits, 2) as [(_, one), (_, other)]:
            await world.call(one)
            urgent = asyncio.create_task(world.call(one, priority=0))
            await asyncio.sleep(1)
            plain = asyncio.create_task(world.call(other))
            await asyncio.sleep(58)
            urgent.cancel()
            permit = await plain
            assert isinstance(permit, Permit)
            assert permit.waited < 62

    simulate(run())
    assert world.refused == []


def test_a_queue_with_few_calls_waits_one_turn_and_not_for_the_others_backlog() -> None:
    world = World(Limits(requests_per_minute=60), (0.1, 0.1))

    async def run() -> None:
        async with gate(None, world.limits) as here:
            await asyncio.gather(*(world.call(here, queue=queue) for queue in ["bulk"] * 100 + ["support"] * 3))

    simulate(run())
    assert list(world.waited)[:8] == ["c1", "c101", "c2", "c102", "c3", "c103", "c4", "c5"]


def test_without_redis_each_worker_keeps_to_its_part_and_says_so() -> None:
    world = World(Limits(requests_per_minute=90), (0.5, 1.0))

    async def run() -> None:
        async with gate(None, world.limits, workers=3) as here:
            start = now()
            await world.callers(here, 20, start + 100)
            assert 55 <= world.used(start, start + 100)[0] <= 60
            (state,) = here.states()
            assert (state.requests_per_minute, state.reason) == (30, "no Redis: one worker's part of 3")

    simulate(run())


def test_what_cannot_go_out_in_time_is_denied_at_once_and_says_when_to_come_back(redis_url: str) -> None:
    world = World(Limits(requests_per_minute=1))

    async def run() -> None:
        async with hosts(redis_url, world.limits, 1, patience=30.0) as [(_, here)]:
            await world.call(here)
            asked_at = now()
            denied = await world.call(here)
            assert isinstance(denied, Denied)
            assert (denied.terminal, now() - asked_at < 0.1) == (False, True)
            assert denied.retry_after == pytest.approx(60.0, abs=0.1)
            await asyncio.sleep(40)
            waited = await here.enter(CallAsk("w", "openai", MODEL, 100, "crew", "support", 3), 25.0)
            assert isinstance(waited, Denied)  # 20 s more are too long for what has waited for a breaker before
            assert isinstance(await world.call(here), Permit)

    simulate(run())


def test_a_storm_is_waited_out_with_few_tries_and_throughput_is_back_within_ten_seconds(redis_url: str) -> None:
    limits = Limits(requests_per_minute=3_000)
    world = World(limits, (1.0, 3.0))

    async def run() -> None:
        async with hosts(redis_url, limits) as pairs:
            start = now()
            world.storm_until = start + 40
            calling = asyncio.gather(*(world.callers(gate, 10, start + 82) for _, gate in pairs))
            await asyncio.sleep(31)
            states = [state for _, gate in pairs for state in gate.states()]
            assert {state.reason for state in states} == {"the provider asked to wait"}
            await calling
            assert len(world.refused) <= 30 + 3 * 4
            back = min(at for at, _ in world.admitted)
            made, _ = world.used(back + 10, back + 20)
            assert made >= 0.9 * 30 * 10 / 2.0

    simulate(run())


def test_limits_that_nobody_configured_are_learned_from_the_first_answer(redis_url: str) -> None:
    world = World(Limits(requests_per_minute=60), (1.0, 2.0), headers=True)

    async def run() -> None:
        async with hosts(redis_url, None, 1) as [(_, here)]:
            start = now()
            await world.callers(here, 30, start + 65)
            assert len(world.refused) == 0
            assert here.states()[0].requests_per_minute == 60
            assert len(world.admitted) >= 100

    simulate(run())


def test_limits_that_are_never_told_are_found_by_trying_with_few_refusals() -> None:
    world = World(Limits(at_once=12), (1.0, 1.0))

    async def run() -> None:
        async with gate(None, None) as here:
            start = now()
            await world.callers(here, 50, start + 120)
            made, _ = world.used(start + 60, start + 120)
            assert made >= 60 * 12 * 0.5
            assert len(world.refused) <= 0.1 * len(world.admitted)

    simulate(run())


def test_others_that_use_the_same_key_are_noticed_by_what_remains(redis_url: str) -> None:
    world = World(Limits(requests_per_minute=60), (0.5, 1.0), headers=True)

    async def run() -> None:
        async with hosts(redis_url, world.limits, 1) as [(_, here)]:
            for _ in range(30):  # by somebody else
                world.meters.of("-", MODEL).admit(now(), 0)
            start = now()
            await world.callers(here, 10, start + 55)
            assert len(world.refused) <= 12
            assert "others use this key too" in {state.reason for state in here.states()} or world.refused

    simulate(run())


def test_several_keys_add_up_and_a_dead_one_is_left_out(redis_url: str) -> None:
    world = World(Limits(requests_per_minute=30), (0.5, 1.0))

    async def run() -> None:
        names = ("KEY_A", "KEY_B", "KEY_C")
        async with hosts(redis_url, world.limits, 1, keys={"openai": names}) as [(_, here)]:
            here._keys.failed("openai", "KEY_B", MODEL, Fault.KEY)
            start = now()
            await world.callers(here, 30, start + 50)
            assert 56 <= world.used(start, start + 50)[0] <= 60
            assert world.refused == []
            for name in ("KEY_A", "KEY_C"):
                here._keys.failed("openai", name, MODEL, Fault.QUOTA)
            denied = await world.call(here)
            assert denied == Denied("no key of openai is left", None, terminal=True)

    simulate(run())


def test_what_a_dead_run_had_out_stays_counted_and_what_it_wanted_is_forgotten(redis_url: str) -> None:
    limits = Limits(requests_per_minute=2)

    async def run() -> None:
        async with hosts(redis_url, limits, 1) as [(_, here)]:
            asks = [CallAsk(f"r{n}", "openai", MODEL, 10, "crew", "q", 3) for n in range(3)]
            assert isinstance(await here.enter(asks[0]), Permit)
            assert isinstance(await here.enter(asks[1]), Permit)
            waiting = asyncio.create_task(here.enter(asks[2]))
            await asyncio.sleep(0.5)
            await here.lost(["r0", "r1", "r2"])
            assert isinstance(await waiting, Denied)
            await here.settle(Settled("r0", Outcome.ANSWERED, 5, 200))  # too late: nobody knows it any more
            await asyncio.sleep(1.5)
            (state,) = here.states()
            assert (state.requests_used, state.tokens_used, state.in_flight) == (2, 20, 0)

    simulate(run())


def test_a_wait_that_is_cancelled_costs_nothing(redis_url: str) -> None:
    async def run() -> None:
        async with hosts(redis_url, Limits(requests_per_minute=5), 1) as [(_, here)]:
            for number in range(20):
                ask = CallAsk(f"x{number}", "openai", MODEL, 10, "crew", "q", 3)
                waiting = asyncio.create_task(here.enter(ask))
                for _ in range(number):
                    await asyncio.sleep(0)
                waiting.cancel()
                (answer,) = await asyncio.gather(waiting, return_exceptions=True)
                if isinstance(answer, Permit):  # the permit was faster
                    await here.settle(Settled(answer.call_id, Outcome.UNSENT, None))
            await asyncio.sleep(3)
            assert [(s.requests_used, s.in_flight) for s in here.states()] == [(0, 0)]

    simulate(run())


def test_one_that_is_cancelled_at_the_moment_of_its_turn_takes_nobody_along() -> None:
    async def run() -> None:
        async with gate(None, Limits(at_once=1)) as only:
            await only.enter(CallAsk("out", "openai", MODEL, 100, "crew", "support", 3))
            first, second = (
                asyncio.create_task(only.enter(CallAsk(name, "openai", MODEL, 100, "crew", "support", 3)))
                for name in ("first", "second")
            )
            await asyncio.sleep(1)
            await only.settle(Settled("out", Outcome.ANSWERED, 100, 200))
            first.cancel()
            assert isinstance(await second, Permit)
            assert first.cancelled()

    simulate(run())


class Counted(Shared):
    """It counts how often it is asked."""

    attempts = 0

    async def _attempt(self, ask: Callable[[Any], Awaitable[T]]) -> T | None:
        self.attempts += 1
        return await super()._attempt(ask)


def test_without_redis_and_without_a_key_it_rests_however_much_there_is_to_tell(redis_url: str) -> None:
    empty(redis_url)

    async def run() -> None:
        pool = KeyPool({"openai": ("ONLY",)}, now)
        async with Counted(redis_url, "w1", now) as shared, Gate(shared, Rules({}, 30.0), pool, clock=now) as only:
            await only.enter(CallAsk("c1", "openai", MODEL, 100, "crew", "support", 3))
            await asyncio.sleep(0.5)
            shared.away, before = True, shared.attempts
            pool.failed("openai", "ONLY", MODEL, Fault.KEY)
            await only.settle(Settled("c1", Outcome.REFUSED, None, 401, fault=Fault.KEY))
            for _ in range(1_000):
                await asyncio.sleep(0)
            assert shared.attempts - before <= 2

    simulate(run())
