"""The five figures of the overview, each over a chart of the last minutes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache

from crewtop import words
from crewtop.model.pace import last_minute
from crewtop.model.snapshot import Point, Snapshot
from crewtop.tui.charts import area, grouped, per_cell
from crewtop.tui.manner import Manner
from crewtop.tui.paint import Line, Role, Span, Spans, padded, width
from crewtop.tui.views.cells import coarse
from crewtop.tui.views.plot import mean

Combine = Callable[[Sequence[float]], float]
"""What several values come to that share a column."""

GAP = 3
LEAST_CELLS = 13


@dataclass(frozen=True, slots=True)
class Figure:
    """A title, its value now, what else is to know, and the values of its chart (None where nothing is known)."""

    title: str
    now: str
    aside: str
    role: Role
    values: Sequence[float | None]
    combine: Combine
    peak: Callable[[float], str]


def figures(snapshot: Snapshot, manner: Manner) -> list[Figure]:
    """The figures of a snapshot, the most important first."""
    bucket = snapshot.bucket_seconds
    points = complete(snapshot)
    oldest = max((q.oldest for q in snapshot.queues if q.oldest is not None), default=None)
    n = f"n {words.count(snapshot.run.n)}" if snapshot.run.n else ""
    return [
        Figure(
            "Backlog",
            words.count(snapshot.backlog),
            growth(points, bucket),
            "accent",
            [point.backlog for point in points],
            max,
            lambda top: words.count(round(top)),
        ),
        Figure(
            "Done",
            rate_now(snapshot, "done"),
            f"in {rate_now(snapshot, 'arrived')}" if points else "",
            "moving",
            [point.done * 60 / bucket for point in points],
            mean,
            words.rate,
        ),
        Figure(
            "Wait p95",
            words.percentile(snapshot.wait.p95, snapshot.wait.n),
            f"oldest {coarse(oldest)}" if oldest is not None else "",
            "waiting",
            [point.wait_p95 for point in points],
            max,
            words.duration,
        ),
        Figure(
            "Run p95",
            words.percentile(snapshot.run.p95, snapshot.run.n),
            n,
            "link",
            [p.run_p95 for p in points],
            max,
            words.duration,
        ),
        Figure(
            "Spend",
            manner.hourly(snapshot.spend_pace),
            f"{manner.money(snapshot.spend_per_hour)} in 1h" if snapshot.spend_per_hour.calls else "",
            "money",
            [point.spend * 3600 / bucket for point in points],
            mean,
            lambda top: f"{words.dollars(Decimal(str(top)))}/h",
        ),
    ]


def complete(snapshot: Snapshot) -> list[Point]:
    """The points whose bucket is over: one that still fills would look like a fall."""
    bucket = timedelta(seconds=snapshot.bucket_seconds)
    return [point for point in snapshot.series if point.at + bucket <= snapshot.at]


def lines(snapshot: Snapshot, cells: int, chart_height: int, manner: Manner) -> list[Line]:
    """Titles, values, charts of so many lines (none for 0) and a time axis; figures that do not fit are left out."""
    shown = figures(snapshot, manner)
    cells -= 2
    while len(shown) > 2 and (cells - GAP * (len(shown) - 1)) // len(shown) < LEAST_CELLS:
        shown.pop()
    size = (cells - GAP * (len(shown) - 1)) // len(shown)
    drawn = [
        _row([(Span(figure.title, "muted"),) for figure in shown], size),
        _row([_value(figure, size) for figure in shown], size),
    ]
    if chart_height and snapshot.series:
        charts = [_chart(figure, snapshot, size, chart_height, manner) for figure in shown]
        drawn += [_row([chart[i] for chart in charts], size) for i in range(chart_height + 1)]
    return drawn


def _row(parts: Sequence[Spans], size: int) -> Line:
    spans: list[Span] = [Span("  ")]
    for part in parts:
        spans += [*padded(part, size), Span(" " * GAP)]
    return Line(tuple(spans[:-1]))


def _value(figure: Figure, size: int) -> Spans:
    now = Span(figure.now, "text", True)
    aside = Span(f"  {figure.aside}", "muted")
    return (now, aside) if figure.aside and width((now, aside)) <= size else (now,)


def _chart(figure: Figure, snapshot: Snapshot, size: int, height: int, manner: Manner) -> list[Spans]:
    offset = round(snapshot.series[0].at.timestamp() / snapshot.bucket_seconds)
    drawn, top, columns, group = _drawn(tuple(figure.values), offset, figure.combine, size, height, manner.ascii_only)
    past = columns * group * snapshot.bucket_seconds / 60
    start = -(-columns // per_cell(manner.ascii_only))
    axis = _axis(f"-{past:.0f}m", f"peak {figure.peak(top)}" if top else "", start, size)
    return [*((Span(text, figure.role),) for text in drawn), axis]


@lru_cache(maxsize=64)  # drawn in every tick, and another only once in a bucket
def _drawn(
    values: tuple[float | None, ...], offset: int, combine: Combine, size: int, height: int, ascii_only: bool
) -> tuple[list[str], float | None, int, int]:
    """The lines of a chart, its peak, and how many columns of how many points it has."""
    room = size * per_cell(ascii_only)
    group = max(1, round(len(values) / room))
    columns = grouped(values, group, offset, combine)[-room:]
    top = max((value for value in columns if value is not None), default=None)
    return area(columns, size, height, ascii_only), top, len(columns), group


def _axis(start: str, peak: str, chart_cells: int, size: int) -> Spans:
    indent = max(0, size - chart_cells)
    left, right = " " * indent + start, "now"
    space = size - len(left) - len(right)
    if peak and space >= len(peak) + 2:
        before = (space - len(peak)) // 2
        middle = " " * before + peak + " " * (space - before - len(peak))
    else:
        middle = " " * max(1, space)
    return (Span(left + middle + right, "faint"),)


def rate_now(snapshot: Snapshot, what: str) -> str:
    """How often something ('done', 'arrived', 'failed') happened in the last minute."""
    last, seconds = last_minute(snapshot.series, snapshot.at, snapshot.bucket_seconds)
    return words.rate(sum(getattr(point, what) for point in last) * 60 / seconds) if last else words.NOTHING


def growth(points: Sequence[Point], bucket: float) -> str:
    """How fast the backlog grew over the last minute."""
    last = points[-round(60 / bucket) - 1 :]
    if len(last) < 2:
        return ""
    a_minute = round((last[-1].backlog - last[0].backlog) * 60 / (bucket * (len(last) - 1)))
    return f"{a_minute:+,}/min" if a_minute else "steady"
