"""From CrewAI's event bus to crewtop's events."""

from __future__ import annotations

import contextvars
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from crewai.events import (
    LLMCallCompletedEvent,
    LLMCallFailedEvent,
    LLMCallStartedEvent,
    TaskCompletedEvent,
    TaskFailedEvent,
    TaskStartedEvent,
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    ToolUsageStartedEvent,
    crewai_event_bus,
)
from crewai.events.stream_context import add_stream_sink

from crewtop.executor.failures import call_failure, cut_middle
from crewtop.executor.resume import receipt
from crewtop.llm.attempt import current
from crewtop.llm.substitute import provider_and_model
from crewtop.model.events import CallEnded, CallStarted, Event, StepEnded, StepStarted, ToolUsed

_LOG = logging.getLogger(__name__)
_MOST_TEXT = 4 * 1024 * 1024
_MOST_ENDED_CALLS = 1000
_MOST_STEPS = 10_000
_FLUSH_SECONDS = 5.0

_heard_at_once: contextvars.ContextVar[bool] = contextvars.ContextVar("crewtop_heard_at_once", default=False)


class Reports(Protocol):
    """Where to report: a run's Reporter."""

    def send(self, event: Event) -> None:
        """Tell of an event before the caller goes on."""


class Listener:
    """Reports steps, calls and tools as they happen.

    Events are taken by a stream sink: it runs in the thread that emits, so that a call is on its way to the worker
    before the crew goes on, a worker that does not read makes the crew wait, and a failing call's exception is still at
    hand. A sink belongs to a context, and a thread that the crew's code started itself has another: what happens there
    comes through the bus's own handlers, a little later.
    """

    def __init__(self, reporter: Reports) -> None:
        self._send = reporter.send
        self._lock = threading.RLock()
        self._positions: dict[str, int] = {}
        self._steps: int | None = 0
        self._open_calls: set[str] = set()
        self._ended_calls: dict[str, int] = {}
        self._handlers: dict[type[Any], Callable[[Any, Any], None]] = {
            TaskStartedEvent: self._step_started,
            TaskCompletedEvent: self._step_completed,
            TaskFailedEvent: self._step_failed,
            LLMCallStartedEvent: self._call_started,
            LLMCallCompletedEvent: self._call_completed,
            LLMCallFailedEvent: self._call_failed,
            ToolUsageStartedEvent: self._tool_started,
            ToolUsageFinishedEvent: self._tool_finished,
            ToolUsageErrorEvent: self._tool_failed,
        }

    def attach(self) -> None:
        """Listen from now on, in this context and in all others."""
        add_stream_sink(self.take)
        _heard_at_once.set(True)
        for kind in self._handlers:
            crewai_event_bus.register_handler(kind, self._take_elsewhere)

    def number(self, tasks: Iterable[Any]) -> None:
        """Fix the positions of a crew's tasks, from 1; others, such as a planner's, are then no steps.

        Without it, steps are numbered as they start, up to 10,000.
        """
        self._positions = {str(task.id): position for position, task in enumerate(tasks, start=1)}
        self._steps = None

    def position(self, task_id: str) -> int | None:
        """The step that a CrewAI task is, None where it is none."""
        return self._positions.get(task_id)

    def flush(self) -> None:
        """Wait until the bus has handed on all events of the past, for at most five seconds."""
        crewai_event_bus.flush(_FLUSH_SECONDS)

    def _take_elsewhere(self, source: Any, event: Any) -> None:
        if not _heard_at_once.get():  # handlers run in a copy of the emitter's context
            self.take(source, event)

    @property
    def open_calls(self) -> int:
        """How many calls to a model wait for their answer."""
        return len(self._open_calls)

    def take(self, source: Any, event: Any) -> None:
        """Report an event of CrewAI's, if it is of a kind that is reported."""
        handler = self._handlers.get(type(event))
        if handler is None:
            return
        try:
            with self._lock:
                handler(source, event)
        except Exception:  # whatever CrewAI's events hold, the crew itself must not fail on being watched
            _LOG.exception("the event %s could not be reported", type(event).__name__)

    def _step_started(self, task: Any, event: Any) -> None:
        position = self._place(str(task.id))
        if position is None:
            return
        name = _label(task.name or task.description) or f"step {position}"
        agent = _label(getattr(task.agent, "role", None))
        self._send(StepStarted(time.monotonic(), position, name, agent, _text(task.description)))

    def _step_completed(self, task: Any, event: Any) -> None:
        self._step_ended(task, _text(event.output.raw), None, self._receipt(task, event.output))

    def _receipt(self, task: Any, output: Any) -> str | None:
        """None where it would be no use: only a whole crew is resumed, and only from what is stored uncut."""
        text = receipt(task, output) if self._steps is None and len(output.raw) <= _MOST_TEXT else None
        return text if text and len(text) <= _MOST_TEXT else None

    def _step_failed(self, task: Any, event: Any) -> None:
        self._step_ended(task, None, _text(event.error))

    def _step_ended(self, task: Any, output: str | None, error: str | None, paid_for: str | None = None) -> None:
        position = self._positions.get(str(task.id))
        if position is not None:
            self._send(StepEnded(time.monotonic(), position, output, error, paid_for))

    def _place(self, task_id: str) -> int | None:
        if self._steps is not None and self._steps < _MOST_STEPS:
            self._steps += 1
            self._positions[task_id] = self._steps  # a task that runs twice is two steps
        return self._positions.get(task_id)

    def _call_started(self, llm: Any, event: Any) -> None:
        call_id = _call_id(event)
        if call_id not in self._ended_calls:  # the bus's handlers may overtake one another
            self._open(call_id, llm, event)

    def _call_completed(self, llm: Any, event: Any) -> None:
        call_id = _call_id(event)
        if repeats := self._ended_calls.get(call_id):
            # One of CrewAI's calls can be several requests: a model's 404, then the same on another API, or a tool's
            # result sent on. Each costs, so each is a call here.
            self._ended_calls[call_id] = repeats + 1
            call_id = f"{call_id}/{repeats + 1}"
        self._close(call_id, llm, event, "ok", usage=_usage(event.usage), finish_reason=event.finish_reason)

    def _call_failed(self, llm: Any, event: Any) -> None:
        call_id = _call_id(event)
        if call_id in self._ended_calls:
            return  # CrewAI tells of most failures twice
        outcome, error = call_failure(sys.exc_info()[1], event.error)
        self._close(call_id, llm, event, outcome, error=error)

    def _open(self, call_id: str, llm: Any, event: Any) -> None:
        self._open_calls.add(call_id)
        provider, model = provider_and_model(llm, event.model)
        position = self._positions.get(event.task_id or "")
        attempt = current.get()
        cut = attempt.cut if attempt else None
        self._send(CallStarted(time.monotonic(), call_id, provider, model, _label(event.agent_role), position, cut))

    def _close(
        self,
        call_id: str,
        llm: Any,
        event: Any,
        outcome: str,
        usage: dict[str, Any] | None = None,
        finish_reason: str | None = None,
        error: str | None = None,
    ) -> None:
        if call_id not in self._open_calls:
            self._open(call_id, llm, event)
        self._open_calls.discard(call_id)
        self._ended_calls.setdefault(call_id, 1)
        if len(self._ended_calls) > _MOST_ENDED_CALLS:
            del self._ended_calls[next(iter(self._ended_calls))]
        self._send(CallEnded(time.monotonic(), call_id, outcome, usage, finish_reason, error))

    def _tool_started(self, source: Any, event: Any) -> None:
        self._tool(event, str(event.event_id), None)

    def _tool_finished(self, source: Any, event: Any) -> None:
        failure = event.failure
        outcome, error = ("error", str(failure)) if failure else ("ok", None)
        self._tool(event, event.started_event_id or "", outcome, error)

    def _tool_failed(self, source: Any, event: Any) -> None:
        self._tool(event, event.started_event_id or "", "error", str(event.error))

    def _tool(self, event: Any, use_id: str, outcome: str | None, error: str | None = None) -> None:
        name = _label(event.tool_name) or "a tool"
        position = self._positions.get(event.task_id or "")
        self._send(ToolUsed(time.monotonic(), name, outcome, _text(error), use_id, position))


def _label(value: str | None) -> str | None:
    """A name without the line break that a block of YAML leaves at its end."""
    return cut_middle(value.strip(), 200) if value else None


def _text(value: str | None) -> str | None:
    return None if value is None else cut_middle(value, _MOST_TEXT)


def _usage(usage: Any) -> dict[str, Any] | None:
    """The usage, or None for unknown: CrewAI turns an answer without usage into nothing or into zeros."""
    if not isinstance(usage, dict) or not any(
        isinstance(count, (int, float)) and count > 0 for count in usage.values()
    ):
        return None
    try:
        json.dumps(usage, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return usage


def _call_id(event: Any) -> str:
    """The one that the worker was asked with, where it was, else CrewAI's."""
    attempt = current.get()
    return attempt.call_id if attempt else str(event.call_id)
