"""The ledger against the provider's own books, call by call, with real workers and crews that are killed on the way."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.llm_books import CONFIGURATION, LEDGER, compare, work_and_kill
from benchmarks.llm_place import settled
from crewtop.demo.provider import Behaviour, serve
from crewtop.store.database import Database

FAULTS = Behaviour(
    latency_seconds=0.2, jitter=1.0, rate_429=0.02, retry_after_seconds=0, rate_500=0.03, rate_no_usage=0.05
)
ONE_CALL = {"n": 1, "calls": 1}


@pytest.mark.xdist_group("heavy")
async def test_no_call_differs_whatever_is_killed(
    database: Database, dsn: str, redis_url: str, live: Any, tmp_path: Path
) -> None:
    async with serve(FAULTS) as provider:
        at = settled(tmp_path, dsn, redis_url, CONFIGURATION, CREWTOP_DEMO_PROVIDER=provider.url)
        try:
            kills = await work_and_kill(at, 300, random.Random(3), harm_seconds=3.0)
            found = compare(provider.books.as_json()["calls"], await at.sql(LEDGER))
            total = await at.cost()
        finally:
            at.end()
    assert found.wrong == []
    assert sum(kills.values()) > 0
    assert found.ledger.calls["answered"] > 200
    assert min(found.ledger.tokens.values()) > 0
    assert (total["known_usd"], total["unknown_calls"]) == (str(found.provider.dollars), found.unknown)


async def test_a_call_is_on_record_before_the_provider_sees_it(
    database: Database, dsn: str, redis_url: str, live: Any, tmp_path: Path
) -> None:
    """A worker that is killed a moment later has let it out, and it may be billed: unknown, and not unheard of."""
    async with serve(Behaviour(rate_hang=1.0)) as provider:
        at = settled(tmp_path, dsn, redis_url, CONFIGURATION, CREWTOP_DEMO_PROVIDER=provider.url)
        try:
            async with at.queue() as queue:
                await queue.enqueue("calls", ONE_CALL)
            worker = at.worker("--slots", "1")
            async with asyncio.timeout(60):
                while not provider.books.calls():  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            at.kill(worker)
            [row] = await at.sql(LEDGER)
            [call] = provider.books.calls()
        finally:
            at.end()
    assert (row["call_id"], row["outcome"], row["cost"]) == (call.client_id, "started", None)
