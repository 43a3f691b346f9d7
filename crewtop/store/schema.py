"""Create the crewtop schema, and say whether a database has the right one."""

from __future__ import annotations

import asyncpg

from crewtop.model.errors import CrewtopError
from crewtop.model.shipped import shipped
from crewtop.store.database import Database

SCHEMA_VERSION = 2
# Two processes that start on an empty database at once: the second waits for the first and finds the work done.
_INIT_LOCK = 0x63726577


async def init(database: Database) -> bool:
    """Create the schema in one transaction unless it is there; answers whether it was created.

    Raises CrewtopError for a schema of another version.
    """
    async with database.connection() as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _INIT_LOCK)
        found = await _version(connection)
        if found is None:
            await connection.execute(shipped("schema.sql").read_text("utf-8"))
            return True
        _agree(found)
        return False


async def check(database: Database) -> int:
    """The schema's version. Raises CrewtopError, with the next step, where it is missing or another one."""
    async with database.connection() as connection:
        found = await _version(connection)
    if found is None:
        raise CrewtopError(f"{database.name} has no crewtop schema: run `crewtop db init`")
    _agree(found)
    return found


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


def _agree(found: int) -> None:
    if found != SCHEMA_VERSION:
        raise CrewtopError(
            f"the database's schema is version {found}, this crewtop needs {SCHEMA_VERSION}: use the matching crewtop"
        )
