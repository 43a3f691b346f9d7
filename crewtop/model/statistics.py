"""What finished over some time, by crew, queue, worker or day, for people: counts, shares, durations, tokens, money."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from crewtop.model.histogram import Histogram, merged, quantile, value
from crewtop.model.money import Money, total


@dataclass(frozen=True, slots=True)
class Durations:
    """Of n durations, in seconds, each figure within 1 %; None where n is 0. Of fewer than 20 they are marked."""

    n: int = 0
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """What finished under one name.

    completed and failed are tasks, failed for good; retried are runs that are to be done again. success: the share of
    tasks that completed. met and missed: first starts within the service level of their priority, and the others;
    level: the share of the former. tokens and cost are those of calls that ended in the same time, tokens as far as
    they are known; None where the rollups do not tell calls apart by this.
    """

    name: str
    completed: int
    failed: int
    retried: int
    met: int
    missed: int
    success: float | None
    level: float | None
    wait: Durations
    run: Durations
    tokens: int | None
    cost: Money | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Rows, most finished first, days and times in their order; whole: all of them. at: the database's clock."""

    at: datetime
    since: datetime
    by: str
    rows: tuple[Tally, ...]
    whole: Tally
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counted:
    """The raw figures of one name: histograms of seconds, mergeable; calls None: not known by this."""

    name: str
    completed: int = 0
    failed: int = 0
    retried: int = 0
    met: int = 0
    missed: int = 0
    wait: Histogram = field(default_factory=dict)
    run: Histogram = field(default_factory=dict)
    tokens: int | None = 0
    cost: Money | None = field(default_factory=Money)


def tally(counted: Counted) -> Tally:
    """The figures that people see of raw ones."""
    return Tally(
        counted.name, counted.completed, counted.failed, counted.retried, counted.met, counted.missed,
        _share(counted.completed, counted.failed), _share(counted.met, counted.missed),
        durations(counted.wait), durations(counted.run), counted.tokens, counted.cost,
    )  # fmt: skip


def together(rows: Iterable[Counted], name: str) -> Counted:
    """All of them as one."""
    listed = list(rows)
    costs = [row.cost for row in listed if row.cost is not None]
    return Counted(
        name,
        completed=sum(row.completed for row in listed),
        failed=sum(row.failed for row in listed),
        retried=sum(row.retried for row in listed),
        met=sum(row.met for row in listed),
        missed=sum(row.missed for row in listed),
        wait=merged(row.wait for row in listed),
        run=merged(row.run for row in listed),
        tokens=sum(row.tokens or 0 for row in listed) if len(costs) == len(listed) else None,
        cost=total(costs) if len(costs) == len(listed) else None,
    )


def durations(histogram: Histogram) -> Durations:
    """Mean and percentiles of a histogram; the mean is that of what stands for its buckets."""
    n = sum(histogram.values())
    if not n:
        return Durations()
    mean = sum(value(number) * count for number, count in histogram.items()) / n
    return Durations(n, mean, *(quantile(histogram, q) for q in (0.5, 0.95, 0.99)))


def _share(good: int, bad: int) -> float | None:
    return good / (good + bad) if good + bad else None
