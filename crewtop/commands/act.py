"""Commands that act on tasks: what they reach is counted and priced first, and confirmed."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import typer

from crewtop import operations, words
from crewtop.admission import inputs_text, name
from crewtop.commands.confirming import confirm
from crewtop.commands.enqueue import inputs_of, priority_of
from crewtop.config import Configuration
from crewtop.model.errors import Refused
from crewtop.model.filters import TaskFilter, expand, parse
from crewtop.model.money import Money, total
from crewtop.model.operations import (
    RULES,
    Action,
    Matching,
    Operation,
    Order,
    Scope,
    Standing,
    Target,
    aim,
    effect_of,
    must_be_typed,
    summary,
)
from crewtop.store import operations as store
from crewtop.store.limits import throttles
from crewtop.stores import Stores, stores
from crewtop.text import shown

SAMPLE = 10
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Asked:
    """Which tasks a command names: by their ids, or by a filter as typed; and whether it may go on without asking."""

    ids: Sequence[int]
    filter_text: str | None
    yes: bool


async def act_on(configuration: Configuration, order: Order, asked: Asked) -> int:
    """Apply an action to tasks and say what became of them; answers 1 if any was refused.

    Raises Refused where nothing, or two different things, are named, and where it is not confirmed.
    """
    if asked.ids and asked.filter_text is not None:
        raise Refused(f"{order.action} what? Name tasks by id or with --filter, not both")
    if not asked.ids and asked.filter_text is None:
        raise Refused(f'{order.action} what? Name tasks by id, or say --filter "status:failed crew:NAME"')
    settings = configuration.settings
    filter_text = expand(asked.filter_text, settings.views) if asked.filter_text is not None else None
    if filter_text is not None and parse(filter_text) == TaskFilter():
        raise Refused(f'an empty filter would {order.action} every task: say which, such as --filter "status:failed"')
    async with stores(settings, "crewtop operator", connections=2, timeout=TIMEOUT_SECONDS) as opened:
        if filter_text is not None:
            idle = settings.screen.no_progress_seconds
            return await _act_on_all(opened, order, filter_text, idle, yes=asked.yes)
        return await _act_on_ids(opened, order, asked)


async def move(configuration: Configuration, queue: str, reason: str | None, asked: Asked) -> int:
    """Move tasks to another queue. Raises Refused for what cannot be a queue's name."""
    name(queue, "queue")
    return await act_on(configuration, Order(Action.MOVE, queue, reason), asked)


async def prioritise(configuration: Configuration, priority: str, reason: str | None, asked: Asked) -> int:
    """Give tasks another priority. Raises Refused for one that does not exist."""
    return await act_on(configuration, Order(Action.PRIORITY, priority_of(priority), reason), asked)


async def edit(
    configuration: Configuration, pairs: list[str], inputs_json: str | None, reason: str | None, asked: Asked
) -> int:
    """Give a task other inputs, all of them. Raises Refused for what a producer could not hand in either."""
    if not pairs and inputs_json is None:
        raise Refused("edit to what? Give all inputs with --inputs-json or --input key=value")
    inputs = inputs_of(pairs, inputs_json)
    text, replaced = inputs_text("the task", inputs, configuration.settings.queue.max_input_bytes)
    return await act_on(configuration, Order(Action.EDIT, text, reason, replaced), asked)


async def undo(configuration: Configuration, operation_id: int, reason: str | None, *, yes: bool) -> int:
    """Take an operation back and say what became of it; answers 1 if any task was refused."""
    settings = configuration.settings
    async with stores(settings, "crewtop operator", connections=2, timeout=TIMEOUT_SECONDS) as opened:
        undone = await store.read(opened.database, operation_id)
        if not yes:
            told = [
                f"undo operation {undone.id}: {undone.action} of {words.count(undone.done)} by {shown(undone.actor)}"
            ]
            _confirm(Action.UNDO, [*told, f"each {RULES[Action.UNDO].effect}"], undone.done, Money())
        within = timedelta(minutes=settings.screen.undo_minutes)
        return await _follow(opened, operations.undo(opened.database, opened.live, operation_id, reason, within))


