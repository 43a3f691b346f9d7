"""What workers tell of providers and whoever watches reads, through a real Redis."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable

import pytest
from redis.asyncio import Redis

from crewtop.live import keys
from crewtop.live.fast_lane import FastLane
from crewtop.live.providers import TOLD_SECONDS, look, providers, tell
from crewtop.model.providers import Circuit, KeyHealth, Providers, Told
from tests.tui.fixtures import HOSTILE

OPEN = Circuit("openai", "gpt-4.1", "open", 12.0, "timeout", 5)
RESTING = KeyHealth("openai", "KEY_A", "resting", 20.0, "rate limit")
SHOWN = {
    "provider": "openai", "model": "gpt-4.1", "key": "KEY_A", "requests_per_minute": 3_000, "requests_used": 2_940,
    "tokens_per_minute": None, "tokens_used": 90, "at_once": None, "in_flight": 4, "resumes_in": 27.0, "reason": "429",
}  # fmt: skip


async def test_what_workers_tell_is_seen_together_and_taken_back(live: FastLane) -> None:
    await tell(live, "w1", Told((OPEN,), (RESTING,)))
    await tell(live, "w2", Told((OPEN,), omitted=2))
    sight = await look(live)
    assert sight.health.up
    assert sight.providers is not None
    assert [circuit.workers for circuit in sight.providers.circuits] == [2]
    assert 11 < sight.providers.circuits[0].resumes_in <= 12
    assert [(key.status, key.why) for key in sight.providers.keys] == [("resting", "rate limit")]
    assert sight.providers.omitted == 2
    for worker in ("w1", "w2"):
        await tell(live, worker, Told())
    assert (await look(live)).providers == Providers()


async def test_one_round_trip_tells_all(live: FastLane, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []
    write = asyncio.StreamWriter.writelines

    def noted(writer: asyncio.StreamWriter, data: Iterable[bytes]) -> None:
        sent.append(b"".join(data))
        write(writer, [sent[-1]])

    await look(live)
    monkeypatch.setattr(asyncio.StreamWriter, "writelines", noted)
    await look(live)
    assert len(sent) == 1


async def test_what_dead_workers_told_is_swept_by_the_others(live: FastLane, redis_url: str) -> None:
    async with Redis.from_url(redis_url) as client:
        for number in range(3):
            await client.hset(keys.PROVIDERS, f"dead{number}", json.dumps({"at": 1_000, "told": {}}))
        await tell(live, "w1", Told((OPEN,)))
        await tell(live, "w1", Told((OPEN,)))
        assert await client.hkeys(keys.PROVIDERS) == [b"w1"]
        assert 0 < await client.ttl(keys.PROVIDERS) <= TOLD_SECONDS


async def test_without_redis_nothing_is_known(tmp_path: object) -> None:
    async with FastLane(f"unix://{tmp_path}/no.sock") as away:
        await tell(away, "w1", Told((OPEN,)))
        sight = await look(away)
    assert (sight.health.up, sight.providers) == (False, None)
    assert "no.sock" in sight.health.detail


def test_entries_age_by_the_clock_of_redis() -> None:
    allowance = json.dumps({"at": 1_000_000, **SHOWN})
    worker = json.dumps({"at": 1_000_000, "told": {"circuits": [], "keys": [_key(RESTING)], "omitted": 0}})
    [soon], [key] = providers([allowance], [worker], 1_010.0).allowances, providers([], [worker], 1_010.0).keys
    assert (soon.resumes_in, soon.requests_used, soon.tokens_per_minute) == (17.0, 2_940, None)
    assert key.resumes_in == 10.0
    later = providers([allowance], [worker], 1_029.0)
    assert (later.allowances[0].resumes_in, later.allowances[0].reason) == (None, None)
    assert [key.status for key in later.keys] == ["ready"]
    assert providers([allowance], [worker], 1_000.0 + 121) == Providers()


@pytest.mark.parametrize("wrong", [*HOSTILE, -1, None, [], {}, "NaN", 1e400])
@pytest.mark.parametrize("field", ["at", "requests_used", "resumes_in", "provider"])
def test_what_others_wrote_there_breaks_nothing(field: str, wrong: object) -> None:
    entry = json.dumps({"at": 1_000, **SHOWN, field: wrong})
    told = json.dumps({"at": 1_000, "told": {"circuits": wrong, "keys": [wrong, _key(RESTING)], "omitted": wrong}})
    for state in providers([entry, "", "[]", "7"], [told], 1.0).allowances:
        assert state.requests_used >= 0
        assert len(state.provider) <= 200


def _key(key: KeyHealth) -> dict[str, object]:
    return {
        "provider": key.provider,
        "name": key.name,
        "status": key.status,
        "resumes_in": key.resumes_in,
        "why": key.why,
    }
