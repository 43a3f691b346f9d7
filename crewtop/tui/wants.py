"""What the open view wants to be told: questions that are asked again and again, and streams that are followed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from crewtop.model.filters import TaskFilter
from crewtop.tui.source import LogLines, Source

PIECE_LINES = 50
"""Lines of output that are handed on at once."""


@dataclass(frozen=True, slots=True)
class TaskList:
    """The first limit tasks that match, as Source.tasks answers them."""

    task_filter: TaskFilter
    sort: str
    limit: int


@dataclass(frozen=True, slots=True)
class Story:
    """One task's story, as Source.detail answers it."""

    task_id: int


@dataclass(frozen=True, slots=True)
class FailureList:
    """Failures by what went wrong; their trends over so many hours."""

    hours: int


@dataclass(frozen=True, slots=True)
class Spend:
    """What was spent over so many hours."""

    hours: int


@dataclass(frozen=True, slots=True)
class OperationList:
    """The newest operations."""

    limit: int


@dataclass(frozen=True, slots=True)
class OutcomeList:
    """What became of the tasks of one operation."""

    operation_id: int
    limit: int


Want = TaskList | Story | FailureList | Spend | OperationList | OutcomeList


@dataclass(frozen=True, slots=True)
class RunLog:
    """What a run prints: LogLines."""

    run_id: int


@dataclass(frozen=True, slots=True)
class LiveEvents:
    """What happens: Happenings; with the output of running tasks among it if logs."""

    logs: bool


Stream = RunLog | LiveEvents


async def ask(source: Source, want: Want) -> Any:
    """The source's answer to a want. Raises Unavailable."""
    match want:
        case TaskList(task_filter, sort, limit):
            return await source.tasks(task_filter, sort, limit)
        case Story(task_id):
            return await source.detail(task_id)
        case FailureList(hours):
            return await source.failures(hours)
        case Spend(hours):
            return await source.spending(hours)
        case OperationList(limit):
            return await source.operations(limit)
        case OutcomeList(operation_id, limit):
            return await source.outcomes(operation_id, limit)


def follow(source: Source, stream: Stream) -> AsyncIterator[Any]:
    """The source's items of a stream, until the caller stops. Raises Unavailable while it runs."""
    match stream:
        case RunLog(run_id):
            return _in_pieces(source.log(run_id))
        case LiveEvents(logs):
            return source.events(logs=logs)


async def _in_pieces(log: AsyncIterator[LogLines]) -> AsyncIterator[LogLines]:
    """The output a few lines at a time: to make a thousand long ones fit to be shown takes a second."""
    async for told in log:
        yield replace(told, lines=told.lines[:PIECE_LINES])
        for at in range(PIECE_LINES, len(told.lines), PIECE_LINES):
            await asyncio.sleep(0)  # keys are answered in between
            yield LogLines(told.lines[at : at + PIECE_LINES])
