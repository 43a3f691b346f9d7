"""The raw figures of what LLM calls cost."""

from __future__ import annotations

import json
from typing import Any

from crewtop.store.database import Database
from crewtop.store.failures import LOOKED_AT

DAYS = 14


async def read(database: Database, hours: int) -> dict[str, Any]:
    """What was spent in the last so many hours and 14 days, as store/spending.sql lays it out, in one round trip."""
    row = await database.fetchrow("spending", hours, DAYS, LOOKED_AT)
    if row is None:
        raise AssertionError("a select without a table answers one row")
    figures: dict[str, Any] = json.loads(row[0])
    return figures
