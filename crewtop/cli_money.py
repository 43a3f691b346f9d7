"""The commands about what tasks cost and what they gave: sums, prices of past calls, results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crewtop.cli_shared import CsvFlag, JsonFlag, Since, configuration, not_both, run

money = typer.Typer()
cost_commands = typer.Typer(
    no_args_is_help=False, help="What LLM calls cost, by crew, model, queue, step or day; reprice, what-if."
)
money.add_typer(cost_commands, name="cost")


class By(StrEnum):
    """What --by takes."""

    CREW = "crew"
    MODEL = "model"
    QUEUE = "queue"
    STEP = "step"
    DAY = "day"


@cost_commands.callback(invoke_without_command=True)
def cost(
    context: typer.Context,
    by: Annotated[By, typer.Option("--by", help="What to add it up by.")] = By.CREW,
    since: Since = "24h",
    as_csv: CsvFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Print what LLM calls cost; unknown costs make a sum a lower bound."""
    from crewtop.commands.cost import Shown, print_costs

    if context.invoked_subcommand is not None:
        return
    not_both(as_csv, as_json)
    raise typer.Exit(run(print_costs(configuration(context), by.value, since, Shown(as_json, as_csv))))


@cost_commands.command()
def reprice(
    context: typer.Context,
    since: Since,
    model: Annotated[str | None, typer.Option("--model", help="Only calls to this model, or provider/model.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write it; without it, only say what would change.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Price past calls again, from their stored usage, with the present prices; tasks and sums follow."""
    from crewtop.commands import cost

    raise typer.Exit(run(cost.reprice(configuration(context), since, model, yes=yes, as_json=as_json)))


@cost_commands.command()
def repricings(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List who priced which calls again, and what that changed."""
    from crewtop.commands.cost import print_repricings

    raise typer.Exit(run(print_repricings(configuration(context), limit, as_json=as_json)))


@cost_commands.command("what-if")
def what_if(
    context: typer.Context,
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="A=B", help="As if calls to A had gone to B; repeatable.")
    ] = None,
    route: Annotated[
        Path | None, typer.Option("--route", metavar="FILE", help="By [llm.routes] of this crewtop.toml.")
    ] = None,
    since: Since = "24h",
    as_json: JsonFlag = False,
) -> None:
    """Print what past calls would have cost with other models, by the tokens that they took. Changes nothing."""
    from crewtop.commands import cost

    if bool(model) == (route is not None):
        raise typer.BadParameter("say --model A=B, once or more often, or --route FILE")
    raise typer.Exit(run(cost.what_if(configuration(context), since, model or (), route, as_json=as_json)))


@money.command()
def results(
    context: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(help="A filter, such as crew:support 'key:order-*'.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with those that come.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Into a file, going on after what it has.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="CURSOR", help="Go on from what an earlier one printed at its end.")
    ] = None,
) -> None:
    """Print results of completed tasks, a JSON object a line, in the order in which they came."""
    from crewtop.commands.results import print_results

    raise typer.Exit(run(print_results(configuration(context), " ".join(words or []), after, out, follow=follow)))
