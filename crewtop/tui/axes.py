"""Axes with figures that people count in: round numbers, whole minutes, times of the clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

COUNTS = tuple(digit * 10**power for power in range(19) for digit in (1, 2, 5))
"""Steps of an axis of things that are counted."""

AMOUNTS = tuple(digit * 10.0**power for power in range(-6, 12) for digit in (1, 2, 5))
"""Steps of an axis of money."""

LENGTHS = (
    *(digit * 10.0**power for power in range(-3, 1) for digit in (1, 2, 5)),
    *(10.0, 15.0, 30.0),
    *(60.0 * minutes for minutes in (1, 2, 5, 10, 15, 30)),
    *(3_600.0 * hours for hours in (1, 2, 3, 6, 12)),
    *(86_400.0 * days for days in (1, 2, 7, 30, 100, 365, 3_650)),
)
"""Steps of an axis of lengths of time, in seconds."""

TIMES = (*(60 * m for m in (1, 2, 5, 10, 15, 30)), *(3_600 * h for h in (1, 2, 3, 6, 12)), 86_400, 172_800, 604_800)
"""Steps of an axis of the time of day, in seconds."""

TICK_CELLS = 9
"""So far apart stand two times at least: '14:05' with air around it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """top is the value at the upper edge of a chart, ticks are the values that are written beside it."""

    top: float
    ticks: tuple[float, ...]


def scale(most: float | None, height: int, steps: Iterable[float]) -> Scale:
    """A scale from 0 that holds most, with a tick on every other of height lines at the closest."""
    if not most or most <= 0:
        return Scale(0.0, (0.0,))
    parts = max(1, height // 2)
    step = next((step for step in steps if most / step <= parts), most)
    quarters = -(-most // (step / 4))
    return Scale(quarters * step / 4, tuple(i * step for i in range(int(quarters // 4) + 1)))


@dataclass(frozen=True, slots=True)
class Tick:
    """An instant to be written below a chart, and in which of its cells it lies."""

    cell: int
    at: datetime


def times(start: datetime, seconds: float, cells: int) -> tuple[int, list[Tick]]:
    """The step in seconds and the ticks of a chart that begins at start, by start's own clock, and lasts seconds."""
    step = next((step for step in TIMES if cells * step / seconds >= TICK_CELLS), TIMES[-1])
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    first = -(-(start - midnight).total_seconds() // step) * step
    found = []
    at = midnight + timedelta(seconds=first)
    while (past := (at - start).total_seconds()) < seconds:
        found.append(Tick(int(past / seconds * cells), at))
        at += timedelta(seconds=step)
    return step, found
