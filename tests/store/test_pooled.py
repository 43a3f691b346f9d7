"""Case C15: PgBouncer in transaction mode stands between, and other clients leave things in its sessions."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from crewtop.model.errors import Unavailable
from crewtop.store.database import Database
from tests.pooler import POOL_SIZE, pgbouncer
from tests.store.helpers import one


@pytest.fixture
def pooled_dsn(dsn: str) -> Iterator[str]:
    """Leads through PgBouncer; its folder is short and open, as its socket and its account need it."""
    with tempfile.TemporaryDirectory(prefix="crewtop-pooler-") as folder:
        Path(folder).chmod(0o755)
        with pgbouncer(dsn, Path(folder) / "p") as through:
            yield through


@pytest.fixture
async def pooled(pooled_dsn: str) -> AsyncIterator[Database]:
    """A Database that was told nothing of the pooler, whose sessions another client has spoilt."""
    await _spoil(pooled_dsn)
    async with Database(pooled_dsn, application_name="crewtop test", connections=6, timeout=10) as opened:
        yield opened


async def _spoil(pooled_dsn: str) -> None:
    """Leave a search_path and a statement_timeout in every session that PgBouncer has."""
    clients = [await asyncpg.connect(pooled_dsn, statement_cache_size=0) for _ in range(POOL_SIZE)]
    transactions = [client.transaction() for client in clients]
    for client, transaction in zip(clients, transactions, strict=True):
        await transaction.start()
        await client.execute("SET search_path = nowhere; SET statement_timeout = '9s'")
    for client, transaction in zip(clients, transactions, strict=True):
        await transaction.commit()
        await client.close()


async def test_a_pooler_is_recognised_and_a_server_is_not_taken_for_one(pooled: Database, database: Database) -> None:
    assert await one(pooled, "SELECT current_setting('search_path')") == "nowhere"
    await one(database, "SELECT 1")
    assert (pooled.pooled, database.pooled) == (True, False)


async def test_many_at_once_share_two_sessions(pooled: Database) -> None:
    answers = await asyncio.gather(*(pooled.fetch("task_status", n) for n in range(60)))
    assert answers == [[]] * 60


async def test_plans_that_are_kept_do_not_scan(database: Database) -> None:
    """A plan is kept from when tables were small; a pooler's sessions are others' too and stay as they were."""
    assert await one(database, "SELECT current_setting('enable_seqscan')") == "off"
    assert await one(database, "SELECT current_setting('jit')") == "off"


async def test_statements_that_are_planned_each_time_may_scan(dsn: str) -> None:
    async with Database(dsn, application_name="test", prepared=False) as database:
        assert await one(database, "SELECT current_setting('enable_seqscan')") == "on"


async def test_a_pooler_that_could_not_be_told_is_told_by_what_it_breaks(database: Database) -> None:
    """Another client in the same session: a statement that was prepared is gone."""
    await database.fetch("task_status", 1)
    await one(database, "DEALLOCATE ALL")
    with pytest.raises(Unavailable, match="taking what stands between for a pooler"):
        await database.fetch("task_status", 1)
    assert await database.fetch("task_status", 1) == []
    assert database.pooled
