"""Asking again and again: nothing ends it, and nothing makes it ask twice at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from crewtop.tui.feed import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, Feed, pause_after
from crewtop.tui.source import Unavailable


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_pauses_double_up_to_a_limit_with_jitter_between_half_and_whole(chance: float) -> None:
    for failures in range(1, 40):
        limit = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 10))
        assert limit / 2 <= pause_after(failures, 1.0, chance) <= limit


def test_without_failure_the_pause_is_the_interval() -> None:
    assert pause_after(0, 2.0, 0.7) == 2.0


async def collect(ask: Callable[[], Awaitable[int]], until: int, timeout: float = 1.0) -> tuple[list[int], list[str]]:
    """Run a feed without pauses until it has given or complained so often."""
    answers: list[int] = []
    complaints: list[str] = []
    enough = asyncio.Event()

    def note(store: list) -> Callable[[object], None]:  # type: ignore[type-arg]
        def take(value: object) -> None:
            store.append(value)
            if len(answers) + len(complaints) >= until:
                enough.set()

        return take

    feed = Feed(ask, note(answers), note(complaints), lambda: 0.0, lambda: 0.0, timeout)
    task = asyncio.create_task(feed.run())
    await asyncio.wait_for(enough.wait(), 20)
    task.cancel()
    return answers, complaints


async def test_failures_of_every_kind_are_told_and_asking_goes_on() -> None:
    turns = iter([Unavailable("postgres: refused"), ValueError("a defect"), 7])

    async def ask() -> int:
        turn = next(turns, 8)
        if isinstance(turn, Exception):
            raise turn
        return turn

    answers, complaints = await collect(ask, 4)
    assert complaints == ["postgres: refused", "unexpected ValueError: a defect"]
    assert answers[:2] == [7, 8]


async def test_a_hung_source_is_given_up_and_asked_again() -> None:
    asked = 0
    at_once = 0
    most = 0

    async def ask() -> int:
        nonlocal asked, at_once, most
        asked += 1
        at_once += 1
        most = max(most, at_once)
        try:
            if asked == 1:
                await asyncio.Event().wait()
            return asked
        finally:
            at_once -= 1

    answers, complaints = await collect(ask, 2, timeout=0.05)
    assert complaints == ["no answer within 0.05 s"]
    assert answers[0] == 2
    assert most == 1


async def test_a_source_that_swallows_the_cancellation_does_not_keep_the_feed_alive() -> None:
    asking = asyncio.Event()

    async def ask() -> int:
        asking.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise Unavailable("postgres: the connection was closed") from None
        return 0

    feed: Feed[int] = Feed(ask, lambda _: None, lambda _: None, lambda: 3_600.0)
    task = asyncio.create_task(feed.run())
    await asking.wait()
    task.cancel()
    await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), 20)


async def test_a_poke_ends_the_pause() -> None:
    asked = 0
    twice = asyncio.Event()

    async def ask() -> int:
        nonlocal asked
        asked += 1
        if asked == 2:
            twice.set()
        return asked

    feed: Feed[int] = Feed(ask, lambda _: feed.poke(), lambda _: None, lambda: 3_600.0)
    task = asyncio.create_task(feed.run())
    await asyncio.wait_for(twice.wait(), 20)
    task.cancel()


@pytest.mark.parametrize(("took", "pause"), [((2.0, 3.0, 2.0), 18.0), ((0.1, 5.0, 0.1), 1.0), ((30.0,), 1.0)])
async def test_a_slow_server_is_asked_less_often_and_one_that_stalled_once_is_not(
    took: tuple[float, ...], pause: float
) -> None:
    readings = iter([second for seconds in took for second in (0.0, seconds)])
    pauses: list[float] = []
    told = asyncio.Event()

    def give(_: object) -> None:
        pauses.append(feed.pause)
        feed.poke()
        if len(pauses) == len(took):
            told.set()

    def clock() -> float:
        return next(readings, 0.0)

    feed: Feed[int] = Feed(answered, give, lambda _: None, lambda: 1.0, clock=clock)
    task = asyncio.create_task(feed.run())
    await told.wait()
    task.cancel()
    assert pauses[len(took) - 1] == pause


async def test_a_defect_where_an_answer_is_taken_does_not_end_the_asking() -> None:
    given: list[int] = []
    twice = asyncio.Event()

    def give(answer: int) -> None:
        given.append(answer)
        if len(given) == 1:
            raise KeyError("a defect")
        twice.set()

    complaints: list[str] = []
    feed: Feed[int] = Feed(answered, give, complaints.append, lambda: 0.0, lambda: 0.0)
    task = asyncio.create_task(feed.run())
    await asyncio.wait_for(twice.wait(), 20)
    assert complaints == ["unexpected KeyError: 'a defect'"]
    task.cancel()


async def answered() -> int:
    return 1
