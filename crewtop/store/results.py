"""Results in the order in which they came, a page at a time, none left out and none twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

import asyncpg

from crewtop.model.filters import TaskFilter
from crewtop.model.results import START, Cursor, Result
from crewtop.store.conditions import condition
from crewtop.store.database import Database
from crewtop.store.tasklist import said_if_slow

PAGE = 1_000
PAGE_BYTES = 4 * 1024 * 1024
"""What the results of a page take on the disk, where long ones are compressed, but for its last one."""

POLL_SECONDS = 1.0

BEGUN_SECONDS = 0.05
"""A transaction has its stamp first, and is known to be under way a moment later: within so long."""

LONGEST_SECONDS = 30.0
"""No worker's statement takes longer: what is older records no end, and is not waited for."""

_LAST_ID = 2**63 - 1


async def pages(
    database: Database, task_filter: TaskFilter, no_progress_seconds: float, after: Cursor = START, *, follow: bool
) -> AsyncIterator[Sequence[Result]]:
    """Results of completed tasks that match, in the order of their ends, from after a place on, page by page.

    Up to now; with follow, then those that come, without end. Memory holds one page. Raises as list_tasks does.
    """
    place = after
    while True:
        until = await _settled(database)
        while page := await _page(database, task_filter, no_progress_seconds, place, until):
            yield page
            place = page[-1].cursor
        # Whatever does not match need not be passed over again.
        place = max(place, Cursor(until, _LAST_ID))
        if not follow:
            return
        await asyncio.sleep(POLL_SECONDS)


async def _page(
    database: Database, task_filter: TaskFilter, no_progress_seconds: float, after: Cursor, until: datetime
) -> list[Result]:
    where = condition(task_filter, 6, no_progress_seconds)
    with said_if_slow():
        rows = await database.fetch(
            "results", after.finished_at, after.task_id, until, PAGE, PAGE_BYTES, *where.arguments, where=where.sql
        )
    return [Result(row["id"], row["finished_at"], row["crew"], row["queue"], row["key"], row["value"]) for row in rows]


async def _settled(database: Database) -> datetime:
    """An instant, hardly past, up to which every end is there to be read.

    An end is stamped when its statement begins, and seen when it commits: a later one may be seen sooner, and whoever
    had gone past it would never come back. So all that is under way is waited for.
    """
    at: datetime = (await _transactions(database))["at"]
    await asyncio.sleep(BEGUN_SECONDS)
    begun, started = set((await _transactions(database))["under_way"]), time.monotonic()
    while begun and time.monotonic() - started < LONGEST_SECONDS:
        await asyncio.sleep(BEGUN_SECONDS)
        begun &= set((await _transactions(database))["under_way"])
    return at


async def _transactions(database: Database) -> asyncpg.Record:
    row = await database.fetchrow("transactions")
    assert row is not None
    return row
