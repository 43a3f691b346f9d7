"""What keeps tables small: folding appended counters and rollups. Any worker may do it, several at once."""

from __future__ import annotations

from crewtop.store.database import Database

RAW_SECONDS = 5.0
"""How long counters and rollups stay as appended before they are folded into 10-second buckets."""

HISTORY_SECONDS = 1_800.0
"""How long the depth of queues is known by 10-second bucket."""


async def fold(database: Database) -> None:
    """Fold counters and rollups that are ripe. Sums over them do not change."""
    await database.fetch("fold_depth", RAW_SECONDS, HISTORY_SECONDS)
    await database.fetch("fold_stats", RAW_SECONDS)
    await database.fetch("fold_model_stats", RAW_SECONDS)
