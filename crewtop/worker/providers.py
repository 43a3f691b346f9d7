"""What a worker found out of its providers, told to whoever watches: models that do not answer, and its keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from crewtop.live import providers
from crewtop.live.fast_lane import FastLane
from crewtop.llm.breaker import BreakerState
from crewtop.llm.keys import KeyState
from crewtop.model.providers import Circuit, KeyHealth, Told
from crewtop.worker.calls import Calls

TELL_SECONDS = 2.0

MOST = 24
"""Circuits that one worker tells of, and keys: in trouble first. Of the others it tells how many they are."""

_URGENCY = {"retired": 0, "resting": 1, "ready": 2}


@asynccontextmanager
async def telling(live: FastLane, worker_id: str, calls: Calls) -> AsyncIterator[None]:
    """Tell it for as long as the block lasts, then take it back: a worker that is gone keeps no call from anything."""
    over = asyncio.Event()
    task = asyncio.create_task(_tell(live, worker_id, calls, over))
    try:
        yield
    finally:
        over.set()  # not cancelled: a client's library may swallow that
        await task


async def _tell(live: FastLane, worker_id: str, calls: Calls, over: asyncio.Event) -> None:
    said = Told()
    while not over.is_set():
        before, said = said, told(calls.breaker_states(), calls.key_states(), time.monotonic())
        if said != Told() or before != Told():
            await providers.tell(live, worker_id, said)
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_SECONDS):
                await over.wait()
    await providers.tell(live, worker_id, Told())


def told(breakers: Iterable[BreakerState], keys: Iterable[KeyState], now: float) -> Told:
    """What there is to say at that second of the clock; no more of keys than their names."""
    circuits = [
        Circuit(state.provider, state.model, state.status, state.resumes_in, state.why, state.failures)
        for state in breakers
        if state.status != "closed"
    ]
    health = [
        KeyHealth(
            state.provider,
            state.name,
            state.status,
            None if state.until is None else max(0.0, state.until - now),
            state.why,
        )
        for state in keys
    ]
    health.sort(key=lambda key: _URGENCY[key.status])
    omitted = max(0, len(circuits) - MOST) + max(0, len(health) - MOST)
    return Told(tuple(circuits[:MOST]), tuple(health[:MOST]), omitted)
