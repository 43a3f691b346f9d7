"""Commands that only look."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from crewtop.config import Configuration
from crewtop.model.detail import Body
from crewtop.model.errors import Refused
from crewtop.model.filters import expand, known_sort, parse
from crewtop.monitor.monitor import Monitor
from crewtop.plain import snapshot_document, snapshot_text, task_text, tasks_text, to_json
from crewtop.stores import stores
from crewtop.text import masked_body, shown

READ_TIMEOUT_SECONDS = 10.0
WHOLE = 2**31 - 1
"""Characters of a text that is wanted whole."""

_FIELDS = {"result": "result", "error": "error", "traceback": "traceback", "log": "log_tail"}


async def print_snapshot(configuration: Configuration, *, as_json: bool) -> int:
    """Print one snapshot; answers the exit code."""
    async with monitor(configuration) as reader:
        picture = await reader.snapshot()
    put_out(snapshot_document(picture) if as_json else snapshot_text(picture, width=width(), ascii=ascii_only()))
    return 0


def print_snapshot_schema() -> int:
    """Print the JSON Schema of a snapshot; answers the exit code."""
    from crewtop.plain.schema import snapshot_schema

    put_out(snapshot_schema())
    return 0


async def print_tasks(
    configuration: Configuration,
    words: str,
    crew: str | None,
    queue: str | None,
    sort: str,
    limit: int,
    *,
    as_json: bool,
) -> int:
    """Print tasks that match a filter, and a crew's and a queue's whole names.

    Raises FilterError for an unknown sort and a wrong filter.
    """
    known_sort(sort)
    typed = parse(expand(words, configuration.settings.views))
    task_filter = replace(
        typed,
        crews=typed.crews + ((crew,) if crew else ()),
        queues=typed.queues + ((queue,) if queue else ()),
    )
    async with monitor(configuration) as reader:
        page = await reader.tasks(task_filter, sort, limit)
    put_out(to_json(page) if as_json else tasks_text(page, width=width(), ascii=ascii_only()))
    return 0


async def print_task(configuration: Configuration, task_id: int, *, as_json: bool) -> int:
    """Print one task's story. Raises Refused where there is no such task."""
    async with monitor(configuration) as reader:
        story = await reader.detail(task_id)
    if story is None:
        raise Refused(f"there is no task {task_id}: `crewtop tasks` lists them")
    put_out(to_json(story) if as_json else task_text(story, width=width(), ascii=ascii_only()))
    return 0


async def print_body(configuration: Configuration, task_id: int, body: Body, run_id: int | None) -> int:
    """Print one long text whole: as it is into a file or a pipe, safe to show on a terminal.

    run_id None: the newest run that has it. Raises Refused where there is none.
    """
    async with monitor(configuration) as reader:
        story = await reader.detail(task_id)
        if story is None:
            raise Refused(f"there is no task {task_id}: `crewtop tasks` lists them")
        if run_id is None and body != "inputs":
            having = [run.id for run in story.runs if getattr(run, _FIELDS[body]) is not None]
            if not having:
                raise Refused(f"no run of task {task_id} has a {body}: `crewtop show {task_id}` tells its story")
            run_id = having[0]
        text = (await reader.body(task_id, run_id, body, WHOLE)).text
    put_out(shown(masked_body(text), lines=True) if sys.stdout.isatty() else text)
    return 0


@asynccontextmanager
async def monitor(configuration: Configuration) -> AsyncIterator[Monitor]:
    """A Monitor on the configured stores."""
    async with stores(
        configuration.settings, "crewtop", connections=2, timeout=READ_TIMEOUT_SECONDS, prepared=False
    ) as opened:
        yield Monitor(opened, configuration.settings.screen.no_progress_seconds)


def width(pipe: int = 100) -> int:
    """Columns to fill: the terminal's, or so many into a pipe."""
    return shutil.get_terminal_size((100, 40)).columns if sys.stdout.isatty() else pipe


def ascii_only() -> bool:
    """Whether stdout cannot take more than ASCII."""
    return "utf" not in (sys.stdout.encoding or "").lower()


def put_out(what: object) -> None:
    """Print text, or data as JSON. A reader that has enough, such as head, is no error."""
    # JSON stays ASCII, so that no control character of a task reaches a terminal through it.
    text = what if isinstance(what, str) else json.dumps(what, indent=2)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader, such as head, has enough: nothing is wrong, and Python need not complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
