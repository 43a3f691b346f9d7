"""What the screen and the command line read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import asyncpg

from crewtop.model.detail import (
    MOST_TIES,
    CallRow,
    Excerpt,
    HistoryRow,
    RunRow,
    StepRow,
    TaskDetail,
    TaskTies,
    Tied,
    ToolRow,
)
from crewtop.model.hindrances import Hindrances
from crewtop.model.ledger import BEATS_A_LEASE, MISSED_BEATS
from crewtop.model.money import Money
from crewtop.store.database import Database, statement
from crewtop.store.tasklist import task_row

FIRST_CHUNK = 65_536
"""Characters of a long text that a task's story carries; the rest is read on demand."""

COUNTED_DUE = 10_000
"""How many due tasks, and how many that are due later, are counted in a queue's priority."""


async def read_snapshot(
    database: Database,
    since: datetime | None,
    window_seconds: float,
    no_progress_seconds: float,
    running_limit: int,
    *,
    with_today: bool,
) -> dict[str, Any]:
    """The raw figures of one instant as store/snapshot.sql lays them out, in one round trip.

    since: rollups from then on, None for the whole window; with_today: also what was spent today before them.
    """
    row = await database.fetchrow(
        "snapshot", since, window_seconds, no_progress_seconds, running_limit, with_today, COUNTED_DUE
    )
    if row is None:
        raise AssertionError("a select without a table answers one row")
    figures: dict[str, Any] = json.loads(row[0])
    return figures


async def read_detail(database: Database, task_id: int, no_progress_seconds: float) -> TaskDetail | None:
    """A task's whole story as of one instant, or None where there is no such task."""
    async with (
        database.connection() as connection,
        connection.transaction(isolation="repeatable_read", readonly=True),
    ):
        line = await connection.fetchrow(statement("task_line"), task_id, FIRST_CHUNK)
        if line is None:
            return None
        runs = await connection.fetch(statement("task_runs"), task_id, FIRST_CHUNK)
        steps = await connection.fetch(statement("task_steps"), task_id, FIRST_CHUNK)
        calls = await connection.fetch(statement("task_calls"), task_id)
        tools = await connection.fetch(statement("task_tools"), task_id)
        history = await connection.fetch(statement("task_history"), task_id)
        tied = await connection.fetch(statement("task_ties"), task_id, MOST_TIES)
        hindrances = None
        if line["status"] in ("pending", "retry"):
            hindrances = await connection.fetchrow(
                statement("hindrances"), task_id, COUNTED_DUE, MISSED_BEATS / BEATS_A_LEASE
            )
    return TaskDetail(
        at=line["at"],
        task=task_row(line, no_progress_seconds),
        inputs=Excerpt(line["inputs"], line["inputs_size"]),
        runs=tuple(_run_row(row) for row in runs),
        steps=tuple(_step_row(row) for row in steps),
        calls=tuple(_call_row(row) for row in calls),
        tools=tuple(ToolRow(**row) for row in tools),
        history=tuple(HistoryRow(**row) for row in history),
        calls_total=calls[0]["total"] if calls else 0,
        ties=TaskTies(
            **{name: line[name] for name in ("key", "key_scope", "parent_id", "rerun_of", "schedule")},
            depends_on=_tied(tied, "depends_on"),
            needed_by=_tied(tied, "needed_by"),
            children=_tied(tied, "child"),
            reruns=_tied(tied, "rerun"),
        ),
        waits_because=Hindrances(**hindrances).in_words(COUNTED_DUE) if hindrances else None,
    )


async def read_body(database: Database, task_id: int, run_id: int | None, body: str, limit: int) -> Excerpt:
    """The first limit characters of one long text: body is inputs, result, error, traceback or log."""
    row = await database.fetchrow(f"body_{body}", task_id, run_id, limit)
    return Excerpt(row["text"] or "", row["size"] or 0) if row else Excerpt("", 0)


def _tied(rows: Sequence[asyncpg.Record], tie: str) -> tuple[Tied, ...]:
    return tuple(Tied(row["name"], row["task_id"], row["status"]) for row in rows if row["tie"] == tie)


def _excerpt(row: asyncpg.Record, name: str) -> Excerpt | None:
    return Excerpt(row[name], row[f"{name}_size"]) if row[name] is not None else None


def _run_row(row: asyncpg.Record) -> RunRow:
    return RunRow(
        id=row["id"],
        worker_id=row["worker_id"],
        outcome=row["outcome"],
        claimed_at=row["claimed_at"],
        waited_seconds=row["waited_seconds"],
        finished_at=row["finished_at"],
        seconds=row["seconds"],
        result=_excerpt(row, "result"),
        error_type=row["error_type"],
        error=_excerpt(row, "error"),
        traceback=_excerpt(row, "traceback"),
        late=row["late"],
        replaced=row["replaced"],
        log_tail=_excerpt(row, "log_tail"),
    )


def _step_row(row: asyncpg.Record) -> StepRow:
    plain = (
        "run_id", "position", "name", "agent", "description", "status", "error", "started_at", "seconds",
        "resumed_from",
    )  # fmt: skip
    return StepRow(**{name: row[name] for name in plain}, output=_excerpt(row, "output"))


def _call_row(row: asyncpg.Record) -> CallRow:
    plain = (
        "run_id", "call_id", "step_position", "agent", "provider", "model", "outcome", "started_at", "seconds",
        "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "price_source",
        "error", "clamped", "route", "estimated_tokens", "context_cut", "waited_seconds", "key_tail",
    )  # fmt: skip
    # A call that still waits is unknown too: its cost may be anything.
    cost = Money(row["cost"], 0, 1) if row["cost"] is not None else Money(unknown=1, calls=1)
    return CallRow(**{name: row[name] for name in plain}, cost=cost)