async def _act_on_ids(opened: Stores, order: Order, asked: Asked) -> int:
    ids = list(dict.fromkeys(asked.ids))
    standing = {found.target.task_id: found for found in await store.targets(opened.database, ids)}
    if not asked.yes:
        told = [*_about_ids(order, ids, list(standing.values())), *await _held_back(opened, order)]
        _confirm(order.action, told, len(ids), total(s.cost for s in standing.values()))
    seen = [standing[task_id].target if task_id in standing else Target(task_id, 0) for task_id in ids]
    result = await operations.act(opened.database, opened.live, order, seen)
    for item in result.items:
        typer.echo(f"{item.task_id}: {shown(item.why)}")
    typer.echo(f"{result.done} done, {len(result.refused)} refused (operation {result.operation.id})", err=True)
    return 1 if result.refused else 0


async def _act_on_all(opened: Stores, order: Order, filter_text: str, idle: float, *, yes: bool) -> int:
    """idle: seconds without progress that make a run stuck."""
    task_filter = parse(filter_text)
    scope = await store.price(opened.database, order.action, Matching(task_filter), idle)
    if scope.count == 0:
        eligible = ", ".join(sorted(RULES[order.action].eligible))
        typer.echo(f"nothing to {order.action.verb}: no task matches that is {eligible}", err=True)
        return 0
    if not yes:
        held_back = await _held_back(opened, order)
        _confirm(order.action, [*_about_all(order, filter_text, scope), *held_back], scope.count, scope.cost)
    matching = Matching(task_filter, scope.at)
    progress = operations.act_on_all(opened.database, opened.live, order, matching, idle)
    return await _follow(opened, progress, scope.count)


async def _follow(opened: Stores, progress: AsyncIterator[Operation], asked: int | None = None) -> int:
    """Tell how far an operation has come until it ends, then how it ended; asked: as for summary."""
    operation = None
    async for operation in progress:
        if sys.stderr.isatty() and operation.left:
            done = operation.total - operation.left
            typer.echo(f"\r{operation.action} {done:,} of {operation.total:,} ", err=True, nl=False)
    assert operation is not None
    if sys.stderr.isatty():
        typer.echo("\r", err=True, nl=False)
    refusals = await store.refusals(opened.database, operation.id)
    typer.echo(f"{summary(operation, refusals, asked)} (operation {operation.id})")
    return 1 if operation.refused or operation.left else 0


def _about_ids(order: Order, ids: Sequence[int], found: Sequence[Standing]) -> list[str]:
    sample = ", ".join(str(task_id) for task_id in ids[:SAMPLE])
    more = f" and {len(ids) - SAMPLE} more" if len(ids) > SAMPLE else ""
    return [
        f"{_verb(order)} {_tasks(len(ids))}: {sample}{more}",
        *_effect(order, total(standing.cost for standing in found)),
    ]


def _about_all(order: Order, filter_text: str, scope: Scope) -> list[str]:
    statuses = ", ".join(f"{words.count(n)} {status}" for status, n in sorted(scope.statuses.items()))
    matches = "matches" if scope.count == 1 else "match"
    told = [f"{_verb(order)} {_tasks(scope.count)} that {matches} {shown(filter_text) or 'anything'}: {statuses}"]
    told.append(f"such as {', '.join(map(str, scope.sample))}")
    if scope.others:
        told.append(
            "1 other does not match and stays as it is"
            if scope.others == 1
            else f"{words.count(scope.others)} others do not match and stay as they are"
        )
    return [*told, *_effect(order, scope.cost)]


async def _held_back(opened: Stores, order: Order) -> list[str]:
    """A warning for each crew whose provider says 429 just now: its tasks will wait."""
    if order.action not in (Action.RETRY, Action.RERUN):
        return []
    return [
        f"note: {shown(held.provider)} throttles {shown(held.crew)}, for {words.duration(held.seconds_left)} more"
        for held in await throttles(opened.database)
    ]


def _effect(order: Order, cost: Money) -> list[str]:
    told = [f"each {shown(effect_of(order))}"]
    if cost.calls:
        told.append(f"their last attempts cost about {words.money(cost, long=True)}")
    return told


def _verb(order: Order) -> str:
    verb = order.action.verb
    to = aim(order.action, order.argument) if order.action in (Action.MOVE, Action.PRIORITY) else ""
    return f"{verb} {shown(to)}:" if to else verb


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{words.count(count)} tasks"


def _confirm(action: Action, told: Sequence[str], count: int, cost: Money) -> None:
    confirm(told, count if must_be_typed(action, count, cost) else None)
