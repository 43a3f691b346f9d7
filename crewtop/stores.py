"""Open the two stores as configured: the team's own servers, or the embedded pair where none is named."""

from __future__ import annotations

import asyncio
import getpass
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from crewtop.config import Settings
from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import CrewtopError
from crewtop.store import schema
from crewtop.store.database import Database

REVIVE_SECONDS = 3.0

NAME_BYTES = 63
"""What PostgreSQL keeps of an application's name."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the stores are. redis_url None: there is none, and why_no_redis says so."""

    dsn: str
    redis_url: str | None
    why_no_redis: str
    embedded: bool


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores, open. Each connects when it is first used, and again whenever it has to.

    replica: a standby of the database, to be read from; None: none is configured.
    """

    database: Database
    live: FastLane
    addresses: Addresses
    replica: Database | None = None


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

    Arguments beyond settings are those of Database; to the application's name user and host are added.
    """
    async with AsyncExitStack() as stack:
        where = await stack.enter_async_context(addresses(settings))
        of = partial(
            Database,
            application_name=f"{application_name} {_whose()}"[:NAME_BYTES],
            connections=connections,
            timeout=timeout,
            prepared=prepared and settings.postgres.prepared,
        )
        database = await stack.enter_async_context(of(where.dsn))
        standby = settings.postgres.read_replica
        replica = await stack.enter_async_context(of(standby)) if standby and not where.embedded else None
        live = await stack.enter_async_context(FastLane(where.redis_url, where.why_no_redis, lambda: database.identity))
        if where.embedded:
            await schema.prepare(database)
        yield Stores(database, live, where, replica)


def _whose() -> str:
    """The user and the host of this process, so that whoever looks into pg_stat_activity knows whom to ask."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = f"uid:{os.getuid()}"
    return f"{user}@{socket.gethostname().split('.')[0]}".encode("ascii", "replace").decode()
