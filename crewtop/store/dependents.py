"""What follows for the tasks that depend on one that has ended."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop.store.database import Database

MOST_AT_ONCE = 1_000


async def settle(database: Database, ended: Sequence[int], actor: str) -> set[str]:
    """Let the ends of tasks take effect in their dependents, and those dependents' ends in theirs.

    Harmless to repeat. actor: for the history, such as worker:<id>. Answers the queues in which tasks became ready.
    """
    ready: set[str] = set()
    while ended:
        rows = await database.fetch("settle_dependents", list(ended), actor)
        ready |= {row["queue"] for row in rows if row["status"] == "pending"}
        ended = [row["id"] for row in rows if row["status"] != "pending"]
    return ready


async def settle_the_rest(database: Database, actor: str, after: int = 0) -> tuple[set[str], int]:
    """Settle what was left because whoever ended a task died before it could: among the next thousand after an id.

    Answers as settle does, and the id to go on from: 0 at the end.
    """
    row = await database.fetchrow("unsettled", after, MOST_AT_ONCE)
    if row is None:
        raise AssertionError("a select without a table answers one row")
    return await settle(database, row["ended"], actor), row["place"] or 0
