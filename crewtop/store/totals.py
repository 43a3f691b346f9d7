"""Sums over all rollups."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from crewtop.store.database import Database


async def read(database: Database, since: datetime | None, settle_seconds: float) -> dict[str, Any]:
    """The sums as store/totals.sql lays them out, since an instant, None: all; settle_seconds: as it has them."""
    row = await database.fetchrow("totals", since, settle_seconds)
    if row is None:
        raise AssertionError("a select without a table answers one row")
    sums: dict[str, Any] = json.loads(row[0])
    return sums
