"""`crewtop enqueue`: put a task in, and read what is typed as priority and inputs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import typer

from crewtop.config import Configuration
from crewtop.model.errors import Refused
from crewtop.model.task import Priority
from crewtop.queue import Queue
from crewtop.stores import stores
from crewtop.text import shown


@dataclass(frozen=True, slots=True)
class Asked:
    """A task's options as typed. budget in seconds; at is a date and time; after are ids of tasks to wait for."""

    queue: str
    priority: str
    max_attempts: int
    budget: float | None
    at: str | None
    key: str | None
    after: tuple[int, ...]


async def enqueue_task(
    configuration: Configuration, crew: str, pairs: list[str], inputs_json: str | None, asked: Asked
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
            queue=asked.queue,
            priority=priority_of(asked.priority),
            max_attempts=asked.max_attempts,
            budget=_budget(asked.budget),
            run_at=_time(asked.at),
            key=asked.key,
            depends_on=asked.after,
        )
    if not task_id.new:
        typer.echo(
            f"crewtop: note: task {task_id} holds the key {shown(asked.key or '')!r}: nothing new was put in", err=True
        )
    typer.echo(int(task_id))
    return 0


def priority_of(text: str) -> int:
    """A priority as typed, by number or by name. Raises Refused with what is allowed."""
    names = {level.name.lower(): int(level) for level in Priority} | {str(int(level)): int(level) for level in Priority}
    if text.lower() not in names:
        raise Refused(f"priority {text} is out of range: use 0 to 4, or critical, high, normal, low")
    return names[text.lower()]


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"--at {text!r} is no date and time: use one like 2026-12-24T18:00+01:00") from None
    return at if at.tzinfo else at.astimezone()  # as the operator's own clock shows it


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
