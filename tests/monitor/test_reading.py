"""A read replica is read from while it answers and keeps up; ten screens at once weigh little on a server."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import asyncpg
import pytest

from crewtop import embedded
from crewtop.config import Settings
from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import Refused, Unavailable
from crewtop.model.filters import TaskFilter
from crewtop.model.problems import problems
from crewtop.monitor import reading
from crewtop.monitor.monitor import Monitor
from crewtop.monitor.reading import FIRST_REST_SECONDS, Reading
from crewtop.store.database import Database, TooSlow
from crewtop.stores import Addresses, Stores, stores
from tests.conftest import TEMPLATE, dsn_of
from tests.store.helpers import put

NOWHERE = "postgresql://nobody@127.0.0.1:9/nothing"


@pytest.fixture
async def other(servers: embedded.Servers) -> AsyncIterator[Database]:
    """Another database, which stands for the replica: what it answers tells which of them was asked."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    connection = await asyncpg.connect(servers.dsn)
    await connection.execute("SELECT pg_advisory_lock(2)")
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    await connection.execute("SELECT pg_advisory_unlock(2)")
    async with Database(dsn_of(servers.dsn, name), application_name="test") as opened:
        yield opened
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


def watching(primary: Database, replica: Database | None) -> Monitor:
    return Monitor(Stores(primary, FastLane(None), Addresses("", None, "", embedded=False), replica), 60)


async def test_screens_read_from_the_replica_and_act_on_the_primary(database: Database, other: Database) -> None:
    await put(database, "a", queue="primary")
    await put(other, "a", "a", queue="replica")
    monitor = watching(database, other)
    snapshot = await monitor.snapshot()
    assert [queue.name for queue in snapshot.queues] == ["replica"]
    assert (snapshot.replica_lag, snapshot.replica_away, snapshot.read_only) == (0, "", False)
    assert len((await monitor.tasks(TaskFilter(), "newest", 9)).rows) == 2
    await monitor.pause_queue("primary", paused=True)
    assert [queue.paused for queue in (await watching(database, None).snapshot()).queues] == [True]


async def test_without_a_replica_nothing_is_said_of_one(database: Database) -> None:
    snapshot = await watching(database, None).snapshot()
    assert (snapshot.replica_lag, snapshot.replica_away) == (None, "")


async def test_a_replica_that_is_away_is_told_of_and_the_primary_read(database: Database) -> None:
    await put(database, "a", queue="primary")
    async with Database(NOWHERE, application_name="test", connections=1) as away:
        snapshot = await watching(database, away).snapshot()
    assert [queue.name for queue in snapshot.queues] == ["primary"]
    assert snapshot.replica_lag is None
    [problem] = [each for each in problems(snapshot) if each.name == "read replica"]
    assert problem.words.startswith("not read from, all reads go to the primary: postgres: ")


@pytest.mark.parametrize(("behind", "words"), [(11.0, "it is 11s behind"), (None, "it is nobody knows how far behind")])
def test_a_replica_that_lags_is_as_one_that_is_away(
    database: Database, other: Database, behind: float | None, words: str
) -> None:
    with pytest.raises(Unavailable, match=words):
        Reading(database, other).lag(other, behind)
    assert Reading(database, other).lag(other, 9.0) == 9.0
    assert Reading(database, other).lag(database, behind) is None


class Asked:
    """A question whose answer on the replica the test decides; it remembers who was asked."""

    def __init__(self, replica: Database) -> None:
        self.replica, self.trouble = replica, None  # type: tuple[Database, Exception | None]
        self.whom: list[str] = []

    async def __call__(self, database: Database) -> None:
        self.whom.append("replica" if database is self.replica else "primary")
        if database is self.replica and self.trouble is not None:
            raise self.trouble


async def test_a_replica_that_was_away_is_left_alone_for_longer_and_longer(database: Database, other: Database) -> None:
    now = [0.0]
    asked, reads = Asked(other), Reading(database, other, lambda: now[0])
    asked.trouble = Unavailable("gone")
    await reads.ask(asked)
    await reads.ask(asked)
    assert (asked.whom, reads.away) == (["replica", "primary", "primary"], "gone")
    asked.whom, now[0] = [], FIRST_REST_SECONDS
    await reads.ask(asked)
    now[0] += FIRST_REST_SECONDS
    await reads.ask(asked)
    assert asked.whom == ["replica", "primary", "primary"]
    asked.whom, asked.trouble, now[0] = [], None, now[0] + FIRST_REST_SECONDS
    await reads.ask(asked)
    assert (asked.whom, reads.away) == (["replica"], "")


@pytest.mark.parametrize("error", [TooSlow("too slow"), Refused("no such sort")])
async def test_what_the_primary_would_answer_no_better_is_not_asked_there(
    database: Database, other: Database, error: Exception
) -> None:
    asked = Asked(other)
    asked.trouble = error
    with pytest.raises(type(error)):
        await Reading(database, other).ask(asked)
    assert asked.whom == ["replica"]
    assert reading.MOST_LAG_SECONDS < 20  # buckets of rollups settle in 20 s: monitor/window.py


async def test_ten_operators_at_once(database: Database, dsn: str) -> None:
    """Case X3: at most three connections each, under a name that says whose they are, and one statement a question."""
    settings = Settings.model_validate({"postgres": {"dsn": dsn}})
    await put(database, "a")
    async with AsyncExitStack() as stack:
        screens = [
            Monitor(
                await stack.enter_async_context(
                    stores(settings, f"crewtop screen {number}", connections=3, timeout=2.0, prepared=False)
                ),
                60,
            )
            for number in range(10)
        ]
        before = await _transactions(database)
        for _ in range(3):
            await asyncio.gather(
                *(screen.snapshot() for screen in screens for _ in range(5)),
                *(screen.tasks(TaskFilter(), "newest", 50) for screen in screens),
                *(screen.failures(24) for screen in screens),
            )
        async with database.connection() as connection:
            rows = await connection.fetch(
                "SELECT application_name AS name, count(*) AS n FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name LIKE 'crewtop screen %' GROUP BY 1"
            )
    assert len(rows) == 10
    assert all(row["n"] <= 3 for row in rows)
    assert all("@" in row["name"] for row in rows)
    # 3 rounds of 5 snapshots, a list and failures for each; what beginning a connection takes is less than that again.
    assert await _transactions(database) - before <= 2 * 10 * 3 * 7


async def _transactions(database: Database) -> int:
    async with database.connection() as connection:
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        n: int = await connection.fetchval(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        )
        return n
