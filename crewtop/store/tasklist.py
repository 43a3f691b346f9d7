"""The task list: the tasks that match a filter, in an order, as many as a screen asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import asyncpg

from crewtop.model.detail import TaskPage, TaskRow
from crewtop.model.errors import Unavailable
from crewtop.model.filters import SORTS, TaskFilter
from crewtop.model.money import Money
from crewtop.model.stuck import stuck_reason
from crewtop.model.task import TaskStatus
from crewtop.store.conditions import ATTEMPT, condition
from crewtop.store.database import Database, TooSlow

# What ends in ASC or DESC is turned around by a leading '-'; what is not known stays at the end both ways.
_ORDERS = {
    "newest": ("t.id DESC",),
    "oldest": ("t.id ASC",),
    "cost": ("t.cost DESC", "t.id DESC"),
    "tokens": ("t.tokens DESC", "t.id DESC"),
    # As claim.sql takes them: what is due, by the priority that waiting has raised it to.
    "priority": (
        "(t.run_at > now()) ASC",
        (
            "t.priority - least(t.priority, coalesce("
            "floor(extract(epoch FROM now() - t.run_at) / q.boost_seconds), 0)) ASC"
        ),
        "t.priority ASC",
        "t.run_at ASC",
        "t.id ASC",
    ),
    "id": ("t.id ASC",),
    "crew": ("t.crew ASC", "t.id ASC"),
    "queue": ("t.queue ASC", "t.id ASC"),
    "status": ("t.status ASC", "t.id ASC"),
    "age": ("t.created_at ASC", "t.id ASC"),
    "attempts": (f"{ATTEMPT} DESC", "t.id DESC"),
    "due": ("t.run_at ASC", "t.id ASC"),
    "finished": ("t.finished_at IS NULL", "t.finished_at DESC", "t.id DESC"),
    "worker": ("t.worker_id IS NULL", "t.worker_id ASC", "t.id ASC"),
}
if _ORDERS.keys() != SORTS.keys():
    raise AssertionError("every sort has an order")


async def list_tasks(
    database: Database, task_filter: TaskFilter, sort: str, limit: int, no_progress_seconds: float
) -> TaskPage:
    """The first limit tasks that match, in the order named by sort: a key of model.filters.SORTS, or '-' and one.

    Raises Unavailable, with what would help, where it takes longer than the database's timeout.
    """
    where = condition(task_filter, 2, no_progress_seconds)
    with said_if_slow():
        rows = await database.fetch("list_tasks", limit + 1, *where.arguments, where=where.sql, order=_order(sort))
    at = rows[0]["at"] if rows else await _now(database)
    shown = tuple(task_row(row, no_progress_seconds) for row in rows[:limit])
    return TaskPage(at, shown, more=len(rows) > limit)


@contextmanager
def said_if_slow() -> Iterator[None]:
    """Around a statement over a filter: says what to do about one that took too long."""
    try:
        yield
    except TooSlow as error:
        raise Unavailable("too slow: narrow the filter, for instance by status or queue") from error


def _order(sort: str) -> str:
    terms = _ORDERS[sort.removeprefix("-")]
    return ", ".join(map(_reversed, terms) if sort.startswith("-") else terms)


def _reversed(term: str) -> str:
    if term.endswith(" ASC"):
        return term.removesuffix("ASC") + "DESC"
    return term.removesuffix("DESC") + "ASC" if term.endswith(" DESC") else term


async def _now(database: Database) -> datetime:
    async with database.connection() as connection:
        now: datetime = await connection.fetchval("SELECT now()")
        return now


def task_row(row: asyncpg.Record, no_progress_seconds: float) -> TaskRow:
    """A line of the list from its row in list_tasks.sql or task_line.sql."""
    status = TaskStatus(row["status"])
    running = status is TaskStatus.RUNNING
    return TaskRow(
        id=row["id"],
        queue=row["queue"],
        crew=row["crew"],
        status=status,
        version=row["version"],
        priority=row["priority"],
        age=(row["at"] - row["created_at"]).total_seconds(),
        created_at=row["created_at"],
        run_at=row["run_at"],
        finished_at=row["finished_at"],
        attempt=row["failed_runs"] + (status in (TaskStatus.RUNNING, TaskStatus.COMPLETED)),
        max_attempts=row["max_attempts"],
        step_position=row["step_position"],
        step_count=row["step_count"],
        agent=row["agent"],
        activity=row["activity"],
        tokens=row["tokens"],
        cost=Money(row["cost"], row["unpriced_calls"], row["calls"]),
        error=row["error"],
        cancelling=row["cancelling"],
        stuck=stuck_reason(
            row["lease_overdue"],
            row["run_age"],
            row["budget_seconds"],
            row["idle"],
            row["activity"],
            no_progress_seconds,
        )
        if running
        else None,
        worker_id=row["worker_id"],
    )
