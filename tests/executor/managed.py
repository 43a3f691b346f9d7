"""Runs whose calls to models are let out by a worker's own machinery, which stands in the test's process."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from crewtop.executor.processes import Process
from crewtop.llm.breaker import Breakers
from crewtop.llm.gate import Gate, Rules
from crewtop.llm.keys import KeyPool
from crewtop.llm.routes import Routes, listed
from crewtop.llm.routes_table import parse
from crewtop.model.allowance import Limits
from crewtop.model.events import CallAsked, CallSettled, Event, Terms, Turn
from crewtop.worker.calls import Calls, RunsCalls
from tests.executor.runs import Ended, Executor, Running

TERMS = Terms(connect=5.0, first_byte=30.0, whole=60.0, tries=3, wait=5.0, base_urls={}, windows={})


class ManagedRun(Running):
    """A run that is read, and whose calls are answered."""

    def __init__(self, process: Process, calls: Calls) -> None:
        self.calls = RunsCalls()
        self._desk = calls
        super().__init__(process)

    async def _read_events(self) -> None:
        async for event in self.process.events:
            await self._answer(event)
            self.events.append(event)
            self._news.set()
        self._desk.over(self.calls)

    async def _answer(self, event: Event) -> None:
        if isinstance(event, CallAsked):
            self._desk.asked(self.calls, event.ask, lambda answer: self.process.say({"answer": answer}))
        elif isinstance(event, CallSettled):
            await self._desk.settled(self.calls, event.settled)


class Worker:
    """Runs of one worker. calls: its own."""

    def __init__(self, executor: Executor, calls: Calls) -> None:
        self.calls = calls
        self._executor = executor

    async def run(self, target: str, provider: str | None = None, seconds: float = 60.0, **options: Any) -> Ended:
        """Run a target, of the shop where no module is named, to its end.

        seconds: its budget; options: terms that differ, and environment.
        """
        terms = TERMS | {name: options.pop(name) for name in TERMS if name in options}  # type: ignore[operator]
        turn = Turn(crew="billing", queue="default", priority=3, ends_at=time.monotonic() + seconds)
        process = await self._executor.process(
            target if ":" in target else f"shop:{target}",
            {"topic": "lamps"},
            provider,
            terms=terms,
            turn=turn,
            **options,
        )
        return await ManagedRun(process, self.calls).end()


@asynccontextmanager
async def worker(
    executor: Executor,
    keys: Sequence[str] = (),
    routes: Mapping[str, Any] | None = None,
    limits: Mapping[str, Limits] | None = None,
    patience: float = 5.0,
    provider: str = "openai",
) -> AsyncIterator[Worker]:
    """A worker without Redis. keys: of the provider."""
    pool = KeyPool({provider: keys} if keys else {})
    async with Gate(None, Rules(limits or {}, patience), pool) as gate:
        found = parse(routes) if routes else Routes()
        yield Worker(executor, Calls(gate, pool, Breakers(), found, listed({}), patience))
