"""Open the two stores as configured: the team's own servers, or the embedded pair where none is named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from crewtop.config import Settings
from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import CrewtopError
from crewtop.store import schema
from crewtop.store.database import Database

REVIVE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the stores are. redis_url None: there is none, and why_no_redis says so."""

    dsn: str
    redis_url: str | None
    why_no_redis: str
    embedded: bool


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores, open. Both connect when they are first used, and again whenever they have to."""

    database: Database
    live: FastLane
    addresses: Addresses


@asynccontextmanager
async def addresses(settings: Settings) -> AsyncIterator[Addresses]:
    """The configured servers; without a configured Postgres the embedded pair, which runs as long as anybody uses it.

    Raises CrewtopError where the embedded servers cannot be started.
    """
    url = settings.redis.url
    if settings.postgres.dsn:
        yield Addresses(settings.postgres.dsn, url, "no CREWTOP_REDIS", embedded=False)
        return
    from crewtop import embedded

    pair = embedded.running(settings.data_dir)
    try:
        servers = await asyncio.to_thread(pair.__enter__)
    except embedded.EmbeddedError as error:
        raise CrewtopError(str(error)) from None
    keeper = asyncio.create_task(_keep_alive(settings.data_dir))
    try:
        yield Addresses(servers.dsn, url or servers.redis_url, servers.redis_error or "none", embedded=True)
    finally:
        keeper.cancel()
        await asyncio.wait([keeper])
        await asyncio.to_thread(pair.__exit__, None, None, None)


async def _keep_alive(data_dir: Path | None) -> None:
    """Start the embedded servers again where they died: nobody else could. Joining a pair that runs takes 2 ms."""
    from crewtop import embedded

    def join() -> None:
        with suppress(embedded.EmbeddedError), embedded.running(data_dir):
            pass

    while True:
        await asyncio.sleep(REVIVE_SECONDS)
        await asyncio.to_thread(join)


@asynccontextmanager
async def stores(
    settings: Settings, application_name: str, *, connections: int = 4, timeout: float = 30.0, prepared: bool = True
) -> AsyncIterator[Stores]:
    """Both stores for one process; an embedded database gets its schema, or a newer one, on the way.

    Arguments beyond settings are those of Database.
    """
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(addresses(settings))
        database = await stack.enter_async_context(
            Database(
                where.dsn,
                application_name=application_name,
                connections=connections,
                timeout=timeout,
                prepared=prepared and settings.postgres.prepared,
            )
        )
        live = await stack.enter_async_context(FastLane(where.redis_url, where.why_no_redis))
        if where.embedded:
            await schema.prepare(database)
        yield Stores(database, live, where)
