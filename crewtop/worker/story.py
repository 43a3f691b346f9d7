"""One run's events turned into what is recorded of it: calls with their prices, steps, progress."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from crewtop.llm.asking import Permit
from crewtop.llm.prices import Price, price
from crewtop.model.events import (
    CallEnded,
    CallStarted,
    Event,
    Loaded,
    Resumed,
    StepEnded,
    StepStarted,
    ToolUsed,
)
from crewtop.model.ledger import CallEntry, KeptSteps, Progress, StepEntry, ToolEntry
from crewtop.model.pricing import Rates, tokens
from crewtop.model.stuck import CALLABLE
from crewtop.model.task import Claim
from crewtop.text import storable, storable_json
from crewtop.worker.calls import Asked

NAME_CHARACTERS = 200
DESCRIPTION_CHARACTERS = 16_384
CALL_ERROR_CHARACTERS = 2_000
CUT_CHARACTERS = 2_000
USAGE_CHARACTERS = 2_000
TOOL_ERROR_CHARACTERS = 2_000
MOST_TOOLS = 500
"""Uses of tools that are kept of a run: one that goes round in circles shall not fill the database."""
WAITING = Price(None, "waiting for the answer")
NOT_BILLED = Price(Decimal(0), "not billed: the provider refused the call")

Entry = CallEntry | StepEntry | ToolEntry | KeptSteps | Progress


@dataclass(slots=True)
class Story:
    """What is known of a run so far. own: the user's prices; asked: its calls that this worker let out; moved: the
    second of the last event; doing: what then was; throttled_by: the last provider that said 429.

    Entries carry the monotonic second of their event in started_ago or ago, for the recorder to turn into an age.
    """

    claim: Claim
    own: Mapping[str, Rates]
    asked: dict[str, Asked] = field(default_factory=dict)
    step_count: int | None = None
    moved: float = 0.0
    doing: str = "starting"
    throttled_by: str | None = None
    _steps: dict[int, StepStarted] = field(default_factory=dict)
    _calls: dict[str, CallStarted] = field(default_factory=dict)
    _tools: dict[str, tuple[int, ToolUsed]] = field(default_factory=dict)
    _tools_used: int = 0

    @property
    def unanswered(self) -> bool:
        """Whether a call began and has not ended: if the run is over, its cost is unknown."""
        return bool(self._calls)

    def tell(self, event: Event) -> list[Entry]:
        """What an event adds to the record."""
        match event:
            case Loaded():
                self.step_count = event.step_count
                doing = CALLABLE if event.kind == "callable" else "starting"
                return [self._progress(event.at, None, None, doing)]
            case Resumed():
                return [KeptSteps(self.claim.run_id, self.claim.task_id, event.run_id, event.position)]
            case StepStarted():
                self._steps[event.position] = event
                return [
                    self._step(event, "running", None, None, None),
                    self._progress(event.at, event.position, event.agent, "thinking"),
                ]
            case StepEnded():
                return self._step_ended(event)
            case CallStarted():
                self._calls[event.call_id] = event
                if asked := self.asked.get(event.call_id):
                    asked.told = True
                return [
                    self._call(event, "started", None, WAITING, None),
                    self._progress(event.at, event.position, event.agent, f"LLM call to {event.model}"),
                ]
            case CallEnded():
                return self._call_ended(event)
            case ToolUsed(outcome=None):
                return [*self._tool_began(event), self._progress(event.at, event.position, None, f"tool {event.tool}")]
            case ToolUsed():
                return [*self._tool_ended(event), self._progress(event.at, None, None, "thinking")]
            case _:
                return [self._progress(event.at, None, None, None)]

    def let_out(self, asked: Asked, permit: Permit) -> CallEntry:
        """The start of a call that is about to go out, as far as its worker knows it."""
        ask = asked.ask
        began = CallStarted(time.monotonic(), ask.call_id, permit.provider, permit.model, None, ask.step)
        return self._call(began, "started", None, WAITING, None)

    def _step_ended(self, event: StepEnded) -> list[Entry]:
        started = self._steps.pop(event.position, None)
        if started is None:
            return []
        status = "failed" if event.error is not None else "completed"
        return [
            self._step(started, status, event.output, event.error, event.at - started.at, event.receipt),
            self._progress(event.at, None, None, None),
        ]

    def _call_ended(self, event: CallEnded) -> list[Entry]:
        started = self._calls.pop(event.call_id, None)
        if started is None:
            return []
        if event.outcome == "rate_limited":
            self.throttled_by = _name(started.provider)
        return [
            self._call(started, event.outcome, event.at - started.at, self._priced(started, event), event),
            self._progress(event.at, None, None, "thinking"),
        ]

    def _tool_began(self, event: ToolUsed) -> list[Entry]:
        self._tools_used += 1
        if self._tools_used > MOST_TOOLS:
            return []
        self._tools[event.use_id] = self._tools_used, event
        return [self._tool(self._tools_used, event, "started", None, None)]

    def _tool_ended(self, event: ToolUsed) -> list[Entry]:
        of_that_name = (use_id for use_id, (_, began) in reversed(self._tools.items()) if began.tool == event.tool)
        use_id = event.use_id if event.use_id in self._tools else next(of_that_name, None)
        if use_id is None:
            return []
        number, began = self._tools.pop(use_id)
        return [self._tool(number, began, event.outcome or "ok", event.error, event.at - began.at)]

    def _tool(self, number: int, began: ToolUsed, outcome: str, error: str | None, seconds: float | None) -> ToolEntry:
        return ToolEntry(
            run_id=self.claim.run_id,
            task_id=self.claim.task_id,
            number=number,
            step_position=began.position,
            tool=_name(began.tool) or "a tool",
            outcome=outcome,
            error=_text(error, TOOL_ERROR_CHARACTERS),
            started_ago=began.at,
            seconds=max(0.0, seconds) if seconds is not None else None,
        )

    def _priced(self, started: CallStarted, event: CallEnded) -> Price:
        if event.outcome == "ok" or event.usage:  # whatever came of it, what the provider reports it bills
            return price(started.provider, started.model, tokens(event.usage), self.own)
        if event.outcome in ("rate_limited", "refused"):
            return NOT_BILLED
        return Price(None, "unknown: the call failed without an answer")

    def _call(
        self, started: CallStarted, outcome: str, seconds: float | None, priced: Price, ended: CallEnded | None
    ) -> CallEntry:
        usage = _usage_text(ended.usage) if ended is not None and ended.usage else None
        asked = self.asked.get(started.call_id.partition("/")[0])  # a repeat of CrewAI's own has the same permit
        return CallEntry(
            run_id=self.claim.run_id,
            task_id=self.claim.task_id,
            call_id=_name(started.call_id) or "?",
            step_position=started.position,
            agent=_name(started.agent),
            provider=_name(started.provider),
            model=_name(started.model) or "?",
            outcome=outcome,
            started_ago=started.at,
            seconds=max(0.0, seconds) if seconds is not None else None,
            tokens=tokens(ended.usage) if ended is not None else None,
            cost=priced.cost,
            price_source=priced.source,
            usage=usage,
            finish_reason=_name(ended.finish_reason) if ended is not None else None,
            error=_text(ended.error, CALL_ERROR_CHARACTERS) if ended is not None else None,
            route=asked.route() if asked else None,
            estimated_tokens=asked.ask.tokens if asked else None,
            context_cut=_text(started.cut, CUT_CHARACTERS),
            waited_seconds=asked.permit.waited if asked and asked.permit else None,
            key_tail=asked.key_tail if asked else None,
        )

    def _step(
        self,
        started: StepStarted,
        status: str,
        output: str | None,
        error: str | None,
        seconds: float | None,
        receipt: str | None = None,
    ) -> StepEntry:
        return StepEntry(
            run_id=self.claim.run_id,
            task_id=self.claim.task_id,
            position=started.position,
            name=_name(started.name) or f"step {started.position}",
            agent=_name(started.agent),
            description=_text(started.description, DESCRIPTION_CHARACTERS),
            status=status,
            output=_text(output),
            error=_text(error),
            started_ago=started.at,
            seconds=max(0.0, seconds) if seconds is not None else None,
            receipt=receipt,
        )

    def _progress(self, at: float, position: int | None, agent: str | None, activity: str | None) -> Progress:
        self.moved, self.doing = at, activity or self.doing
        return Progress(
            self.claim.run_id, self.claim.task_id, position, self.step_count, _name(agent), _name(activity), at
        )


def _usage_text(usage: dict[str, Any]) -> str:
    """A provider's usage as JSON text that PostgreSQL takes; what is no JSON, such as NaN, is kept in quotes."""
    try:
        text = json.dumps(usage, allow_nan=False)
    except (TypeError, ValueError):
        text = json.dumps({"unreadable": repr(usage)[:USAGE_CHARACTERS]})
    return storable_json(text)[0]


def _text(text: str | None, limit: int | None = None) -> str | None:
    return storable(text[:limit])[0] if text is not None else None


def _name(text: str | None) -> str | None:
    return _text(text, NAME_CHARACTERS)
