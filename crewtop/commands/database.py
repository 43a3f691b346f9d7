"""Commands about the database itself."""

from __future__ import annotations

import typer

from crewtop.config import Configuration
from crewtop.store import schema
from crewtop.stores import stores


async def init(configuration: Configuration) -> int:
    """Create the schema unless it is there, and say which it was."""
    async with stores(configuration.settings, "crewtop db", connections=1) as opened:
        created = await schema.init(opened.database)
        typer.echo(
            f"{opened.database.name}: {'created' if created else 'already there'}, version {schema.SCHEMA_VERSION}"
        )
    return 0


async def check(configuration: Configuration) -> int:
    """Print what the stores are. Raises CrewtopError where the schema is missing or another version's."""
    async with stores(configuration.settings, "crewtop db", connections=1) as opened:
        version = await schema.check(opened.database)
        redis = await opened.live.health()
        typer.echo(f"postgres: {opened.database.name}, schema version {version}")
        typer.echo(f"redis: {redis.detail if redis.up else 'down, polling: ' + redis.detail}")
    return 0
