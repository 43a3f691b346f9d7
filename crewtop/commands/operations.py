"""`crewtop operations`: the audit of what operators did, and a hand on what is under way."""

from __future__ import annotations

import sys
from typing import Literal

import typer

from crewtop import operations, words
from crewtop.commands.read import ascii_only, put_out, width
from crewtop.config import Configuration
from crewtop.model.operations import Action, Operation, summary
from crewtop.plain.data import to_json
from crewtop.plain.paper import Column, Paper
from crewtop.store import operations as store
from crewtop.stores import stores
from crewtop.text import shown

MOST_ITEMS = 10_000
"""Outcomes that are printed; the JSON of a larger operation says how many there are in all."""


async def print_operations(configuration: Configuration, limit: int, *, as_json: bool) -> int:
    """List the newest operations."""
    async with stores(configuration.settings, "crewtop", connections=1, timeout=10.0, prepared=False) as opened:
        newest = await store.newest(opened.database, limit)
    if as_json:
        put_out(to_json(newest))
    else:
        put_out("\n".join(_table(newest)) if newest else "no operation yet: nobody has acted on a task")
    return 0


async def print_operation(configuration: Configuration, operation_id: int, *, as_json: bool) -> int:
    """Print one operation: who wanted what and why, and what became of each task."""
    async with stores(configuration.settings, "crewtop", connections=1, timeout=10.0, prepared=False) as opened:
        operation = await store.read(opened.database, operation_id)
        refusals = await store.refusals(opened.database, operation_id)
        items = await store.outcomes(opened.database, operation_id, MOST_ITEMS)
    if as_json:
        put_out({"operation": to_json(operation), "refusals": refusals, "items": to_json(items)})
        return 0
    paper = Paper(width(), ascii_only())
    told = [
        f"operation {operation.id}: {paper.safe(operation.what)}, {operation.state}: {summary(operation, refusals)}",
        f"by {paper.safe(operation.actor)} as {paper.safe(operation.role)}, {words.stamp(operation.at)}",
    ]
    inputs = operation.argument if operation.action is Action.EDIT else None
    for what, value in (("inputs", inputs), ("scope", operation.scope), ("reason", operation.reason)):
        if value is not None:
            told.append(paper.cut(f"{what}: {paper.safe(value)}"))
    told += [f"{item.task_id}: {paper.safe(item.why)}" for item in items]
    if operation.total > len(items):
        told.append(f"and {words.count(operation.total - len(items))} more")
    put_out("\n".join(told))
    return 0


async def halt(configuration: Configuration, operation_id: int, how: Literal["pause", "cancel", "resume"]) -> int:
    """Pause or cancel what is under way, or work it off from here; answers 1 if a task was refused while resuming."""
    async with stores(configuration.settings, "crewtop operator", connections=2, timeout=60.0) as opened:
        if how != "resume":
            operation = await operations.halt(opened.database, operation_id, how)
        else:
            async for operation in operations.resume(opened.database, opened.live, operation_id):
                if sys.stderr.isatty() and operation.left:
                    typer.echo(f"\r{operation.total - operation.left:,} of {operation.total:,} ", err=True, nl=False)
        refusals = await store.refusals(opened.database, operation_id)
    typer.echo(f"operation {operation.id} {operation.state}: {shown(summary(operation, refusals))}")
    return 1 if how == "resume" and operation.refused else 0


def _table(newest: list[Operation]) -> list[str]:
    paper = Paper(width(), ascii_only())
    return paper.table(
        [
            Column("ID", [str(o.id) for o in newest], right=True),
            Column("ACTION", [paper.safe(o.what) for o in newest]),
            Column("STATE", [o.state for o in newest]),
            Column("DONE", [words.count(o.done) for o in newest], right=True),
            Column("REFUSED", [words.count(o.refused) for o in newest], right=True),
            Column("LEFT", [words.count(o.left) for o in newest], right=True),
            Column("AT", [words.stamp(o.at) for o in newest], drop=2),
            Column("BY", [paper.safe(o.actor) for o in newest], drop=1, stretch=True),
            Column("SCOPE", [paper.safe(o.scope or "ids") for o in newest], drop=3, stretch=True),
            Column("REASON", [paper.safe(o.reason or "") for o in newest], drop=4, stretch=True),
        ]
    )
