"""What keeps tables small: folding counters and rollups, forgetting what is old. Any worker may, several at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from crewtop.store.database import Database, statement

RAW_SECONDS = 5.0
"""How long counters and rollups stay as appended, at least, before they are folded into 10-second buckets."""

DEPTH_SECONDS = 1_800.0
"""How long the depth of queues is known by 10-second bucket."""

MINUTES_SECONDS = 262_800.0
"""How long rollups are known to the minute: 73 hours."""

COARSER = ((0, 10, RAW_SECONDS), (10, 60, 7_200.0), (60, 3_600, MINUTES_SECONDS))
"""Rollups of so many seconds a bucket become coarser at an age in seconds: 10 s for hours, 1 min for days, then 1 h.

Windows of up to three days are summed to the minute, and longer ones in the time that somebody waits for a view.
"""

ROLLUPS_SECONDS = 366 * 86_400.0
"""How long hours are kept; what is older is one sum."""

ROLLUPS_A_TIME = 20_000

WORKERS_SECONDS = 604_800.0
SCHEDULES_SECONDS = 604_800.0
BUDGETS_SECONDS = 604_800.0
OPERATIONS_SECONDS = 90 * 86_400.0

ALERTS_SECONDS = 30 * 86_400.0
ALERTS_A_TIME = 10_000

OPERATIONS_A_TIME = 10
"""An operation may have had a hundred thousand items."""

TASKS_A_TIME = 1_000


class Pruned(NamedTuple):
    """The ids of the tasks that were deleted, and after which one to go on; None where no other is old enough."""

    deleted: list[int]
    place: int | None


async def fold(database: Database) -> None:
    """Fold counters and rollups that are ripe. Sums over them do not change."""
    await database.fetch("fold_depth", RAW_SECONDS, DEPTH_SECONDS)
    for fine, coarse, age in COARSER:
        await database.fetch("fold_stats", fine, coarse, age)
        await database.fetch("fold_model_stats", fine, coarse, age)


async def prune(database: Database) -> None:
    """Forget workers, schedules and budgets that have been silent for a week; old alerts, operations and rollups."""
    await prune_rollups(database)
    await database.fetch("prune_workers", WORKERS_SECONDS)
    await database.fetch("prune_schedules", SCHEDULES_SECONDS)
    await database.fetch("prune_budgets", BUDGETS_SECONDS)
    await database.fetch("prune_alerts", ALERTS_SECONDS, ALERTS_A_TIME)
    await database.fetch("prune_operations", OPERATIONS_SECONDS, OPERATIONS_A_TIME)


async def prune_rollups(database: Database) -> None:
    """Make one sum of the hours that are older than a year, so many rows at a time."""
    for name in ("prune_stats", "prune_model_stats"):
        while (await database.fetch(name, ROLLUPS_SECONDS, ROLLUPS_A_TIME))[0]["n"] == ROLLUPS_A_TIME:
            pass


async def prune_tasks(database: Database, keeping: Mapping[str, float], after: int) -> Pruned:
    """Delete what is over among the next 1,000 tasks after an id, in one short transaction.

    keeping: for how many seconds tasks of a status are kept once they ended; what is not named is kept for ever.
    Tasks that others depend on, and parents of tasks, stay until those have ended.
    """
    if not keeping:
        return Pruned([], None)
    async with database.connection() as connection, connection.transaction():
        row = await connection.fetchrow(
            statement("prune_tasks"), after, TASKS_A_TIME, list(keeping), list(keeping.values())
        )
        if row is None:
            raise AssertionError("a select without a table answers one row")
        deleted = await connection.fetch(statement("delete_tasks"), row["ids"]) if row["ids"] else []
    return Pruned([gone["id"] for gone in deleted], row["place"])


async def sweep_slots(database: Database) -> None:
    """Free the places of limits whose run is over: whoever ended it should have, and this is in case it did not."""
    await database.fetch("sweep_slots")
