"""Commands about the database itself."""

from __future__ import annotations

import typer

from crewtop.config import Configuration
from crewtop.store import schema
from crewtop.stores import stores

APPLICATION = "crewtop db"

MEANWHILE = (
    "producers and screens wait while it is upgraded: tasks may be written anew, "
    "about half a minute a million, with as much room on the disk again"
)
"""As measured on two cores with version 3."""


async def init(configuration: Configuration) -> int:
    """Create the schema unless it is there, and say which it was."""
    async with stores(configuration.settings, APPLICATION, connections=1) as opened:
        created = await schema.init(opened.database)
        typer.echo(
            f"{opened.database.name}: {'created' if created else 'already there'}, version {schema.SCHEMA_VERSION}"
        )
    return 0


async def check(configuration: Configuration) -> int:
    """Print what the stores are. Raises CrewtopError where the schema is missing or another version's."""
    async with stores(configuration.settings, APPLICATION, connections=1) as opened:
        version = await schema.check(opened.database)
        redis = await opened.live.health()
        pooled = ", pooled: nothing is prepared" if opened.database.pooled else ""
        polling = f"down, polling every {configuration.settings.worker.poll_seconds:g} s"
        typer.echo(f"postgres: {opened.database.name}, schema version {version}{pooled}")
        typer.echo(f"redis: {redis.detail if redis.up else f'{polling}: {redis.detail}'}")
    return 0


async def upgrade(configuration: Configuration) -> int:
    """Bring an older schema to this version. Raises Refused while workers of the old version are at work."""
    async with stores(configuration.settings, APPLICATION, connections=1) as opened:
        if (await schema.version(opened.database) or schema.SCHEMA_VERSION) < schema.SCHEMA_VERSION:
            typer.echo(f"{opened.database.name}: {MEANWHILE}", err=True)
        found = await schema.upgrade(opened.database)
        done = "already there" if found == schema.SCHEMA_VERSION else f"upgraded from version {found}"
        typer.echo(f"{opened.database.name}: {done}, version {schema.SCHEMA_VERSION}")
    return 0


async def roles(configuration: Configuration, *, apply: bool) -> int:
    """Print the SQL of the roles, or apply it."""
    if not apply:
        typer.echo(schema.roles(), nl=False)
        return 0
    async with stores(configuration.settings, APPLICATION, connections=1) as opened:
        await schema.apply_roles(opened.database)
        typer.echo(
            f"{opened.database.name}: crewtop_viewer, crewtop_operator and crewtop_worker may do their part; "
            "give people theirs: CREATE ROLE alice LOGIN PASSWORD '...' IN ROLE crewtop_operator"
        )
    return 0
