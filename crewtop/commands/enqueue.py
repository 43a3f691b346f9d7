"""`crewtop enqueue`: put a task in, and read what is typed as priority and inputs."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Any

import typer

from crewtop.config import Configuration
from crewtop.model.errors import Refused
from crewtop.model.task import Priority
from crewtop.queue import Queue
from crewtop.stores import stores


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
    inputs = inputs_of(pairs, inputs_json)
    settings = configuration.settings
    if settings.crews and crew not in settings.crews:
        typer.echo(f"crewtop: note: no crew {crew!r} is registered here; it waits for a worker that has it", err=True)
    async with stores(settings, "crewtop producer", connections=1) as opened:
        task_id = await Queue(opened, settings.queue.max_input_bytes).enqueue(
            crew,
            inputs,
            queue=queue_name,
            priority=priority_of(priority),
            max_attempts=max_attempts,
            budget=_budget(budget_seconds),
        )
    typer.echo(task_id)
    return 0


def priority_of(text: str) -> int:
    """A priority as typed, by number or by name. Raises Refused with what is allowed."""
    names = {level.name.lower(): int(level) for level in Priority} | {str(int(level)): int(level) for level in Priority}
    if text.lower() not in names:
        raise Refused(f"priority {text} is out of range: use 0 to 4, or critical, high, normal, low")
    return names[text.lower()]


def _budget(seconds: float | None) -> timedelta | None:
    try:
        return timedelta(seconds=seconds) if seconds is not None else None
    except (OverflowError, ValueError):
        raise Refused(f"--budget {seconds:g} is out of range: use up to 31536000 seconds") from None


def inputs_of(pairs: list[str], inputs_json: str | None) -> dict[str, Any]:
    """Inputs as typed: a JSON object, - for stdin, and K=V pairs over it. Raises Refused for what is neither."""
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
