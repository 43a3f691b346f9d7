"""What holds queues and crews back, or pushes them: pauses, limits over all workers, rising priorities."""

from __future__ import annotations

from typing import Literal

from crewtop.model.snapshot import Throttle
from crewtop.store.database import Database, statement

Scope = Literal["queue", "crew"]


async def set_limit(
    database: Database, scope: Scope, name: str, max_running: int | None, rate_per_minute: float | None
) -> None:
    """Let at most max_running tasks of a queue or crew run at once, and so many start a minute; None: no such limit.

    max_running: 0 to 10,000. What runs already takes its places first; beyond the new limit it runs on.
    """
    async with database.connection() as connection, connection.transaction():
        if max_running is None and rate_per_minute is None:
            await connection.execute(statement("drop_limit"), scope, name)
            return
        await connection.execute(statement("set_limit"), scope, name, max_running, rate_per_minute)
        await connection.execute(statement("make_slots"), scope, name, max_running or 0)


async def crew_seen(database: Database, crew: str) -> bool:
    """Whether any worker, alive or lately gone, has this crew."""
    row = await database.fetchrow("crew_seen", crew)
    assert row is not None
    return bool(row["seen"])


async def pause_queue(database: Database, queue: str, actor: str, reason: str | None) -> bool:
    """Let workers claim nothing from a queue; what runs goes on. One that is not there yet is made, and paused.

    Answers whether it was there.
    """
    row = await database.fetchrow("pause_queue", queue, actor, reason)
    assert row is not None
    return bool(row["was_there"])


async def resume_queue(database: Database, queue: str) -> bool:
    """Let workers claim from a queue again. Answers whether there is such a queue."""
    return await database.fetchrow("resume_queue", queue) is not None


async def throttles(database: Database) -> list[Throttle]:
    """Crews that are held back just now, since their provider said 429."""
    return [Throttle(**row) for row in await database.fetch("throttles")]


async def set_boost(database: Database, queue: str, seconds: float | None) -> bool:
    """Let a queue's tasks rise by one priority for each time they have waited so long; None: never.

    seconds: at least 1. Answers whether there is such a queue.
    """
    return await database.fetchrow("boost_queue", queue, seconds) is not None
