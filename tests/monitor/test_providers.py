"""What a snapshot knows of providers while Redis is there, and after it has gone."""

from __future__ import annotations

import json
from typing import Any

from crewtop.live.fast_lane import FastLane
from crewtop.live.providers import tell
from crewtop.model.providers import Circuit, KeyHealth, Providers, Told
from crewtop.monitor.monitor import Monitor
from crewtop.plain import to_json
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.live.gate import Gate

TOLD = Told((Circuit("openai", "gpt-4.1", "open", 600.0, "timeout", 5),), (KeyHealth("openai", "KEY_A", "ready"),))


def watching(database: Database, live: FastLane) -> Monitor:
    return Monitor(Stores(database, live, Addresses("", None, "", embedded=False)), no_progress_seconds=60)


async def test_while_redis_is_away_the_last_that_was_told_stays_with_its_age(
    database: Database, live: FastLane, redis_url: str
) -> None:
    async with Gate(redis_url) as gate, FastLane(gate.url) as lane:
        monitor = watching(database, lane)
        assert (await monitor.snapshot()).providers == Providers()
        await tell(live, "w1", TOLD)
        seen = (await monitor.snapshot()).providers
        assert seen is not None
        assert (seen.age, len(seen.circuits), len(seen.keys)) == (0.0, 1, 1)
        await gate.close()
        snapshot = await monitor.snapshot()
    kept = snapshot.providers
    assert not snapshot.redis.up
    assert kept is not None
    assert kept.keys == seen.keys
    assert 0.0 < kept.age < 60.0
    assert kept.circuits[0].resumes_in == seen.circuits[0].resumes_in - kept.age


async def test_who_never_saw_redis_knows_nothing_of_providers(database: Database) -> None:
    snapshot = await watching(database, FastLane(None)).snapshot()
    assert snapshot.providers is None
    written: Any = to_json(snapshot)
    assert written["providers"] is None


async def test_they_are_part_of_the_json(database: Database, live: FastLane) -> None:
    await tell(live, "w1", TOLD)
    written: Any = json.loads(json.dumps(to_json(await watching(database, live).snapshot())))
    assert [key["name"] for key in written["providers"]["keys"]] == ["KEY_A"]
    assert written["providers"]["circuits"][0]["status"] == "open"
