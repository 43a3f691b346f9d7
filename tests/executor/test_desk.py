"""A permit that nobody waits for any more is given back at once, whenever it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from crewtop.executor import wire
from crewtop.executor.desk import CANCELLED, Desk
from crewtop.llm.asking import CallAsk, Denied, Permit
from crewtop.model.events import CallSettled, Event

ASK = CallAsk("c1", "openai", "gpt-4.1", 100, "support", "default", 2)
PERMIT = wire.answer("c1", Permit("c1", "openai", "gpt-4.1", None))
DENIAL = wire.answer("c1", Denied("throttled", 3.0, terminal=False))


def settled(sent: list[Event]) -> list[tuple[str, str]]:
    return [(event.settled["call_id"], event.settled["outcome"]) for event in sent if isinstance(event, CallSettled)]


def forsaken_first(desk: Desk, asked: Future[Any], answer: dict[str, Any]) -> None:
    desk.forsake(asked)
    desk.answer(answer)


def answered_first(desk: Desk, asked: Future[Any], answer: dict[str, Any]) -> None:
    desk.answer(answer)
    desk.forsake(asked)


def cancelled_by_its_loop(desk: Desk, asked: Future[Any], answer: dict[str, Any]) -> None:
    asked.cancel()
    desk.forsake(asked)
    desk.answer(answer)


@pytest.mark.parametrize("order", [forsaken_first, answered_first, cancelled_by_its_loop])
@pytest.mark.parametrize(("answer", "expected"), [(PERMIT, [("c1", "unsent")]), (DENIAL, [])])
def test_what_is_forsaken_is_given_back_once(
    order: Callable[[Desk, Future[Any], dict[str, Any]], None],
    answer: dict[str, Any],
    expected: list[tuple[str, str]],
) -> None:
    sent: list[Event] = []
    desk = Desk(sent.append, sent.append)
    order(desk, desk.ask(ASK), answer)
    assert settled(sent) == expected


async def test_what_is_waited_for_is_kept() -> None:
    sent: list[Event] = []
    desk = Desk(sent.append, sent.append)
    asked = asyncio.wrap_future(desk.ask(ASK))
    desk.answer(PERMIT)
    assert isinstance(await asked, Permit)
    assert settled(sent) == []


def test_a_cancelled_run_waits_for_nothing_and_lets_nothing_out() -> None:
    sent: list[Event] = []
    desk = Desk(sent.append, sent.append)
    waiting = desk.ask(ASK)
    desk.close()
    assert waiting.result(0) == desk.ask(replace(ASK, call_id="c2")).result(0) == CANCELLED
    desk.answer(PERMIT)  # which was on its way
    assert settled(sent) == [("c1", "unsent")]
