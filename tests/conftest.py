"""Real servers for every test: one embedded pair for the whole run, a database of its own for each test."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from multiprocessing.util import Finalize
from pathlib import Path

import asyncpg
import pytest

# A developer's own settings must not reach a test.
for name in [name for name in os.environ if name.startswith("CREWTOP_")] + ["NO_COLOR", "REDIS_URL", "TEXTUAL_THEME"]:
    os.environ.pop(name, None)
# The processes that tests start compile crewtop once, as an installed one is, and not each anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from crewtop import embedded  # noqa: E402  after the environment is clean
from crewtop.live.fast_lane import FastLane  # noqa: E402
from crewtop.store import schema  # noqa: E402
from crewtop.store.database import Database  # noqa: E402
from tests.mother import start_mother  # noqa: E402

TEMPLATE = "crewtop_template"

# All of a run's temporary files, for all of its processes: the first makes the folder, the others inherit it. In memory
# where there is room: a database is 400 files, which some disks take ten times as long to make. Not below pytest's own
# folder, which is closed to the account that PostgreSQL runs as under root.
if "PYTEST_RUN_FOLDER" not in os.environ:
    memory = Path("/dev/shm")
    roomy = "TMPDIR" not in os.environ and memory.is_dir() and shutil.disk_usage(memory).free > 4 * 2**30
    made = tempfile.mkdtemp(prefix="crewtop-test-", dir=memory if roomy else None)
    Path(made).chmod(0o755)
    os.environ["PYTEST_RUN_FOLDER"] = os.environ["TMPDIR"] = tempfile.tempdir = made
    # Who made it clears it away, after multiprocessing its own folder in it (at -100).
    Finalize(None, shutil.rmtree, [made], {"ignore_errors": True}, exitpriority=-200)
FOLDER = Path(os.environ["PYTEST_RUN_FOLDER"])


@pytest.fixture(scope="session")
def servers() -> Iterator[embedded.Servers]:
    """One pair of servers, shared by all the processes of a test run; the last one out stops it."""
    with embedded.running(FOLDER / "servers") as pair:
        asyncio.run(_template(pair.dsn))
        yield pair


async def _template(dsn: str) -> None:
    """Make a database with our schema that each test's database is copied from."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("SELECT pg_advisory_lock(1)")
        if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", TEMPLATE):
            for setting in ("fsync = off", "full_page_writes = off", "max_wal_size = '128MB'"):
                await connection.execute(f"ALTER SYSTEM SET {setting}")  # what a test proves outlives no power cut
            await connection.execute("SELECT pg_reload_conf()")
            await connection.execute(f"CREATE DATABASE {TEMPLATE}_new")
            async with Database(dsn_of(dsn, f"{TEMPLATE}_new"), application_name="test", connections=1) as database:
                await schema.init(database)
            await connection.execute(f"ALTER DATABASE {TEMPLATE}_new RENAME TO {TEMPLATE}")
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def mother() -> Iterator[Path]:
    """The address of a process that has imported CrewAI and forks what tests ask it for."""
    address = FOLDER / f"mother-{os.getpid()}" / "socket"  # short, as a socket's path has to be
    address.parent.mkdir()
    with start_mother(address) as process:  # closing its stdin ends it
        yield address
        assert process.poll() is None


def dsn_of(dsn: str, name: str) -> str:
    """The same server's other database."""
    return dsn.replace("/crewtop?", f"/{name}?")


@pytest.fixture
async def dsn(servers: embedded.Servers) -> AsyncIterator[str]:
    """A fresh database with our schema."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    connection = await asyncpg.connect(servers.dsn)
    # Copying waits for whoever copies the same template at this moment.
    await connection.execute("SELECT pg_advisory_lock(2)")
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
    await connection.execute("SELECT pg_advisory_unlock(2)")
    yield dsn_of(servers.dsn, name)
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    """A Database on the fresh database."""
    async with Database(dsn, application_name="crewtop test", connections=4, timeout=20) as opened:
        yield opened


@pytest.fixture
def redis_url(servers: embedded.Servers, worker_id: str) -> str:
    """The pair's Valkey: a numbered database for each process of the test run."""
    if servers.redis_url is None:
        pytest.fail(f"no Valkey: {servers.redis_error}")
    number = int(worker_id.removeprefix("gw")) + 1 if worker_id.startswith("gw") else 0
    return servers.redis_url.split("?")[0] + f"?db={number % 16}"


@pytest.fixture
async def live(redis_url: str, worker_id: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FastLane]:
    """A FastLane on an empty Valkey database, with patience: a busy machine may stand still for a second.

    It tells of the tasks of a database that is named as the process of the test run: channels know no numbers.
    """
    from redis.asyncio import Redis

    monkeypatch.setattr("crewtop.live.fast_lane.TIMEOUT_SECONDS", 20.0)
    async with Redis.from_url(redis_url) as client:
        await client.flushdb()
    async with FastLane(redis_url, whose=lambda: worker_id) as opened:
        yield opened
