"""What follows for the tasks that depend on one that has ended."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop.model.task import Settled, TaskStatus
from crewtop.store.database import Database

MOST_AT_ONCE = 1_000


async def settle(database: Database, ended: Sequence[int], actor: str) -> list[Settled]:
    """Let the ends of tasks take effect in their dependents, and those dependents' ends in theirs.

    Harmless to repeat. actor: for the history, such as worker:<id>. Answers what waits no longer.
    """
    settled: list[Settled] = []
    while ended:
        rows = await database.fetch("settle_dependents", list(ended), actor)
        now = [
            Settled(task_id, queue, crew, TaskStatus(status), version, why)
            for task_id, queue, crew, status, version, why in rows
        ]
        ended = [task.task_id for task in now if task.status.ended]
        settled += now
    return settled


async def settle_the_rest(database: Database, actor: str, after: int = 0) -> tuple[list[Settled], int]:
    """Settle what was left because whoever ended a task died before it could: among the next thousand after an id.

    Answers as settle does, and the id to go on from: 0 at the end.
    """
    row = await database.fetchrow("unsettled", after, MOST_AT_ONCE)
    if row is None:
        raise AssertionError("a select without a table answers one row")
    return await settle(database, row["ended"], actor), row["place"] or 0
