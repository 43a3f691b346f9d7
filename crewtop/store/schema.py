"""Create the crewtop schema, bring an older one up to date, and say whether a database has the right one."""

from __future__ import annotations

from importlib.resources import files

import asyncpg

from crewtop.model.errors import CrewtopError, Refused
from crewtop.model.shipped import shipped
from crewtop.store.database import Database, statement

SCHEMA_VERSION = 7

UPGRADE_SECONDS = 86_400.0
"""A migration may rewrite a table of many millions of rows."""

# Two processes that start on an empty or an old database at once: the second waits for the first and finds it done.
_LOCK = 0x63726577
_WORKERS_AT_WORK = """
    SELECT string_agg(id, ', ' ORDER BY id) FROM crewtop.workers
    WHERE stopped_at IS NULL AND heartbeat_at > now() - make_interval(secs => greatest(60, lease_seconds))"""


async def init(database: Database) -> bool:
    """Create the schema in one transaction unless it is there; answers whether it was created.

    Raises CrewtopError for a schema of another version.
    """
    async with database.connection() as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        found = await _version(connection)
        if found is None:
            await connection.execute(shipped("schema.sql").read_text("utf-8"))
            return True
        _agree(database, found)
        return False


async def version(database: Database) -> int | None:
    """The schema's version, whichever it is; None where there is no schema."""
    async with database.connection() as connection:
        return await _version(connection)


async def check(database: Database) -> int:
    """The schema's version. Raises CrewtopError, with the next step, where it is missing or another one."""
    found = await version(database)
    if found is None:
        raise _missing(database)
    _agree(database, found)
    return found


async def upgrade(database: Database) -> int:
    """Bring an older schema to this version, one migration a transaction; answers the version that it had.

    Raises CrewtopError where there is none or a newer one, Refused while workers work, which know only the old one.
    """
    first = None
    while True:
        async with database.connection() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK, timeout=UPGRADE_SECONDS)
            found = await _version(connection)
            if found is None:
                raise _missing(database)
            first = first or found
            if found >= SCHEMA_VERSION:
                _agree(database, found)
                return first
            await _migrate(connection, found + 1)


async def prepare(database: Database) -> None:
    """Create the schema or bring it up to date: for the embedded database, which nobody else looks after."""
    found = await version(database)
    if found is None:
        await init(database)
    elif found != SCHEMA_VERSION:
        await upgrade(database)


def roles() -> str:
    """The SQL that makes the roles crewtop_viewer, crewtop_operator and crewtop_worker, or renews what they may."""
    return statement("roles")


async def apply_roles(database: Database) -> None:
    """Make the roles, or renew what they may. Raises CrewtopError where this connection's role may not."""
    await check(database)
    async with database.connection() as connection, connection.transaction():
        await connection.execute(roles())


async def renew(database: Database) -> None:
    """Throw everything away and begin anew: for a demo's database alone."""
    async with database.connection() as connection, connection.transaction():
        await connection.execute("DROP SCHEMA crewtop CASCADE")
        await connection.execute(shipped("schema.sql").read_text("utf-8"))


async def mark_simulated(database: Database) -> None:
    """Say for good that this database's figures come from a simulated provider, so that every screen says it too."""
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO crewtop.settings (key, value) VALUES ('simulated', 'true') ON CONFLICT DO NOTHING"
        )


async def _version(connection: asyncpg.Connection[asyncpg.Record]) -> int | None:
    if await connection.fetchval("SELECT to_regclass('crewtop.settings')") is None:
        return None
    value = await connection.fetchval("SELECT value FROM crewtop.settings WHERE key = 'schema_version'")
    return int(value) if value else None


async def _migrate(connection: asyncpg.Connection[asyncpg.Record], to: int) -> None:
    """Go one version up, by migrations/<to>.sql."""
    at_work = await connection.fetchval(_WORKERS_AT_WORK)
    if at_work:
        raise Refused(
            f"nothing was upgraded: workers of the old version are at work ({at_work}): stop them first; "
            "a killed one counts for a minute"
        )
    migration = files("crewtop.store").joinpath("migrations", f"{to:04}.sql").read_text("utf-8")
    await connection.execute(migration, timeout=UPGRADE_SECONDS)
    await connection.execute("UPDATE crewtop.settings SET value = $1 WHERE key = 'schema_version'", str(to))


def _missing(database: Database) -> CrewtopError:
    return CrewtopError(f"{database.name} has no crewtop schema: run `crewtop db init`")


def _agree(database: Database, found: int) -> None:
    if found == SCHEMA_VERSION:
        return
    step = (
        "stop the workers, then run `crewtop db upgrade`"
        if found < SCHEMA_VERSION
        else "install the newer crewtop that made it"
    )
    raise CrewtopError(f"{database.name} has schema version {found}, this crewtop needs {SCHEMA_VERSION}: {step}")
