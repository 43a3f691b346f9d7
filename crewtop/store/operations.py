"""Operations on record: priced and fixed over a set of tasks when they are asked for, halted, and told about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

import asyncpg

from crewtop.model.errors import Refused
from crewtop.model.filters import words
from crewtop.model.money import Money
from crewtop.model.operations import (
    NEVER_UNDONE,
    ON_TASKS,
    RULES,
    Action,
    ItemOutcome,
    Matching,
    Operation,
    Order,
    Scope,
    Standing,
    State,
    Target,
)
from crewtop.model.stuck import NO_PROGRESS_SECONDS
from crewtop.model.task import TaskStatus
from crewtop.store.conditions import condition
from crewtop.store.database import Database, filled, statement
from crewtop.store.tasklist import said_if_slow

FREEZE_SECONDS = 120.0
"""How long it may take to fix what an operation is over: a million tasks take some seconds."""


async def targets(database: Database, task_ids: Sequence[int]) -> list[Standing]:
    """Tasks as they stand now, for an action that no screen has shown; ids that do not exist are left out."""
    return [
        Standing(
            Target(row["id"], row["version"]),
            TaskStatus(row["status"]),
            row["cancelling"],
            Money(row["cost"], row["unpriced_calls"], row["calls"]),
        )
        for row in await database.fetch("targets", list(task_ids))
    ]


async def price(
    database: Database, action: Action, matching: Matching, no_progress_seconds: float = NO_PROGRESS_SECONDS
) -> Scope:
    """What an action over a filter would reach and cost, before it is asked for.

    no_progress_seconds: as for tasklist.list_tasks. Raises Unavailable, with what would help, where it takes too long;
    Refused as begin does.
    """
    _check(action)
    where = condition(matching.task_filter, 3, no_progress_seconds)
    with said_if_slow():
        row = await database.fetchrow(
            "price_matching", list(RULES[action].eligible), matching.looked_at, *where.arguments, where=where.sql
        )
    assert row is not None
    statuses = json.loads(row["statuses"] or "{}")
    return Scope(
        row["at"],
        sum(statuses.values()),
        statuses,
        tuple(row["sample"]),
        Money(row["cost"], row["unpriced_calls"], row["calls"]),
        row["newcomers"],
        max(0, row["others"]),
    )


async def begin(database: Database, order: Order, seen: Sequence[Target], actor: str) -> Operation:
    """Record an operation over tasks as they were seen; a cancelling also takes along what they fanned out.

    Raises Refused for UNDO, which is over an operation: begin_undo.
    """
    _check(order.action)
    by_id = {target.task_id: target.version for target in seen}
    return await _freeze(
        database, order.action, statement("freeze_targets"),
        order.action, _argument(order), actor, order.reason, list(by_id), list(by_id.values()),
    )  # fmt: skip


async def begin_matching(
    database: Database,
    order: Order,
    matching: Matching,
    actor: str,
    no_progress_seconds: float = NO_PROGRESS_SECONDS,
) -> Operation:
    """Record an operation over every task that matches, as it stands now and stood when the operator looked.

    no_progress_seconds: as for tasklist.list_tasks. Raises Refused as begin does.
    """
    _check(order.action)
    where = condition(matching.task_filter, 8, no_progress_seconds)
    return await _freeze(
        database, order.action, filled("freeze_matching", {"where": where.sql}),
        list(RULES[order.action].eligible), matching.looked_at, order.action, _argument(order), actor, order.reason,
        words(matching.task_filter) or "all tasks", *where.arguments,
    )  # fmt: skip


async def begin_undo(
    database: Database, operation_id: int, actor: str, reason: str | None, within: timedelta
) -> Operation:
    """Record the undoing of an operation. Raises Refused for one that cannot be undone, or is older than within."""
    async with database.connection() as connection, connection.transaction():
        found = await connection.fetchrow(statement("lock_operation"), operation_id, within)
        if found is None:
            raise Refused(f"there is no operation {operation_id}: `crewtop operations` lists them")
        if Action(found["action"]) in NEVER_UNDONE:
            raise Refused(f"operation {operation_id} was to {found['action']}: that cannot be undone")
        if found["late"]:
            raise Refused(
                f"operation {operation_id} is older than {within.total_seconds() / 60:g} min "
                "(screen.undo_minutes): act on its tasks anew"
            )
        if found["state"] in ("running", "paused"):
            raise Refused(f"operation {operation_id} is {found['state']}: `crewtop operations cancel` it first")
        new_id = await connection.fetchval(
            statement("freeze_undo"), operation_id, actor, reason, timeout=FREEZE_SECONDS
        )
        return operation_of(await record_of(connection, new_id))


async def halt(database: Database, operation_id: int, state: State, of: Sequence[State]) -> Operation:
    """Set an operation's state if it is one of those named. Raises Refused with the reason where it is not."""
    row = await database.fetchrow("halt_operation", operation_id, state, list(of))
    if row is not None:
        return operation_of(row)
    found = await read(database, operation_id)
    raise Refused(f"operation {operation_id} is {found.state}: it stays so")


