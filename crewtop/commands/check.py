"""`crewtop check`: one line and an exit code as monitoring systems take them (Nagios plugin guidelines)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import typer

from crewtop.commands.read import monitor
from crewtop.config import Configuration
from crewtop.model.durations import duration
from crewtop.model.errors import CrewtopError, Refused
from crewtop.model.problems import problems
from crewtop.model.snapshot import QueueRow, Snapshot, WorkerRow
from crewtop.text import masked, shown


class Status(IntEnum):
    """What a check found, as its exit code."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


LINE_CHARACTERS = 1_000
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that may be judged. unit: of the performance data; least: small figures are the bad ones."""

    flag: str
    unit: str
    least: bool = False


MEASURES = {
    "oldest": Measure("--oldest", "s"),
    "stuck": Measure("--stuck", ""),
    "failed": Measure("--failed", ""),
    "error_rate": Measure("--error-rate", "%"),
    "workers": Measure("--workers", "", least=True),
}


@dataclass(frozen=True, slots=True)
class Limit:
    """Beyond warn it is a warning, beyond crit critical; None: never."""

    warn: float | None
    crit: float

    def judge(self, value: float | None, *, least: bool) -> Status:
        """How a figure stands; one that does not exist, as nothing waits or nothing has ended, is in order."""
        if value is None:
            return Status.OK
        sign = -1 if least else 1
        if (value - self.crit) * sign > 0:
            return Status.CRITICAL
        if self.warn is not None and (value - self.warn) * sign > 0:
            return Status.WARNING
        return Status.OK


async def print_check(
    load: Callable[[], Configuration], queue: str | None, given: Mapping[str, str | None], timeout: float
) -> int:
    """Print the line; answers the exit code. given: limits by the names of MEASURES, as typed; timeout in seconds."""
    try:
        limits = {name: limit(MEASURES[name], text) for name, text in given.items() if text is not None}
        async with asyncio.timeout(timeout), monitor(await _somebodys(load())) as reader:
            status, said, figures = checked(await reader.snapshot(), queue, limits)
    except TimeoutError:
        status, said, figures = Status.UNKNOWN, f"no answer within {timeout:g} s", ""
    except CrewtopError as error:
        status, said, figures = Status.UNKNOWN, str(error), ""
    except Exception as error:  # Python would end with 1, which is a warning about the shop
        status, said, figures = Status.UNKNOWN, f"{type(error).__name__}: {error}", ""
    return say(status, said, figures)


def say(status: Status, said: str, figures: str = "") -> int:
    """Print the line, with performance data; answers the exit code."""
    line = shown(masked(said))[:LINE_CHARACTERS].replace("|", "/")
    typer.echo(f"{status.name} - {line}{f' | {figures}' if figures else ''}")
    return status


async def _somebodys(configuration: Configuration) -> Configuration:
    """The configuration, where it leads to a database that somebody uses: one that the check itself would have to
    start says nothing. Raises Refused where it does not.
    """
    settings = configuration.settings
    if settings.postgres.dsn:
        return configuration
    from crewtop import embedded

    if not await asyncio.to_thread(embedded.used, settings.data_dir):
        where = settings.data_dir or embedded.default_data_dir()
        raise Refused(
            f"no database is configured, and nobody uses the embedded one in {where}: set CREWTOP_POSTGRES, or start "
            "a worker"
        )
    return configuration


def limit(measure: Measure, text: str) -> Limit:
    """A limit as typed: CRIT or WARN:CRIT, as '5m', '2m:5m', '0' or '2%:5%'. Raises Refused for anything else."""
    parts = [_number(measure, part) for part in text.split(":")]
    if len(parts) > 2 or None in parts:
        example = {"s": "5m or 2m:5m", "%": "5% or 2%:5%", "": "2 or 1:2"}[measure.unit]
        raise Refused(f"{measure.flag} {text!r} is no limit: use CRIT or WARN:CRIT, such as {example}")
    crit, warn = parts[-1], parts[0] if len(parts) == 2 else None
    assert crit is not None
    if measure.unit == "%" and max(crit, warn or 0) > 100:
        raise Refused(f"{measure.flag} {text}: more than all runs: use 0% to 100%")
    if warn is not None and (warn > crit) != measure.least and warn != crit:
        raise Refused(f"{measure.flag} {text}: the warning comes after what is critical: turn the two around")
    return Limit(warn, crit)


def _number(measure: Measure, text: str) -> float | None:
    units = "[smhd]?" if measure.unit == "s" else f"(?:{measure.unit})?"
    match = re.fullmatch(rf"(\d{{1,9}}(?:\.\d{{1,6}})?)({units})", text, re.ASCII)
    if match is None:
        return None
    return float(match[1]) * (SECONDS[match[2]] if measure.unit == "s" else 1)


def checked(snapshot: Snapshot, queue: str | None, limits: Mapping[str, Limit]) -> tuple[Status, str, str]:
    """How a snapshot stands, in words, and its performance data.

    queue None: all of them. Without limits it is judged as the overview judges it. Raises Refused where there is no
    such queue.
    """
    seen = of_queue(snapshot, queue) if queue is not None else snapshot
    figures = _figures(seen)
    data = " ".join(_data(name, value, limits.get(name)) for name, value in figures.items())
    if not limits:
        return *_as_on_the_screen(seen, queue), data
    stands = {name: limit.judge(figures[name], least=MEASURES[name].least) for name, limit in limits.items()}
    worst_first = sorted(limits, key=lambda name: -stands[name])
    said = ", ".join(_words(name, figures[name], stands[name], limits[name]) for name in worst_first)
    return max(stands.values()), f"{queue or 'all queues'}: {said}", data


def of_queue(snapshot: Snapshot, name: str) -> Snapshot:
    """What of a snapshot concerns one queue. Raises Refused where there is no such queue."""
    row = next((row for row in snapshot.queues if row.name == name), None)
    if row is None:
        there = ", ".join(row.name for row in snapshot.queues[:10]) or "none yet"
        raise Refused(f"there is no queue {name}: there are {there}")
    return replace(
        snapshot,
        queues=(row,),
        running=tuple(run for run in snapshot.running if run.queue == name),
        workers=tuple(worker for worker in snapshot.workers if worker.queues is None or name in worker.queues),
        budgets=tuple(
            budget
            for budget in snapshot.budgets
            if budget.scope == "total" or (budget.scope, budget.name) == ("queue", name)
        ),
    )


def _figures(snapshot: Snapshot) -> dict[str, float | None]:
    queues: Sequence[QueueRow] = snapshot.queues
    ended = sum(row.ended for row in queues)
    failed = sum((row.error_rate or 0.0) * row.ended for row in queues)
    return {
        "oldest": max((row.oldest for row in queues if row.oldest is not None), default=None),
        "stuck": sum(row.stuck for row in queues),
        "failed": sum(row.failed for row in queues),
        "error_rate": 100 * failed / ended if ended else None,
        "workers": sum(map(_serves, snapshot.workers)),
    }


def _serves(worker: WorkerRow) -> bool:
    return worker.state == "running" and worker.slots > 0


def _as_on_the_screen(snapshot: Snapshot, queue: str | None) -> tuple[Status, str]:
    found = problems(snapshot)
    if not found:
        return Status.OK, f"{queue or 'all queues'}: nothing is wrong"
    status = Status.CRITICAL if any(problem.severity == "wrong" for problem in found) else Status.WARNING
    return status, "; ".join(f"{problem.name}: {problem.words}" for problem in found)


def _words(name: str, value: float | None, status: Status, limit: Limit) -> str:
    if value is None:
        return {"oldest": "nothing waits", "error_rate": "no run has ended"}[name]
    figure = {
        "oldest": f"oldest {duration(value)}",
        "error_rate": f"{value:.3g}% of runs failed",
        "workers": f"{value:g} workers",
    }.get(name, f"{value:g} {name}")
    if status is Status.OK:
        return figure
    passed = limit.crit if status is Status.CRITICAL or limit.warn is None else limit.warn
    return f"{figure} ({'at least' if MEASURES[name].least else 'at most'} {_limit_words(name, passed)})"


def _limit_words(name: str, value: float) -> str:
    return duration(value) if name == "oldest" else f"{value:g}{MEASURES[name].unit}"


def _data(name: str, value: float | None, limit: Limit | None) -> str:
    """name=value;warn;crit; U for what is not known, and a range without an upper end where small figures are bad."""
    measure = MEASURES[name]
    end = ":" if measure.least else ""
    bounds = (f"{bound:g}{end}" if bound is not None else "" for bound in (limit.warn, limit.crit)) if limit else ()
    return ";".join([f"{name}={f'{value:.10g}{measure.unit}' if value is not None else 'U'}", *bounds])
