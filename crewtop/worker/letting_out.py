"""What lets a worker's calls to models out, put together from the settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import structlog

from crewtop.config_llm import Llm
from crewtop.live.allowances import SharedAllowances
from crewtop.llm import routes_table
from crewtop.llm.breaker import Breakers
from crewtop.llm.gate import Gate, Rules
from crewtop.llm.keys import KeyMissing, KeyPool, secret
from crewtop.llm.routes import Routes, listed
from crewtop.model.allowance import Limits
from crewtop.model.errors import CrewtopError
from crewtop.model.pricing import Rates
from crewtop.store import lease
from crewtop.store.database import Database
from crewtop.worker.calls import Calls
from crewtop.worker.providers import telling
from crewtop.worker.starts import Starts

log = structlog.get_logger()

COUNT_SECONDS = 2.0
"""How often the workers are counted, who share the limits where there is no Redis."""


@asynccontextmanager
async def letting_out(
    llm: Llm, rates: Mapping[str, Rates], database: Database, redis_url: str | None, worker_id: str
) -> AsyncIterator[Calls]:
    """What lets calls out, for as long as the block lasts. Raises CrewtopError where the routes are wrong.

    rates: the user's own prices. redis_url None: each worker keeps to its part of the limits.
    """
    pool = KeyPool(llm.keys())
    rules = Rules({name: Limits(**limit.model_dump()) for name, limit in llm.limits.items()}, llm.wait_seconds)
    routes = _routes(llm)
    _look_for_keys(llm)
    peers = _Peers(database)
    counting = asyncio.create_task(peers.count_on())
    try:
        async with (
            SharedAllowances(redis_url, worker_id) as shared,
            Gate(shared if redis_url else None, rules, pool, lambda: peers.number) as gate,
            Starts(database) as starts,
        ):
            calls = Calls(gate, pool, Breakers(), routes, listed(rates), llm.wait_seconds, starts)
            async with telling(shared, worker_id, calls):
                yield calls
    finally:
        counting.cancel()
        await asyncio.wait([counting])


class _Peers:
    """How many workers live, by the database's last word."""

    def __init__(self, database: Database) -> None:
        self.number = 1
        self._database = database

    async def count_on(self) -> None:
        """Count for ever."""
        while True:
            with suppress(CrewtopError):
                self.number = max(1, await lease.living_workers(self._database))
            await asyncio.sleep(COUNT_SECONDS)


def _routes(llm: Llm) -> Routes:
    try:
        return routes_table.parse(llm.routes)
    except ValueError as error:
        raise CrewtopError(str(error)) from None


def _look_for_keys(llm: Llm) -> None:
    """Say at once which keys are not there: a run would only tell after the others are used up."""
    for names in llm.keys().values():
        for name in names:
            try:
                secret(name)
            except KeyMissing as error:
                log.warning("key", missing=str(error))
