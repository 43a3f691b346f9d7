"""`crewtop stats` and `crewtop report`: how it went, in a table or on a page."""

from __future__ import annotations

from pathlib import Path

import typer

from crewtop.commands.cost import TIMEOUT_SECONDS, Shown, duration, print_found
from crewtop.config import Configuration
from crewtop.model.errors import Refused
from crewtop.plain.report import Report, page
from crewtop.plain.statistics import statistics_csv, statistics_text
from crewtop.store import costs, failures, statistics
from crewtop.store.housekeeping import MINUTES_SECONDS
from crewtop.stores import Stores, stores

STEPS = (60, 300, 900, 3_600, 7_200, 21_600, 86_400, 604_800)
"""Seconds of a point of the charts; from three days on rollups are of whole hours."""

MOST_POINTS = 170


async def print_statistics(configuration: Configuration, by: str, since: str, shown: Shown) -> int:
    """Print what finished. by: crew, queue, worker or day. Raises Refused for what is no duration."""
    seconds = duration(since)
    async with stores(
        configuration.settings, "crewtop", connections=1, timeout=TIMEOUT_SECONDS, prepared=False
    ) as opened:
        found = await statistics.read(opened.database, by, seconds)
    print_found(found, shown, statistics_csv, statistics_text)
    return 0


async def write_report(configuration: Configuration, path: Path, since: str) -> int:
    """Write the page. Raises Refused for what is no duration, or a file that cannot be written."""
    seconds = duration(since)
    async with stores(
        configuration.settings, "crewtop", connections=1, timeout=TIMEOUT_SECONDS, prepared=False
    ) as opened:
        report = await _read(opened, seconds, since)
    _write(path, page(report))
    typer.echo(f"{path} is written: {report.crews.whole.completed + report.crews.whole.failed:,} tasks", err=True)
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise Refused(f"--html {path}: {error.strerror}: name a file in a folder that you may write to") from None


async def _read(opened: Stores, seconds: float, since: str) -> Report:
    database = opened.database
    step = step_of(seconds)
    return Report(
        where="the embedded database" if opened.addresses.embedded else database.name,
        since_words=since,
        step_seconds=step,
        over_time=await statistics.over_time(database, seconds, step),
        crews=await statistics.read(database, "crew", seconds),
        queues=await statistics.read(database, "queue", seconds),
        failures=await failures.read(database, seconds),
        by_crew=await costs.read(database, "crew", seconds),
        by_model=await costs.read(database, "model", seconds),
    )


def step_of(seconds: float) -> int:
    """How many seconds a point of the charts is of, so that they are few enough, and no finer than what is known."""
    least = 3_600 if seconds > MINUTES_SECONDS else 60
    return next((step for step in STEPS if step >= least and seconds / step <= MOST_POINTS), STEPS[-1])
