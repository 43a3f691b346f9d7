"""The commands that only look: at everything at once, at tasks, at one task, at schedules, at keys."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from crewtop.cli_shared import LARGEST_ID, JsonFlag, configuration, run

reading = typer.Typer()


class Part(StrEnum):
    """What --body takes."""

    INPUTS = "inputs"
    RESULT = "result"
    ERROR = "error"
    TRACEBACK = "traceback"
    LOG = "log"


@reading.command()
def snapshot(
    context: typer.Context,
    as_json: JsonFlag = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of --json instead.")] = False,
) -> None:
    """Print everything that the screen shows, once."""
    from crewtop.commands.read import print_snapshot, print_snapshot_schema

    if schema:
        raise typer.Exit(print_snapshot_schema())
    raise typer.Exit(run(print_snapshot(configuration(context), as_json=as_json)))


@reading.command()
def tasks(
    context: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(help="A filter, such as crew:support 'age>1h' timeout.")] = None,
    view: Annotated[str | None, typer.Option("--view", help="A filter saved in [views], by its name.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="Only this status, or several with commas.")] = None,
    crew: Annotated[str | None, typer.Option("--crew", help="Only this crew.")] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Only this queue.")] = None,
    sort: Annotated[
        str, typer.Option("--sort", help="newest, oldest, priority, or a column, as cost; -cost turns it around.")
    ] = "newest",
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="At most so many.")] = 100,
    as_json: JsonFlag = False,
) -> None:
    """List tasks."""
    from crewtop.commands.read import print_tasks

    text = " ".join([*([f"@{view}"] if view else []), *(words or []), *([f"status:{status}"] if status else [])])
    raise typer.Exit(run(print_tasks(configuration(context), text, crew, queue, sort, limit, as_json=as_json)))


@reading.command()
def show(
    context: typer.Context,
    task_id: Annotated[int, typer.Argument(metavar="ID", min=1, max=LARGEST_ID)],
    body: Annotated[Part | None, typer.Option("--body", help="Only this text, whole, as it is into a file.")] = None,
    run_id: Annotated[int | None, typer.Option("--run", help="With --body: of this run, else the newest.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print one task's whole story."""
    from crewtop.commands.read import print_body, print_task

    if body is not None:
        raise typer.Exit(run(print_body(configuration(context), task_id, body.value, run_id)))
    raise typer.Exit(run(print_task(configuration(context), task_id, as_json=as_json)))


@reading.command()
def schedules(context: typer.Context, as_json: JsonFlag = False) -> None:
    """List recurring tasks: when each comes next, and its last task."""
    from crewtop.commands.schedules import print_schedules

    raise typer.Exit(run(print_schedules(configuration(context), as_json=as_json)))


@reading.command()
def keys(
    markdown: Annotated[bool, typer.Option("--markdown", help="As docs/keys.md, without your own keys.")] = False,
) -> None:
    """Print every key of the screen, with your own from keys.toml."""
    from crewtop.commands.keys import print_keys

    print_keys(markdown=markdown)
