"""Minutes in moments: an event loop whose clock jumps to what is due next, and a provider that counts by it."""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from redis import Redis

from crewtop.demo.provider.behaviour import Behaviour
from crewtop.demo.provider.limits import Meters
from crewtop.live.allowances import SharedAllowances
from crewtop.llm.asking import CallAsk, Denied, Fault, Outcome, Permit, Settled
from crewtop.llm.gate import Gate, Rules
from crewtop.llm.keys import KeyPool
from crewtop.model.allowance import AllowanceState, Limits

T = TypeVar("T")
MODEL = "gpt-4.1"


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Where nothing is to be done its clock jumps: nothing in it may wait for the world outside."""

    def __init__(self) -> None:
        super().__init__(_Selector(self))
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            return super().select(10.0)
        self._loop.now += max(0.0, timeout)
        return []


def simulate(world: Coroutine[Any, Any, T]) -> T:
    """Run it on a clock of its own."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(world)


def now() -> float:
    return asyncio.get_running_loop().time()


class Shared(SharedAllowances):
    """The real thing on the simulated clock, which stands while Redis answers; away: without a connection."""

    away = False

    def __init__(self, url: str, worker: str, now: Callable[[], float]) -> None:
        super().__init__(url, worker, now)
        self._client = Redis.from_url(url, decode_responses=True)

    async def _attempt(self, ask: Callable[[Any], Awaitable[T]]) -> T | None:
        return None if self.away else await ask(_AtOnce(self._client))

    async def show(self, states: Sequence[AllowanceState]) -> None:
        """Nobody watches."""

    async def close(self) -> None:
        self._client.close()


class _AtOnce:
    """A client that does not keep the simulated clock waiting for its answers."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def __getattr__(self, command: str) -> Callable[..., Awaitable[Any]]:
        return _at_once(getattr(self._client, command))


def _at_once(ask: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def answer(*args: Any, **named: Any) -> Any:
        await asyncio.sleep(0)  # others go on meanwhile
        found = ask(*args, **named)
        await asyncio.sleep(0)
        return found

    return answer


@dataclass
class World:
    """A provider with limits, and what calls it. admitted: moments and tokens; refused: the moments of its 429s."""

    limits: Limits
    latency: tuple[float, float] = (1.0, 1.0)
    on_the_way: tuple[float, float] = (0.0, 0.0)
    tokens: tuple[int, int] = (100, 100)
    estimate: int = 100
    seed: int = 1
    headers: bool = False
    dead_keys: Sequence[str] = ()
    storm_until: float = 0.0
    admitted: list[tuple[float, int]] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    waited: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._calls = 0
        limits = self.limits
        behaviour = Behaviour(
            requests_per_minute=limits.requests_per_minute,
            tokens_per_minute=limits.tokens_per_minute,
            at_once=limits.at_once,
        )
        self.meters = Meters(behaviour)

    async def call(self, gate: Gate, queue: str = "support", priority: int = 3) -> Permit | Denied:
        """One call of a crew: ask, send it, tell what became of it."""
        self._calls += 1
        ask = CallAsk(f"c{self._calls}", "openai", MODEL, self.estimate, "crew", queue, priority)
        permit = await gate.enter(ask)
        if isinstance(permit, Permit):
            self.waited[permit.call_id] = permit.waited
            await asyncio.sleep(self.random.uniform(*self.on_the_way))
            await gate.settle(await self.provider(permit))
        return permit

    async def provider(self, permit: Permit) -> Settled:
        """What the provider does with it."""
        meter, tokens = self.meters.of(permit.key or "-", permit.model), self.random.randint(*self.tokens)
        if now() < self.storm_until:
            self.refused.append(now())
            return self._refusal(permit, 30.0, {})
        refusal = meter.admit(now(), tokens)
        if refusal:
            self.refused.append(now())
            return self._refusal(permit, refusal.retry_after, meter.headers(now()))
        self.admitted.append((now(), tokens))
        try:
            await asyncio.sleep(self.random.uniform(*self.latency))
        finally:
            meter.close()
        headers = meter.headers(now()) if self.headers else {}
        return Settled(permit.call_id, Outcome.ANSWERED, tokens, 200, None, headers)

    def _refusal(self, permit: Permit, retry_after: float, headers: Mapping[str, str]) -> Settled:
        told = headers if self.headers else {}
        return Settled(permit.call_id, Outcome.REFUSED, None, 429, retry_after, told, Fault.RATE_LIMIT)

    async def callers(self, gate: Gate, number: int, until: float, **options: Any) -> None:
        """So many crews that make one call after another, each at least one."""

        async def crew() -> None:
            await self.call(gate, **options)
            while now() < until:
                await self.call(gate, **options)

        await asyncio.gather(*(crew() for _ in range(number)))

    def used(self, since: float, until: float) -> tuple[int, int]:
        """Requests and tokens that were admitted in between."""
        calls = [tokens for at, tokens in self.admitted if since <= at < until]
        return len(calls), sum(calls)


def gate(
    shared: SharedAllowances | None,
    limits: Limits | None,
    *,
    patience: float = 10_000.0,
    workers: int = 1,
    keys: Mapping[str, Sequence[str]] | None = None,
) -> Gate:
    """A gate on the simulated clock, for one model with these limits for each key (None: they are not known)."""
    rules = Rules({} if limits is None else {f"openai/{MODEL}": limits}, patience)
    return Gate(shared, rules, KeyPool(keys or {}, now), lambda: workers, now)