async def read(database: Database, operation_id: int) -> Operation:
    """One operation. Raises Refused where there is none with this id."""
    async with database.connection() as connection:
        return operation_of(await record_of(connection, operation_id))


async def newest(database: Database, limit: int) -> list[Operation]:
    """The newest operations."""
    return [operation_of(row) for row in await database.fetch("list_operations", None, limit)]


async def outcomes(
    database: Database, operation_id: int, limit: int, *, refused_first: bool = False
) -> list[ItemOutcome]:
    """What became of the first limit tasks of an operation, in the order of their ids.

    refused_first: those that were refused come before the others.
    """
    rows = await database.fetch("list_refused_first" if refused_first else "list_items", operation_id, limit)
    return [ItemOutcome(row["task_id"], row["done"], row["outcome"] or "its turn has not come") for row in rows]


async def refusals(database: Database, operation_id: int) -> dict[str, int]:
    """How many tasks of an operation were refused for which reason, the most frequent one first."""
    return {row["refusal"]: row["n"] for row in await database.fetch("count_refusals", operation_id)}


async def abandoned(database: Database, silent_seconds: float) -> list[int]:
    """Operations that are to go on, but that nobody has worked off for so long."""
    return [row["id"] for row in await database.fetch("abandoned_operations", silent_seconds)]


async def delete_tasks(database: Database, task_ids: Sequence[int]) -> int:
    """Delete tasks with all that is theirs; answers how many. What runs, or is needed or locked by others, stays."""
    return len(await database.fetch("delete_tasks", list(task_ids)))


async def order_worker(
    database: Database, worker_id: str, slots: int | None, drain: bool, *, kill: bool = False
) -> bool:
    """Ask a worker for a number of slots, to drain, or to end at once; answers whether there is such a worker."""
    return await database.fetchrow("order_worker", worker_id, slots, drain, kill) is not None


def _check(action: Action) -> None:
    if action not in ON_TASKS:
        raise Refused(f"{action} is for an operation, not for tasks: `crewtop operations` lists them")


async def _freeze(database: Database, action: Action, text: str, *arguments: object) -> Operation:
    async with database.connection() as connection, connection.transaction():
        operation_id = await connection.fetchval(text, *arguments, timeout=FREEZE_SECONDS)
        if action is Action.CANCEL:
            await connection.execute(statement("freeze_descendants"), operation_id, timeout=FREEZE_SECONDS)
        return operation_of(await record_of(connection, operation_id))


async def record_of(connection: asyncpg.Connection[asyncpg.Record], operation_id: int) -> asyncpg.Record:
    """An operation's row. Raises Refused where there is none with this id."""
    row = await connection.fetchrow(statement("list_operations"), operation_id, 1)
    if row is None:
        raise Refused(f"there is no operation {operation_id}: `crewtop operations` lists them")
    return row


def _argument(order: Order) -> str | None:
    match order.action:
        case Action.MOVE | Action.PRIORITY:
            name = "queue" if order.action is Action.MOVE else "priority"
            return json.dumps({name: order.argument})
        case Action.RETRY if order.argument is not None:
            return json.dumps({"per_minute": order.argument})
        case Action.EDIT:
            return f'{{"inputs": {order.argument}, "replaced": {order.replaced}}}'
    return None


def operation_of(row: asyncpg.Record) -> Operation:
    """An operation from its row."""
    return Operation(
        row["id"], Action(row["action"]), row["argument"], row["state"], row["at"], row["ended_at"], row["actor"],
        row["role"], row["reason"], row["scope"], row["total"], row["done"], row["refused"], row["undoes"],
    )  # fmt: skip
