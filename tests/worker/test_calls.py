"""What a worker learns from the ends of calls, and where it sends the next ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from crewtop.llm.asking import CallAsk, Fault, Outcome, Settled
from crewtop.llm.breaker import FAILURES, FIRST_SECONDS, Breakers
from crewtop.llm.gate import Gate, Rules
from crewtop.llm.keys import KeyPool
from crewtop.llm.routes import Model, Routes, listed
from crewtop.worker.calls import Calls, RunsCalls
from tests.llm.conftest import Clock

FIRST, SPARE = Model("openai", "gpt-4.1"), Model("anthropic", "claude-haiku-4-5")


@dataclass
class Crew:
    """A run, and the calls that it makes."""

    calls: Calls
    breakers: Breakers
    clock: Clock
    run: RunsCalls = field(default_factory=RunsCalls)
    asked: int = 0

    async def ask(self) -> tuple[str, str]:
        """A call that is let out: its id, and the model that takes it."""
        self.asked += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        ask = CallAsk(str(self.asked), FIRST.provider, FIRST.name, 100, "support", "default", 2)
        self.calls.asked(self.run, asdict(ask), answer.set_result)
        async with asyncio.timeout(10):
            return str(self.asked), (await answer)["permit"]["model"]

    async def end(self, call_id: str, outcome: Outcome, fault: Fault | None = None) -> None:
        await self.calls.settled(self.run, asdict(Settled(call_id, outcome, None, fault=fault)))

    async def breaks(self) -> None:
        for _ in range(FAILURES):
            call_id, _ = await self.ask()
            await self.end(call_id, Outcome.FAILED, Fault.TIMEOUT)


@pytest.fixture
async def crew() -> AsyncIterator[Crew]:
    clock, keys = Clock(), KeyPool({})
    breakers = Breakers(clock, jitter=lambda: 0.0)
    async with Gate(None, Rules({}, 30.0), keys) as gate:
        routes = Routes(fallbacks={FIRST: (SPARE,)})
        yield Crew(Calls(gate, keys, breakers, routes, listed({}), 30.0), breakers, clock)


async def test_a_model_that_others_stand_in_for_is_tried_again_and_comes_back(crew: Crew) -> None:
    await crew.breaks()
    assert (await crew.ask())[1] == SPARE.name
    crew.clock.now += FIRST_SECONDS
    probe, model = await crew.ask()
    assert model == FIRST.name
    assert (await crew.ask())[1] == SPARE.name
    await crew.end(probe, Outcome.ANSWERED)
    assert (await crew.ask())[1] == FIRST.name
    assert crew.breakers.states() == ()


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [(Outcome.FAILED, Fault.OTHER), (Outcome.UNSENT, Fault.KEY), (Outcome.UNSENT, None)],
    ids=["given up by the crew", "its key was not there", "never sent"],
)
async def test_a_call_of_which_nobody_knows_whether_it_arrived_closes_no_breaker(
    crew: Crew, outcome: Outcome, fault: Fault | None
) -> None:
    early, _ = await crew.ask()
    await crew.breaks()
    await crew.end(early, outcome, fault)
    assert [state.status for state in crew.breakers.states()] == ["open"]
