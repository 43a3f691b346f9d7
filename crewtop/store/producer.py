"""What a producer asks of the database: put tasks in, see where they stand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import asyncpg

from crewtop.model.errors import Refused, Unavailable
from crewtop.model.live import Ending, State
from crewtop.model.task import ENDED, Kind, NewTask, Portion, TaskStatus, Ties
from crewtop.store import dependents
from crewtop.store.database import Database, columns, statement

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

PLAIN_COLUMNS = len(NewTask._fields) - 1
NO_TIES = Ties()
MOST_LOOKS = 5
"""A key's holder may end while it is being looked for: then the key is free, and it is tried again."""


async def enqueue(database: Database, portions: Iterable[Portion]) -> list[int]:
    """Put plain tasks in, all or none; answers their ids in order.

    portions may be made as they are taken: that goes on while the database works on the one before.
    """
    ids: list[int] = []
    async with database.connection() as connection, connection.transaction():
        working: asyncio.Task[list[asyncpg.Record]] | None = None
        try:
            for part in portions:
                if working is not None:
                    ids += [row[0] for row in await working]
                arguments = (*columns(part.kinds, len(Kind._fields)), part.inputs, part.numbers)
                working = asyncio.create_task(connection.fetch(statement("enqueue"), *arguments))
                await asyncio.sleep(0)  # it is on its way before the next portion is made
        finally:
            if working is not None:
                ids += [row[0] for row in await working]
    return ids


async def enqueue_tied(database: Database, tasks: Sequence[NewTask]) -> tuple[list[int], set[int]]:
    """Put tasks with keys, dependencies or parents in, all or none; each after those of the batch that it depends on.

    Answers their ids, and the places of those that are other tasks, which hold the key. Raises Refused where
    a task that is depended on, or a parent, does not exist.
    """
    named = {tied.task_id for task in tasks for tied in (task.ties or NO_TIES).depends_on if tied.task_id is not None}
    parents = {task.ties.parent_id for task in tasks if task.ties and task.ties.parent_id is not None}
    async with database.connection() as connection, connection.transaction():
        for row in await connection.fetch(statement("missing_tasks"), list(named | parents)):
            raise Refused(f"there is no task {row['id']}: depend on a task that exists, or on one of the same batch")
        for row in await connection.fetch(statement("lock_parents"), list(parents)):
            raise Refused(f"task {row['id']} is cancelled: nothing more can come from it")
        drawn = [row["id"] for row in await connection.fetch(statement("draw_ids"), len(tasks))]
        held = await _insert(connection, tasks, drawn)
        ids = [held.get(place, task_id) for place, task_id in enumerate(drawn)]
        edges = [
            (tied.task_id if tied.task_id is not None else ids[tied.place or 0], drawn[place], tied.name)
            for place, task in enumerate(tasks)
            if place not in held
            for tied in (task.ties or NO_TIES).depends_on
        ]
        await connection.execute(statement("add_dependencies"), *columns(edges, 3))
    ended_already = named | set(held.values())
    if edges and ended_already:
        await dependents.settle(database, sorted(ended_already), "producer")
    return ids, set(held)


async def _insert(connection: Connection, tasks: Sequence[NewTask], ids: Sequence[int]) -> dict[int, int]:
    """Write the tasks; answers the places of those whose key another task holds, and which."""
    left, held = list(range(len(tasks))), dict[int, int]()
    for _ in range(MOST_LOOKS):
        rows = [_row(tasks[place], ids[place]) for place in left]
        written = {row["id"] for row in await connection.fetch(statement("enqueue_tied"), *columns(rows, len(rows[0])))}
        left = [place for place in left if ids[place] not in written]
        if not left:
            return held
        keys = [(tasks[p].crew, ties.key, ties.key_window_seconds) for p in left if (ties := tasks[p].ties)]
        found = await connection.fetch(statement("key_holders"), *columns(keys, 3))
        held |= {left[row["place"] - 1]: row["id"] for row in found}
        left = [place for place in left if place not in held]
        if not left:
            return held
    raise Unavailable("postgres: tasks of the same key come and go too fast: try again")


def _row(task: NewTask, task_id: int) -> tuple[object, ...]:
    ties = task.ties or NO_TIES
    scope = ties.key_scope if ties.key is not None else None
    return (
        *task[:PLAIN_COLUMNS], task_id, ties.key, scope, ties.key_window_seconds, len(ties.depends_on), ties.on_failure,
        ties.parent_id,
    )  # fmt: skip


async def status(database: Database, task_id: int) -> State | None:
    """Where a task stands, or None where there is no such task."""
    row = await database.fetchrow("task_status", task_id)
    return State(row["version"], TaskStatus(row["status"])) if row else None


async def ending(database: Database, task_id: int) -> State | None:
    """The same, with how it ended if it has."""
    row = await database.fetchrow("task_result", task_id)
    if row is None:
        return None
    status = TaskStatus(row["status"])
    how = Ending(row["result"], row["error"] or row["run_error"]) if status in ENDED else None
    return State(row["version"], status, how)
