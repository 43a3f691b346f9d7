"""What a producer asks of the database: put tasks in, see where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crewtop.model.task import NewTask, TaskStatus
from crewtop.store.database import Database, columns


@dataclass(frozen=True, slots=True)
class Ending:
    """Where a task stands: result is JSON text once completed; error in short once failed.

    A completed task without a result has an error that says why it could not be stored.
    """

    status: TaskStatus
    result: str | None
    error: str | None


async def enqueue(database: Database, tasks: Sequence[NewTask]) -> list[int]:
    """Put tasks into their queues in one statement; answers their ids in the same order."""
    rows = [
        (
            t.queue,
            t.crew,
            int(t.priority),
            t.inputs,
            t.inputs_replaced,
            t.run_at,
            t.max_attempts,
            t.budget_seconds,
        )
        for t in tasks
    ]
    return [row["id"] for row in await database.fetch("enqueue", *columns(rows, 8))] if rows else []


async def status(database: Database, task_id: int) -> TaskStatus | None:
    """Where a task stands, or None where there is no such task."""
    row = await database.fetchrow("task_status", task_id)
    return TaskStatus(row["status"]) if row else None


async def ending(database: Database, task_id: int) -> Ending | None:
    """How a task ended, or stands; None where there is no such task."""
    row = await database.fetchrow("task_result", task_id)
    return Ending(TaskStatus(row["status"]), row["result"], row["error"] or row["run_error"]) if row else None
