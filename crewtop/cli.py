"""The command line. Each command imports its machinery only when it runs: `crewtop --help` needs none of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crewtop.__main__ import DONE, terminal
from crewtop.cli_acting import acting
from crewtop.cli_alerts import alert_commands
from crewtop.cli_machines import machines
from crewtop.cli_money import money
from crewtop.cli_reading import reading
from crewtop.cli_recording import recording
from crewtop.cli_shared import Commands, configuration, run
from crewtop.cli_statistics import statistics

app = typer.Typer(
    cls=Commands,
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="The terminal operations console for CrewAI task queues. Without a command: the screen.",
    epilog="Exit codes: 0 done, 1 some refused, 2 usage or no connection.",
)
database_commands = typer.Typer(no_args_is_help=True, help="The database's schema: create, check, upgrade; roles.")
app.add_typer(database_commands, name="db")
app.add_typer(alert_commands, name="alerts")
app.add_typer(reading)
app.add_typer(acting)
app.add_typer(money)
app.add_typer(machines)
app.add_typer(recording)
app.add_typer(statistics)

# Flags that are meant alike before and after a command, and whether a value follows.
EVERYWHERE = {
    "--config": True, "--data-dir": True, "--postgres": True, "--redis": True, "--theme": True, "--colour": True,
    "--ascii": False, "--tty": False, "--no-mouse": False,
}  # fmt: skip


class Colour(StrEnum):
    """What --colour takes."""

    AUTO = "auto"
    SIXTEEN = "16"
    NONE = "none"


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The arguments with the flags that are meant alike everywhere moved to the front, with their values."""
    front: list[str] = []
    rest = list(arguments)
    end = rest.index("--") if "--" in rest else len(rest)
    place = 0
    while place < end:
        flag, equals, _ = rest[place].partition("=")
        if flag in EVERYWHERE:
            width = 2 if EVERYWHERE[flag] and not equals else 1
            front += rest[place : place + width]
            del rest[place : place + width]
            end -= width
        else:
            place += 1
    return front + rest


@app.callback(invoke_without_command=True)
def console(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", help="A crewtop.toml; else the one in this folder.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", help="Where embedded servers keep their data.")] = None,
    postgres: Annotated[
        str | None, typer.Option("--postgres", metavar="DSN", help="Instead of CREWTOP_POSTGRES.")
    ] = None,
    redis: Annotated[str | None, typer.Option("--redis", metavar="URL", help="Instead of CREWTOP_REDIS.")] = None,
    pool: Annotated[
        int, typer.Option("--pool", min=0, max=1000, help="Run a worker with so many slots beside it.")
    ] = 0,
    theme: Annotated[str | None, typer.Option("--theme", help="A theme's name.")] = None,
    interval: Annotated[
        float | None, typer.Option("--interval", min=0.1, max=60, help="Seconds between ticks.")
    ] = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="No character beyond ASCII.")] = False,
    colour: Annotated[
        Colour, typer.Option("--colour", help="Colours: as the terminal says, 16, or none.")
    ] = Colour.AUTO,
    tty: Annotated[bool, typer.Option("--tty", help="For the Linux console: --ascii and --colour 16.")] = False,
    no_mouse: Annotated[bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Acting keys do nothing.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """The screen; one plain snapshot where there is no terminal."""
    import crewtop
    from crewtop.commands.style import Style

    if version:
        typer.echo(f"crewtop {crewtop.__version__}")
        raise typer.Exit(DONE)
    flags = {
        "postgres": postgres,
        "redis": redis,
        "data_dir": data_dir,
        "screen": {name: value for name, value in (("theme", theme), ("interval_seconds", interval)) if value},
    }
    style = Style(
        theme=theme, interval=interval, ascii=ascii_only or tty, read_only=read_only, mouse=not no_mouse,
        colour="16" if tty and colour is Colour.AUTO else colour.value,
    )  # fmt: skip
    context.obj = (config, {name: value for name, value in flags.items() if value}, style)
    if context.invoked_subcommand is not None:
        return
    if not terminal():
        from crewtop.commands.read import print_snapshot

        raise typer.Exit(run(print_snapshot(configuration(context), as_json=False)))
    from crewtop.commands.screen import open_screen
    from crewtop.commands.style import styled

    raise typer.Exit(open_screen(lambda: configuration(context), styled(style, config), pool=pool))


@app.command()
def worker(
    context: typer.Context,
    slots: Annotated[int | None, typer.Option("--slots", min=1, max=1000, help="Crews at once.")] = None,
    crews_per_process: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Run so many crews in one process: denser, but they die together."),
    ] = None,
    queue: Annotated[list[str] | None, typer.Option("--queue", help="Only this queue; may be repeated.")] = None,
    burst: Annotated[bool, typer.Option("--burst", help="End when nothing is left to claim.")] = False,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log a JSON object a line.")] = False,
) -> None:
    """Run crews until told to stop. SIGTERM or Ctrl-C drains, a second one hurries."""
    from crewtop.commands.recording import keeping
    from crewtop.commands.watching import watching
    from crewtop.worker.main import work

    given = {"slots": slots, "crews_per_process": crews_per_process}
    flags = {name: value for name, value in given.items() if value is not None}
    settings = configuration(context, {"worker": flags})
    beside = [watching(settings.settings), *keeping(settings)]
    raise typer.Exit(run(work(settings, queues=queue, burst=burst, log_json=log_json, beside=beside)))


