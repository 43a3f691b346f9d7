"""What keeps tables small: folding counters and rollups, forgetting workers. Any worker may do it, several at once."""

from __future__ import annotations

from crewtop.store.database import Database

RAW_SECONDS = 5.0
"""How long counters and rollups stay as appended before they are folded into 10-second buckets."""

DEPTH_SECONDS = 1_800.0
"""How long the depth of queues is known by 10-second bucket."""

COARSER = ((0, 10, RAW_SECONDS), (10, 60, 7_200.0), (60, 3_600, 259_200.0))
"""Rollups of so many seconds a bucket become coarser at an age in seconds: 10 s for hours, 1 min for days, then 1 h."""

WORKERS_SECONDS = 604_800.0


async def fold(database: Database) -> None:
    """Fold counters and rollups that are ripe. Sums over them do not change."""
    await database.fetch("fold_depth", RAW_SECONDS, DEPTH_SECONDS)
    for fine, coarse, age in COARSER:
        await database.fetch("fold_stats", fine, coarse, age)
        await database.fetch("fold_model_stats", fine, coarse, age)


async def prune(database: Database) -> None:
    """Forget workers that have been silent for a week."""
    await database.fetch("prune_workers", WORKERS_SECONDS)
