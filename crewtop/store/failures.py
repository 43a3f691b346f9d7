"""Failures by what went wrong."""

from __future__ import annotations

import json

import asyncpg

from crewtop.model.failures import FailureGroup, Failures
from crewtop.model.money import Money
from crewtop.store.database import Database

LOOKED_AT = 20_000
"""How many failed tasks are looked at: the newest."""

RESTING_LOOKED_AT = 5_000
"""How many that back off."""

MOST_GROUPS = 500
BUCKETS = 24


async def read(database: Database, since_seconds: float) -> Failures:
    """What failed in the last so many seconds, and what backs off now, grouped by the errors' fingerprints."""
    rows = await database.fetch("failures", since_seconds, LOOKED_AT, RESTING_LOOKED_AT, BUCKETS, MOST_GROUPS)
    whole = rows[0]  # also where there is no group
    failed, resting = whole["failed_looked_at"], whole["resting_looked_at"]
    return Failures(
        at=whole["at"],
        groups=tuple(_group(row) for row in rows if row["failure"] is not None),
        bucket_seconds=since_seconds / BUCKETS,
        looked_at=failed + resting,
        more=failed == LOOKED_AT or resting == RESTING_LOOKED_AT or whole["groups"] > MOST_GROUPS,
    )


def _group(row: asyncpg.Record) -> FailureGroup:
    # Numbered backwards from now.
    counts: dict[str, int] = json.loads(row["trend"]) if row["trend"] else {}
    return FailureGroup(
        key=row["failure"],
        sample=row["sample"],
        sample_task=row["sample_task"],
        failed=row["failed"],
        retrying=row["retrying"],
        crews=tuple(row["crews"]),
        queues=tuple(row["queues"]),
        first_at=row["first_at"],
        last_at=row["last_at"],
        trend=tuple(counts.get(str(back), 0) for back in reversed(range(BUCKETS))),
        cost=Money(row["cost"], row["unpriced"], row["calls"]),
    )
