"""The commands about alerts: what fires, what is silenced, and whether anybody would be told."""

from __future__ import annotations

from typing import Annotated

import typer

from crewtop.cli_shared import LARGEST_ID, JsonFlag, configuration, run

alert_commands = typer.Typer(no_args_is_help=False, help="What fires: list; silence, unsilence, test.")

RuleName = Annotated[str, typer.Argument(metavar="RULE", help="A rule's name, or a pattern such as 'no *'.")]
Queue = Annotated[
    str, typer.Option("--queue", "--of", metavar="NAME", help="Only on this queue, worker, key ...; or a pattern.")
]


@alert_commands.callback(invoke_without_command=True)
def alerts(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")] = 50,
    as_json: JsonFlag = False,
) -> None:
    """List alerts, those that fire first, and silences."""
    from crewtop.commands.alerts import print_alerts

    if context.invoked_subcommand is None:
        raise typer.Exit(run(print_alerts(configuration(context), limit, as_json=as_json)))


@alert_commands.command("silence")
def silence_alerts(
    context: typer.Context,
    rule: RuleName,
    length: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: 30m, 8h, 2d.")],
    queue: Queue = "*",
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit.")] = None,
) -> None:
    """Tell nobody of a rule's alerts for a while."""
    from crewtop.commands.alerts import silence

    raise typer.Exit(run(silence(configuration(context), rule, queue, length, reason)))


@alert_commands.command("unsilence")
def unsilence_alerts(
    context: typer.Context,
    rule: Annotated[str, typer.Argument(metavar="RULE|ID", help="The pattern that was silenced, or the silence's id.")],
    queue: Queue = "*",
) -> None:
    """End a silence."""
    from crewtop.commands.alerts import unsilence

    number = int(rule) if rule.isdecimal() and int(rule) <= LARGEST_ID else None
    raise typer.Exit(run(unsilence(configuration(context), rule, queue, number)))


@alert_commands.command("test")
def test_deliveries(context: typer.Context) -> None:
    """Send a test to each of [alerts.deliver] from here, and say what became of it; exits with 1 if one failed."""
    from crewtop.commands.alerts import test

    raise typer.Exit(run(test(configuration(context))))
