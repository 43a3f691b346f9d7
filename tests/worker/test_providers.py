"""What a worker says of its providers."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from crewtop.config_llm import Llm
from crewtop.live.fast_lane import FastLane
from crewtop.live.providers import look
from crewtop.llm.asking import Fault
from crewtop.llm.breaker import FAILURES, Breakers, BreakerState
from crewtop.llm.keys import KeyPool
from crewtop.model.providers import Circuit, KeyHealth, Providers, Told
from crewtop.store.database import Database
from crewtop.worker.letting_out import letting_out
from crewtop.worker.providers import MOST, told


def test_what_is_well_is_said_of_keys_alone() -> None:
    breakers, keys = Breakers(lambda: 100.0, lambda: 0.0), KeyPool({"openai": ["A", "B", "C"]}, lambda: 100.0)
    breakers.failed("openai", "gpt-4.1", Fault.SERVER)
    keys.failed("openai", "B", "gpt-4.1", Fault.RATE_LIMIT, 9.0)
    keys.failed("openai", "C", "gpt-4.1", Fault.KEY)
    assert told(breakers.states(), keys.states(), 103.0) == Told(
        (),
        (
            KeyHealth("openai", "C", "retired", None, "refused by the provider"),
            KeyHealth("openai", "B", "resting", 6.0, "rate limit of gpt-4.1"),
            KeyHealth("openai", "A", "ready"),
        ),
    )
    for _ in range(FAILURES - 1):
        breakers.failed("openai", "gpt-4.1", Fault.SERVER)
    assert told(breakers.states(), (), 100.0).circuits == (Circuit("openai", "gpt-4.1", "open", 2.0, "server", 5),)


def test_it_says_no_more_than_a_few_dozen_of_each_and_how_many_are_left_out() -> None:
    broken = [BreakerState("p", f"m{n}", "open", 1.0, "server", 5) for n in range(MOST + 7)]
    keys = KeyPool({"p": [f"K{n}" for n in range(MOST + 2)]}, lambda: 0.0)
    keys.failed("p", f"K{MOST + 1}", "m", Fault.QUOTA)
    said = told(broken, keys.states(), 0.0)
    assert (len(said.circuits), len(said.keys), said.omitted) == (MOST, MOST, 9)
    assert said.keys[0].status == "retired"


async def test_a_worker_tells_names_of_keys_and_takes_it_back_at_its_end(
    database: Database, live: FastLane, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "KEY_A", "sk-very-secret-0123456789")
    llm = Llm.model_validate({"providers": {"openai": {"keys": ["KEY_A"]}}})
    async with letting_out(llm, {}, database, redis_url, "w1"):
        for _ in range(2_000):
            seen = (await look(live)).providers
            if seen is not None and seen.keys:
                break
            await asyncio.sleep(0.01)
        assert seen == Providers(keys=(KeyHealth("openai", "KEY_A", "ready"),))
    assert (await look(live)).providers == Providers()
