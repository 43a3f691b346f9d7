"""The worker's end of every call to a model: where it goes, whether and when, and what is learned from its end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import structlog

from crewtop.executor import wire
from crewtop.llm.asking import CallAsk, Denied, Fault, Outcome, Permit, PromptShape, Settled
from crewtop.llm.breaker import COUNTED, Breakers, BreakerState
from crewtop.llm.keys import KeyMissing, KeyPool, KeyState, last_characters, secret
from crewtop.llm.routes import AUTO, Choice, Down, Model, Prices, Routes, choose
from crewtop.model.errors import CrewtopError
from crewtop.model.ledger import CallEntry
from crewtop.worker.starts import Starts

log = structlog.get_logger()

NO_PROMPT = PromptShape(0, 0)


class Gate(Protocol):
    """What limits calls: crewtop.llm.gate."""

    async def enter(self, ask: CallAsk, waited: float) -> Permit | Denied:
        """Wait until the call may go out, or until it is clear that it may not in time; it has waited before."""

    async def settle(self, settled: Settled) -> None:
        """Count what it really used."""

    async def lost(self, call_ids: Iterable[str]) -> None:
        """The run of these calls died."""


@dataclass(slots=True)
class Asked:
    """A call that asked. permit None: it waits. choice: where it was sent. key_tail: the last characters of the key
    that pays for it, None for the crew's own. start: its row in the ledger, written before it went out; told: whether
    CrewAI has told of it since.
    """

    ask: CallAsk
    permit: Permit | None = None
    choice: Choice | None = None
    key_tail: str | None = None
    waiting: asyncio.Task[None] | None = None
    start: CallEntry | None = None
    told: bool = False

    def route(self) -> str:
        """As JSON text: what was asked for, where it went and why, and the shape of its prompt."""
        asked = self.ask
        told: dict[str, Any] = {"asked": f"{asked.provider}/{asked.model}", "tag": asked.tag}
        if self.choice is not None:
            told |= self.choice.as_json()
        return json.dumps(told | {"prompt": asdict(asked.prompt or NO_PROMPT)})


@dataclass(slots=True)
class RunsCalls:
    """Those of one run that are not over. let_out: the row of one that is about to go out. kept: returns when the
    steps that the run has completed are stored. denied_by: the provider whose limit it met last. cut: whether the run
    ended while one was out.
    """

    let_out: Callable[[Asked, Permit], CallEntry] | None = None
    kept: Callable[[], Awaitable[None]] | None = None
    asked: dict[str, Asked] = field(default_factory=dict)
    denied_by: str | None = None
    cut: bool = False


class Calls:
    """All runs' of a worker. patience: seconds that a call waits in its slot for a breaker. starts: where calls are
    written down before they go out, None: nowhere.
    """

    def __init__(
        self,
        gate: Gate,
        keys: KeyPool,
        breakers: Breakers,
        routes: Routes,
        prices: Prices,
        patience: float,
        starts: Starts | None = None,
    ) -> None:
        self._gate = gate
        self._keys = keys
        self._breakers = breakers
        self._routes = routes
        self._prices = prices
        self._patience = patience
        self._starts = starts
        self._lost: set[asyncio.Task[None]] = set()

    def asked(self, run: RunsCalls, fields: Mapping[str, Any], reply: Callable[[dict[str, Any]], None]) -> None:
        """A call asks to go out: reply is called with the answer, which may take as long as limits last."""
        ask = _ask(fields)
        entry = run.asked[ask.call_id] = Asked(ask)
        entry.waiting = asyncio.create_task(self._answer(run, entry, reply))

    async def settled(self, run: RunsCalls, fields: Mapping[str, Any]) -> None:
        """A call is over: keys, breakers and limits learn from its end, in this order."""
        settled = _settled(fields)
        entry = run.asked.pop(settled.call_id, None)
        if entry is None or entry.permit is None:
            return
        permit = entry.permit
        if self._starts is not None and entry.start is not None and not entry.told:
            self._starts.take_back(entry.start)
        if settled.fault is not None and permit.key is not None:
            alert = self._keys.failed(permit.provider, permit.key, permit.model, settled.fault, settled.retry_after)
            if alert is not None:
                log.error("key retired", alert=alert)
        if opened := self._judge(permit, settled):
            log.warning("breaker opened", what=opened)
        await self._gate.settle(settled)

    def over(self, run: RunsCalls) -> None:
        """A run has ended, whatever its calls were at: what waits is forgotten, what is out may have been spent."""
        for entry in run.asked.values():
            if entry.waiting is not None:
                entry.waiting.cancel()
            if entry.permit is not None:
                run.cut = True
                self._breakers.unsent(entry.permit.provider, entry.permit.model)
        if run.asked:
            lost = asyncio.create_task(self._gate.lost(list(run.asked)))
            self._lost.add(lost)
            lost.add_done_callback(self._lost.discard)
        run.asked = {}

    def breaker_states(self) -> tuple[BreakerState, ...]:
        """Which models are in trouble."""
        return self._breakers.states()

    def key_states(self) -> tuple[KeyState, ...]:
        """How the keys stand."""
        return self._keys.states()

    async def _answer(self, run: RunsCalls, entry: Asked, reply: Callable[[dict[str, Any]], None]) -> None:
        call_id = entry.ask.call_id
        if run.kept is not None:
            await run.kept()
        try:
            answer = await self._let_out(entry)
        except CrewtopError as error:
            answer = Denied(str(error), None, terminal=True)
        except Exception as error:
            log.exception("a call could not be judged", call=call_id)
            answer = Denied(f"its worker went wrong: {type(error).__name__}", None, terminal=False)
        if isinstance(answer, Denied):
            run.asked.pop(call_id, None)
            if not answer.terminal:
                run.denied_by = entry.choice.provider if entry.choice else entry.ask.provider
        else:
            entry.permit = answer
            entry.key_tail = _tail(answer.key) if answer.key else None
            if self._starts is not None and run.let_out is not None:
                entry.start = run.let_out(entry, answer)
                await self._starts.write(entry.start)
        reply(wire.answer(call_id, answer))

    async def _let_out(self, entry: Asked) -> Permit | Denied:
        began = time.monotonic()
        entry.choice = choice = choose(entry.ask, entry.ask.prompt or NO_PROMPT, self._routes, self._prices, self._down)
        if AUTO in (choice.provider, choice.model):
            raise CrewtopError('model "auto" and no model to choose: add [llm.routes.models] to crewtop.toml')
        provider, model = choice.provider, choice.model
        if self._keys.spent(provider):
            return Denied(f"every key of {provider} is retired: see this worker's log", None, terminal=True)
        while (wait := self._breakers.wait_seconds(provider, model)) > 0:
            if time.monotonic() - began + wait > self._patience:
                return Denied(f"{provider}/{model} does not answer; tried again in {wait:.0f} s", wait, terminal=False)
            await asyncio.sleep(wait)
        answer = await self._enter(replace(entry.ask, provider=provider, model=model), time.monotonic() - began)
        if isinstance(answer, Denied):
            return answer
        return replace(answer, reason=choice.reason, waited=time.monotonic() - began)

    async def _enter(self, ask: CallAsk, waited: float) -> Permit | Denied:
        try:
            answer = await self._gate.enter(ask, waited)
        except BaseException:
            self._breakers.unsent(ask.provider, ask.model)
            raise
        if isinstance(answer, Denied):
            self._breakers.unsent(ask.provider, ask.model)
        return answer

    def _judge(self, permit: Permit, settled: Settled) -> str | None:
        """What a call's end says of the model: answers a line where that opens its breaker."""
        where = permit.provider, permit.model
        if settled.outcome is Outcome.ANSWERED:
            self._breakers.answered(*where)
        elif settled.fault is Fault.RATE_LIMIT:
            rest = settled.retry_after if permit.key is None else self._keys.rest_seconds(*where)
            if rest:
                return self._breakers.throttled(*where, rest)
            self._breakers.unsent(*where)
        elif settled.fault is None or _says_nothing(settled.fault, settled.outcome):
            self._breakers.unsent(*where)
        else:
            return self._breakers.failed(*where, settled.fault)
        return None

    def _down(self, model: Model) -> Down | None:
        for state in self._breakers.states():
            if (state.provider, state.model) != (model.provider, model.name) or state.status == "closed":
                continue
            if state.status == "half-open" or state.resumes_in > 0:  # else this call tries it, or none ever would
                return Down(state.why, state.resumes_in, broken=state.why != "throttled")
        if self._keys.spent(model.provider):
            return Down("without a key", None)
        return None


def _says_nothing(fault: Fault, outcome: Outcome) -> bool:
    """Whether nobody knows if the provider was there: the call went nowhere, or the crew itself gave it up."""
    return fault in (Fault.BLOCKED, Fault.OTHER) or (outcome is Outcome.UNSENT and fault not in COUNTED)


def _tail(key: str) -> str | None:
    try:
        return last_characters(secret(key)).removeprefix("…") or None
    except KeyMissing:
        return None  # the executor will say so


def _ask(fields: Mapping[str, Any]) -> CallAsk:
    prompt = fields["prompt"]
    return CallAsk(**{**fields, "prompt": PromptShape(**prompt) if prompt else None})


def _settled(fields: Mapping[str, Any]) -> Settled:
    fault = fields["fault"]
    return Settled(**{**fields, "outcome": Outcome(fields["outcome"]), "fault": Fault(fault) if fault else None})
