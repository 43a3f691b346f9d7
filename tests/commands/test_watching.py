"""What a worker does for alerts beside its runs."""

from __future__ import annotations

import asyncio

from crewtop import embedded
from crewtop.commands.watching import watching
from crewtop.config import Settings
from crewtop.live.fast_lane import FastLane
from crewtop.store import lease
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.store.helpers import beat, expire, one, put, take


async def test_it_judges_what_the_primary_says_not_a_standby(
    servers: embedded.Servers, dsn: str, database: Database, live: FastLane
) -> None:
    """One that lags has not seen what was just written, and no standby knows of the others."""
    await lease.heartbeat(database, beat("w1"))
    [task_id] = await put(database, "a")
    await take(database)
    await expire(database, task_id)
    async with Database(servers.dsn, application_name="crewtop test") as standby:  # which has nothing of it
        opened = Stores(database, live, Addresses(dsn, None, "", embedded=False), standby)
        watch = asyncio.create_task(watching(Settings())(opened, "w1"))
        async with asyncio.timeout(20):
            while await one(database, "SELECT array_agg(rule) FROM crewtop.alerts") != ["stuck"]:  # noqa: ASYNC110  another task says so
                await asyncio.sleep(0.02)
        watch.cancel()
        await asyncio.wait([watch])
    assert await one(database, "SELECT worker_id IS NULL FROM crewtop.alert_watch"), "another may judge at once"
