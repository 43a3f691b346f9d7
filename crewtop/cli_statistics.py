"""The commands that say how it went: statistics in a table, a report on a page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crewtop.cli_shared import CsvFlag, JsonFlag, Since, configuration, not_both, run

statistics = typer.Typer()


class By(StrEnum):
    """What --by takes."""

    CREW = "crew"
    QUEUE = "queue"
    WORKER = "worker"
    DAY = "day"


@statistics.command()
def stats(
    context: typer.Context,
    by: Annotated[By, typer.Option("--by", help="What to tell apart.")] = By.CREW,
    since: Since = "24h",
    as_csv: CsvFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Print what finished: counts, success, wait and run times, service level, tokens, cost."""
    from crewtop.commands.cost import Shown
    from crewtop.commands.statistics import print_statistics

    not_both(as_csv, as_json)
    raise typer.Exit(run(print_statistics(configuration(context), by.value, since, Shown(as_json, as_csv))))


@statistics.command()
def report(
    context: typer.Context,
    html: Annotated[Path, typer.Option("--html", metavar="FILE", help="Where the page goes.")],
    since: Since = "7d",
) -> None:
    """Write a page with charts of what finished, failed and cost: one file, to be looked at, mailed or printed."""
    from crewtop.commands.statistics import write_report

    raise typer.Exit(run(write_report(configuration(context), html, since)))
