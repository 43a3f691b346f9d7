"""The commands that record what the screen would show, and show it again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crewtop.__main__ import terminal
from crewtop.cli_shared import JsonFlag, configuration, run

recording = typer.Typer()


@recording.command()
def record(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A new file.")] = None,
    length: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="How long, such as 1h; else until Ctrl-C.")
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option("--interval", min=0.1, max=3_600, help="Seconds between two pictures; else as the screen."),
    ] = None,
    max_size: Annotated[
        str, typer.Option("--max-size", metavar="SIZE", help="Stop once the file is so large.")
    ] = "1 GB",
    cut: Annotated[
        tuple[str, str] | None,
        typer.Option("--cut", metavar="FROM TO", help="Write this span of the rolling recording into FILE instead."),
    ] = None,
    of: Annotated[Path | None, typer.Option("--of", help="With --cut: of this recording, not the rolling one.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the files of the rolling recording instead.")] = False,
) -> None:
    """Record what the screen shows into a file, until Ctrl-C."""
    from crewtop.commands import recording as commands

    settings = configuration(context)
    if listed:
        if file is not None:
            raise typer.BadParameter(f"--list takes no FILE: leave out {file}")
        raise typer.Exit(commands.print_list(settings))
    if file is None:
        raise typer.BadParameter("name a file to record into, or use --list")
    if cut is not None:
        raise typer.Exit(commands.cut_out(settings, of, cut, file))
    asked = commands.Asked(file, length, interval, max_size)
    raise typer.Exit(run(commands.record(settings, asked)))


@recording.command()
def replay(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A recording; else this host's rolling one.")
    ] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="Begin there, such as 14:03:10, UTC.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Print the picture of that time as text.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show a recording on the screen, with a time bar; --json and --plain print one picture of it."""
    from crewtop.commands import replay as commands

    config, _, style = context.obj
    path = file
    if path is None:
        from crewtop.commands.recording import rolling_folder

        path = rolling_folder(configuration(context))
    if as_json or plain or not terminal():
        raise typer.Exit(commands.print_picture(path, at, as_json=as_json))
    from crewtop.commands.style import styled

    raise typer.Exit(commands.replay_screen(path, at, styled(style, config)))
