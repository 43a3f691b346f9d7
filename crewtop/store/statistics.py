"""What finished over some time, from rollups alone: any window, any split, never a look at tasks."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import asyncpg

from crewtop.model.money import Money
from crewtop.model.statistics import Counted, Statistics, tally, together
from crewtop.store.database import Database, filled, statement

SPLITS: dict[str, tuple[str, str | None]] = {
    "crew": ("c.crew", "c.crew"),
    "queue": ("c.queue", "c.queue"),
    "worker": ("c.worker_id", None),
    "day": ("to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')", "to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')"),
}
"""By what: in the rollups of runs, and in those of calls (None: they do not tell)."""

_COUNTS = ("completed", "failed", "retried", "met", "missed")
_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")

NO_WORKER = "(no longer known)"
"""The name of what hours have, which know of no workers, and of what no worker ended."""


async def read(database: Database, by: str, since_seconds: float) -> Statistics:
    """What finished in the last so many seconds, by 'crew', 'queue', 'worker' or 'day' (UTC).

    It begins with a whole minute, or a whole hour where they are more than three days, and a year ago at most. Raises
    as Database does.
    """
    rolled, called = SPLITS[by]
    at, since, counted = await _counted(database, rolled, called, since_seconds)
    if by == "worker":
        counted = [replace(row, name=row.name or NO_WORKER) for row in counted]
    rows = [tally(row) for row in counted]
    ordered = sorted(rows, key=lambda row: row.name)
    if by != "day":
        ordered.sort(key=lambda row: -(row.completed + row.failed))
    notes = ["calls to models are not told apart by worker"] if called is None else []
    if any(row.name == NO_WORKER for row in rows):
        notes.append(f"{NO_WORKER}: what ended more than three days ago, or by no worker's hand")
    whole = together(counted, "all")
    if called is None:
        whole = replace(whole, tokens=None, cost=None)
    return Statistics(at, since, by, tuple(ordered), tally(whole), tuple(notes))


async def over_time(database: Database, since_seconds: float, step_seconds: int) -> Statistics:
    """The same by stretches of time: names are Unix seconds of their beginnings; those of nothing are left out.

    step_seconds: a multiple of an hour where since_seconds are more than three days, else of a minute.
    """
    group = f"extract(epoch FROM date_bin('{int(step_seconds)} seconds', c.at, 'epoch'))::bigint::text"
    at, since, counted = await _counted(database, group, group, since_seconds)
    rows = sorted((tally(row) for row in counted), key=lambda row: int(row.name))
    return Statistics(at, since, "time", tuple(rows), tally(together(counted, "all")))


async def _counted(
    database: Database, rolled: str, called: str | None, since_seconds: float
) -> tuple[datetime, datetime, list[Counted]]:
    async with (
        database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        window = await connection.fetchrow(statement("cost_window"), since_seconds)
        assert window is not None
        runs = await connection.fetch(filled("statistics", {"group": rolled}), window["since"])
        calls = await connection.fetch(filled("costs", {"group": called}), window["since"]) if called else []
    by_name = {row["name"]: row for row in calls}
    counted = [_row(row["name"], row, by_name.pop(row["name"], None), told=called is not None) for row in runs]
    counted += [_row(name, None, row, told=True) for name, row in by_name.items()]
    return window["at"], window["since"], counted


def _row(name: str, run: asyncpg.Record | None, call: asyncpg.Record | None, *, told: bool) -> Counted:
    counts: dict[str, Any] = {kind: run[kind] for kind in _COUNTS} if run else {}
    for measure in ("wait", "run") if run else ():
        counts[measure] = {int(bucket): n for bucket, n in json.loads(run[measure]).items()}  # type: ignore[index]
    if not told:
        return Counted(name, **counts, tokens=None, cost=None)
    if call is None:
        return Counted(name, **counts)
    cost = Money(call["cost"], call["unpriced"], call["calls"])
    return Counted(name, **counts, tokens=sum(call[kind] for kind in _TOKENS), cost=cost)
