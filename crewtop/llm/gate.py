"""Through which every call of a worker's crews to a model goes: none is let out that the provider would refuse."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

from crewtop.live.allowances import Allowance, Ended, SharedAllowances
from crewtop.llm.allowances import LONGEST_PAUSE_SECONDS, PAUSE_SECONDS, Pace
from crewtop.llm.asking import CallAsk, Denied, Fault, Outcome, Permit, Settled
from crewtop.llm.group import Group, Out, Ready
from crewtop.llm.keys import KeyPool
from crewtop.llm.line import Waiter
from crewtop.llm.meter import Meter
from crewtop.llm.reckoning import Reckoning
from crewtop.llm.teller import Teller, Way
from crewtop.model.allowance import AllowanceState, Limits

ANY, OWN_KEY = "*", "-"
"""All models together; a key that the crew brings itself."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What limits calls. limits: by 'provider/model', or 'provider' for all its models together, for each key.

    patience: seconds that a call waits before it is denied; what cannot go out in time is denied at once.
    """

    limits: Mapping[str, Limits]
    patience: float


class Gate:
    """One worker's. `async with` it.

    shared: the limits in Redis, None where there is none. keys: which keys are ready; the gate only reads the pool:
    tell it of a refusal before the gate, or the next call may get the same key. workers: how many workers live, as far
    as is known without Redis. clock: monotonic seconds.
    """

    def __init__(
        self,
        shared: SharedAllowances | None,
        rules: Rules,
        keys: KeyPool,
        workers: Callable[[], int] = lambda: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shared, self._rules, self._keys = shared, rules, keys
        self._workers, self._clock = workers, clock
        self._reckoning = Reckoning()
        self._meters: dict[Allowance, Meter] = {}
        self._groups: dict[tuple[str, str], Group] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._out: dict[str, tuple[Group, Out]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for group in self._groups.values():
            group.close()
        await asyncio.gather(*self._tasks)

    async def enter(self, ask: CallAsk, waited: float = 0.0) -> Permit | Denied:
        """Wait until the call may go out, or until it is clear that it may not in time.

        waited: seconds of its patience that are spent already.
        A cancelled wait costs nothing. Every permit has to be settled, or told to be lost.
        """
        group = self._group(ask.provider, ask.model)
        now = self._clock()
        gives_up = now + max(0.0, self._rules.patience - waited)
        waiter = Waiter(ask, asyncio.get_running_loop().create_future(), now, gives_up, ask.tokens)
        group.join(waiter)
        try:
            return await waiter.answer
        except asyncio.CancelledError:
            group.leave(waiter)
            self._end(Ended(ask.call_id, (), unsent=True))
            raise

    async def settle(self, settled: Settled) -> None:
        """A permitted call has ended: count what it really used. One that is unknown, or settled before, is ignored."""
        found = self._out.get(settled.call_id)
        if found is None:
            return
        group, out = found
        now, pace = self._clock(), out.meters[-1].pace
        if settled.headers:
            group.judge(out, settled.headers)
        if settled.outcome is Outcome.ANSWERED:
            pace.answered(now, out.permitted_at, len(out.meters[-1].flying))
            if settled.tokens is not None:
                self._reckoning.tell(out.ask, settled.tokens)
        pause = _pause(settled)
        if pause is not None and settled.fault is not Fault.OVERLOADED:
            pace.refused(now, out.permitted_at, pause)
        tokens = 0 if settled.outcome is Outcome.REFUSED and settled.tokens is None else settled.tokens
        self._end(Ended(settled.call_id, (), tokens, settled.outcome is Outcome.UNSENT, pause))

    async def lost(self, call_ids: Iterable[str]) -> None:
        """The run of these calls died: those that still wait are forgotten, those that were out may have been spent."""
        calls = frozenset(call_ids)
        for group in self._groups.values():
            group.drop(calls)
        for call in calls:
            self._end(Ended(call, ()))

    def states(self) -> Sequence[AllowanceState]:
        """How the allowances stand that this worker uses, by name; for when there is no Redis to ask."""
        states = [state for group in self._groups.values() for state in group.states()]
        return sorted(states, key=lambda state: (state.provider, state.model, state.key))

    def _end(self, ended: Ended) -> None:
        if found := self._out.pop(ended.call, None):
            group, out = found
            group.end(out, ended)

    def _permitted(self, group: Group, call: str, out: Out) -> None:
        self._out[call] = (group, out)

    def _group(self, provider: str, model: str) -> Group:
        group = self._groups.get((provider, model))
        if group is None:
            group = self._groups[provider, model] = Group(
                provider,
                model,
                partial(self._ready, provider, model),
                Teller(self._shared, provider, model) if self._shared else None,
                self._turns.setdefault(provider, asyncio.Lock()),
                self._clock,
                self._workers,
                self._reckoning.tokens,
                self._permitted,
            )
            self._tasks.append(asyncio.create_task(group.serve(), name=f"limits of {provider}/{model}"))
        return group

    def _ready(self, provider: str, model: str) -> Ready:
        if not self._keys.has(provider):
            return Ready([Way(None, self._meters_of(provider, model, OWN_KEY))], 0.0)
        ways = [Way(name, self._meters_of(provider, model, name)) for name in self._keys.ready(provider, model)]
        return Ready(ways, self._keys.rest_seconds(provider, model))

    def _meters_of(self, provider: str, model: str, key: str) -> list[Meter]:
        """All models together, where that is limited, then the model."""
        together = self._rules.limits.get(provider)
        meters = [self._meter(Allowance(provider, ANY, key), together)] if together else []
        own = self._rules.limits.get(f"{provider}/{model}", Limits())
        return [*meters, self._meter(Allowance(provider, model, key), own, elsewhere=together is not None)]

    def _meter(self, allowance: Allowance, limits: Limits, *, elsewhere: bool = False) -> Meter:
        if allowance not in self._meters:
            self._meters[allowance] = Meter(allowance, Pace(limits, elsewhere=elsewhere))
        return self._meters[allowance]


def _pause(settled: Settled) -> float | None:
    """Seconds for which the provider wants no more calls with this key, None where it did not say so."""
    if settled.fault is Fault.OVERLOADED:
        return None if settled.retry_after is None else min(settled.retry_after, LONGEST_PAUSE_SECONDS)
    if settled.status != 429 or settled.fault not in (Fault.RATE_LIMIT, None):
        return None
    return PAUSE_SECONDS if settled.retry_after is None else min(settled.retry_after, LONGEST_PAUSE_SECONDS)
