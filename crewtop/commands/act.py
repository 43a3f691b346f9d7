"""Commands that change something."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Any

import typer

from crewtop import operations
from crewtop.config import Configuration
from crewtop.model.errors import Refused
from crewtop.model.operations import RULES, Action
from crewtop.model.task import Priority
from crewtop.queue import Queue
from crewtop.stores import stores
from crewtop.text import shown

SAMPLE = 10


async def act_on(
    configuration: Configuration, action_name: str, ids: list[int], reason: str | None, *, yes: bool
) -> int:
    """Apply an action to tasks and print what became of each; answers 1 if any was refused."""
    action = Action(action_name)
    async with stores(configuration.settings, "crewtop operator", connections=2, timeout=10.0) as opened:
        seen = await operations.look(opened.database, ids)
        if not yes:
            _confirm(action, [target.task_id for target in seen])
        result = await operations.act(opened.database, opened.live, action, seen, reason)
    for item in result.items:
        typer.echo(f"{item.task_id}: {shown(item.why)}")
    typer.echo(f"{result.done} done, {len(result.refused)} refused (operation {result.operation_id})", err=True)
    return 1 if result.refused else 0


def _confirm(action: Action, ids: list[int]) -> None:
    sample = ", ".join(str(task_id) for task_id in ids[:SAMPLE])
    more = f" and {len(ids) - SAMPLE} more" if len(ids) > SAMPLE else ""
    tasks = "1 task" if len(ids) == 1 else f"{len(ids)} tasks"
    typer.echo(f"{action} {tasks}: {sample}{more}\neach {RULES[action].effect}", err=True)
    if not sys.stdin.isatty():
        raise Refused("nothing was changed: there is no terminal to ask on; add --yes")
    if not typer.confirm("go on?", err=True):
        raise Refused("nothing was changed")


async def enqueue_task(
    configuration: Configuration,
    crew: str,
    pairs: list[str],
    inputs_json: str | None,
    queue_name: str,
    priority: str,
    max_attempts: int,
    budget_seconds: float | None,
) -> int:
    """Put one task in and print its id. Raises Refused for inputs that are not K=V or not a JSON object."""
    inputs = _inputs(pairs, inputs_json)
    settings = configuration.settings
    if settings.crews and crew not in settings.crews:
        typer.echo(f"crewtop: note: no crew {crew!r} is registered here; it waits for a worker that has it", err=True)
    async with stores(settings, "crewtop producer", connections=1) as opened:
        task_id = await Queue(opened, settings.queue.max_input_bytes).enqueue(
            crew,
            inputs,
            queue=queue_name,
            priority=_priority(priority),
            max_attempts=max_attempts,
            budget=_budget(budget_seconds),
        )
    typer.echo(task_id)
    return 0


def _priority(text: str) -> int:
    names = {level.name.lower(): int(level) for level in Priority} | {str(int(level)): int(level) for level in Priority}
    if text.lower() not in names:
        raise Refused(f"priority {text} is out of range: use 0 to 4, or critical, high, normal, low")
    return names[text.lower()]


def _budget(seconds: float | None) -> timedelta | None:
    try:
        return timedelta(seconds=seconds) if seconds is not None else None
    except (OverflowError, ValueError):
        raise Refused(f"--budget {seconds:g} is out of range: use up to 31536000 seconds") from None


def _inputs(pairs: list[str], inputs_json: str | None) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    if inputs_json is not None:
        try:
            parsed = json.loads(sys.stdin.read() if inputs_json == "-" else inputs_json)
        except json.JSONDecodeError as error:
            raise Refused(f"--inputs-json is not JSON: {error}") from None
        if not isinstance(parsed, dict):
            raise Refused(f"--inputs-json is a {type(parsed).__name__}: use an object")
        inputs |= parsed
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Refused(f"--input {pair!r} is not of the form key=value")
        inputs[key] = value
    return inputs
