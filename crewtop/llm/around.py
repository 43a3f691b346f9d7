"""The layer around every call to a model, laid over CrewAI in an executor before a crew is loaded.

Whatever a crew does ends in `call` or `acall` of a subclass of CrewAI's BaseLLM: steps, planning, guardrails, memory,
function calling, streaming. Those two methods are exchanged on each subclass that is there or comes, where CrewAI
itself lays its retries around them. Around each time that a call goes out the worker is asked, the named key is put on
the client, and the end is told; what may be answered a moment later is tried again, by this layer alone.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

from crewai import Agent
from crewai.llms.base_llm import BaseLLM

from crewtop.llm.asking import CallAsk, Denied, Permit
from crewtop.llm.attempt import current
from crewtop.llm.call import FINAL, Call, Caller, Desk
from crewtop.llm.dressing import dress


def install(caller: Callable[[], Caller | None]) -> None:
    """Lay it over this process, once. caller: whose code is running; None leaves the call as CrewAI makes it."""

    def cover(kind: type[BaseLLM]) -> None:
        for name, around in (("call", _around), ("acall", _around_later)):
            if name in kind.__dict__:
                setattr(kind, name, around(kind.__dict__[name], caller))
        dress(kind)

    def init_subclass(kind: type[BaseLLM], /, **options: Any) -> None:
        original(kind, **options)
        cover(kind)

    original: Any = BaseLLM.__dict__["__init_subclass__"].__func__
    BaseLLM.__init_subclass__ = classmethod(init_subclass)  # type: ignore[assignment]
    for kind in _below(BaseLLM):
        cover(kind)
    _repeat_nothing_final()


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _repeat_nothing_final() -> None:
    """An agent does its whole step again when a call failed: not where this layer has already tried for long enough."""
    check = Agent._check_execution_error

    @functools.wraps(check)
    def check_first(agent: Agent, error: Exception, task: Any) -> None:
        if getattr(error, FINAL, False):
            raise error
        check(agent, error, task)

    Agent._check_execution_error = check_first  # type: ignore[assignment, method-assign]


def _around(method: Any, caller: Callable[[], Caller | None]) -> Any:
    once = getattr(method, "__wrapped__", method)  # without CrewAI's own retries

    @functools.wraps(method)
    def call(llm: BaseLLM, messages: Any, *args: Any, **named: Any) -> Any:
        attempt = current.get()
        if attempt is not None and attempt.llm is llm:
            return once(llm, messages, *args, **named)
        run = caller()
        if run is None:
            return method(llm, messages, *args, **named)
        at_work = Call(run, llm, messages, *_tools_and_task(*args, **named))
        while True:
            attempt = at_work.let_out(run.desk.ask(at_work.ask()).result())
            if attempt is None:
                continue
            try:
                with at_work.under_way(attempt):
                    answer = attempt.llm.call(at_work.fitted(attempt), *args, **named)
            except BaseException as error:
                pause = at_work.failed(attempt, error)
                if pause is None:
                    raise
            else:
                at_work.answered(attempt)
                return answer
            time.sleep(pause)

    return call


def _around_later(method: Any, caller: Callable[[], Caller | None]) -> Any:
    once = getattr(method, "__wrapped__", method)

    @functools.wraps(method)
    async def acall(llm: BaseLLM, messages: Any, *args: Any, **named: Any) -> Any:
        attempt = current.get()
        if attempt is not None and attempt.llm is llm:
            return await once(llm, messages, *args, **named)
        run = caller()
        if run is None:
            return await method(llm, messages, *args, **named)
        at_work = Call(run, llm, messages, *_tools_and_task(*args, **named))
        while True:
            attempt = at_work.let_out(await _answer(run.desk, at_work.ask()))
            if attempt is None:
                continue
            try:
                with at_work.under_way(attempt):
                    answer = await attempt.llm.acall(at_work.fitted(attempt), *args, **named)
            except BaseException as error:
                pause = at_work.failed(attempt, error)
                if pause is None:
                    raise
            else:
                at_work.answered(attempt)
                return answer
            await asyncio.sleep(pause)

    return acall


async def _answer(desk: Desk, ask: CallAsk) -> Permit | Denied:
    """What the worker says. Whoever is cancelled meanwhile holds no permit that comes too late for it."""
    asked = desk.ask(ask)
    try:
        return await asyncio.wrap_future(asked)
    except asyncio.CancelledError:
        desk.forsake(asked)
        raise


def _tools_and_task(
    tools: Any = None,
    callbacks: Any = None,
    available_functions: Any = None,
    from_task: Any = None,
    *_: Any,
    **__: Any,
) -> tuple[Any, Any]:
    """What matters of what CrewAI gives along with the messages."""
    return tools, from_task