@app.command()
def enqueue(
    context: typer.Context,
    crew: Annotated[str, typer.Argument(help="The crew's registered name.")],
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="K=V", help="An input; may be repeated.")
    ] = None,
    inputs_json: Annotated[
        str | None, typer.Option("--inputs-json", metavar="JSON", help="All inputs, or - for stdin.")
    ] = None,
    queue: Annotated[str, typer.Option("--queue")] = "default",
    priority: Annotated[str, typer.Option("--priority", "-p", help="0 to 4, or critical, high, normal, low.")] = "3",
    max_attempts: Annotated[int, typer.Option("--max-attempts")] = 3,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="SECONDS", help="Kill a run after so long.")
    ] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="Not before then.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Not if a live task of the crew has this key.")] = None,
    after: Annotated[
        list[int] | None, typer.Option("--after", metavar="ID", help="Once this task has ended; may be repeated.")
    ] = None,
) -> None:
    """Put a task into a queue and print its id."""
    from crewtop.commands.enqueue import Asked, enqueue_task

    asked = Asked(queue, priority, max_attempts, budget, at, key, tuple(after or ()))
    raise typer.Exit(run(enqueue_task(configuration(context), crew, inputs or [], inputs_json, asked)))


@app.command()
def demo(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Without a terminal: run, print the final snapshot, end.")
    ] = False,
    seconds: Annotated[float, typer.Option("--seconds", min=1, max=86_400, help="With --once: for so long.")] = 20.0,
    slots: Annotated[int, typer.Option("--slots", min=1, max=100, help="Crews at once.")] = 6,
    rate: Annotated[float, typer.Option("--rate", min=0.01, max=100, help="New tasks a second.")] = 1.0,
    latency: Annotated[float, typer.Option("--latency", min=0, max=60, help="The provider's seconds a call.")] = 0.8,
    failures: Annotated[float, typer.Option("--fail", min=0, max=1, help="Share of calls that fail.")] = 0.03,
    hang: Annotated[float, typer.Option("--hang", min=0, max=1, help="Share of calls that never end.")] = 0.005,
    no_usage: Annotated[float, typer.Option("--no-usage", min=0, max=1, help="Share without token counts.")] = 0.02,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same tasks.")] = 1,
) -> None:
    """A shop of real crews on a simulated provider: the whole of crewtop at work."""
    from crewtop.demo.run import Demo, run_demo

    plan = Demo(
        seconds=seconds if once else None, slots=slots, rate=rate, latency=latency,
        failures=failures, hang=hang, no_usage=no_usage, seed=seed,
    )  # fmt: skip
    raise typer.Exit(run_demo(configuration(context), plan, context.obj[2] if not once and terminal() else None))


@database_commands.command("init")
def db_init(context: typer.Context) -> None:
    """Create the crewtop schema unless it is there."""
    from crewtop.commands.database import init

    raise typer.Exit(run(init(configuration(context))))


@database_commands.command("check")
def db_check(context: typer.Context) -> None:
    """Say whether the database is there and has the right schema."""
    from crewtop.commands.database import check

    raise typer.Exit(run(check(configuration(context))))


@database_commands.command("upgrade")
def db_upgrade(context: typer.Context) -> None:
    """Bring the schema of an older crewtop up to date. Stop the workers first."""
    from crewtop.commands.database import upgrade

    raise typer.Exit(run(upgrade(configuration(context))))


@database_commands.command("roles")
def db_roles(
    context: typer.Context,
    apply: Annotated[bool, typer.Option("--apply", help="Run it on the database instead.")] = False,
) -> None:
    """Print the SQL that makes the roles crewtop_viewer, crewtop_operator and crewtop_worker."""
    from crewtop.commands.database import roles

    raise typer.Exit(run(roles(configuration(context), apply=apply)))
