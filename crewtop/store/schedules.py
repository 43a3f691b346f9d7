"""Recurring tasks in the database: when each is due next, and putting it in exactly once."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crewtop.store.database import Database

Definition = dict[str, Any]
"""A schedule as [schedules] has it: cron, zone, crew, inputs, queue, priority, max_attempts, missed, enabled."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A schedule as it stands. at is the database's clock; the rest is None where no worker had it yet."""

    at: datetime
    name: str
    definition: Definition | None
    next_at: datetime | None
    seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Listed:
    """A schedule for an operator. last_status is None where its last task has been pruned, or there was none."""

    at: datetime
    name: str
    definition: Definition
    next_at: datetime
    last_at: datetime | None
    last_task: int | None
    last_status: str | None
    seen_at: datetime


async def look(database: Database, names: Collection[str]) -> list[Standing]:
    """These schedules as they stand."""
    rows = await database.fetch("schedules", list(names))
    return [Standing(r["at"], r["name"], _read(r["definition"]), r["next_at"], r["seen_at"]) for r in rows]


async def keep(database: Database, seen: Standing, definition: Definition, next_at: datetime | None) -> None:
    """Write how a worker has a schedule that it has just seen, with its next tick, or None to leave that as it is."""
    await database.fetch("keep_schedule", seen.name, json.dumps(definition), next_at, seen.next_at)


async def tick(
    database: Database, name: str, definition: Definition, come: datetime, next_at: datetime, ticks: list[datetime]
) -> list[int]:
    """Put in a task for each of the ticks and move the schedule on from come to next_at, unless another did.

    Answers the new tasks' ids.
    """
    rows = await database.fetch(
        "tick_schedule", name, come, next_at, len(ticks), ticks[-1] if ticks else None, definition["crew"],
        definition["queue"], definition["priority"], json.dumps(definition["inputs"]), definition["max_attempts"],
    )  # fmt: skip
    return [row["id"] for row in rows]


async def every_schedule(database: Database) -> list[Listed]:
    """All of them, by name."""
    rows = await database.fetch("list_schedules")
    return [Listed(**{**row, "definition": json.loads(row["definition"])}) for row in rows]


def _read(definition: str | None) -> Definition | None:
    return None if definition is None else json.loads(definition)
