"""A chart with its title, its legend and its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from crewtop.tui.axes import LENGTHS, Scale, scale, times
from crewtop.tui.charts import (
    Curve,
    Texture,
    dot_of,
    group_size,
    grouped,
    per_cell,
    plot,
    rows_of_dots,
    sample,
    stretched,
)
from crewtop.tui.manner import Manner
from crewtop.tui.paint import BLANK, Line, Part, Role, Span, Spans, bar, clip_spans, joined, padded, spread, width

LEFT_CELLS, RIGHT_CELLS = 7, 6
"""What the figures beside a chart take, its axis included."""

LEAST_LINES = 6
"""Title, three lines of chart, axis and times."""

_ASCII = {"│": "|", "└": "+", "─": "-", "┬": "+", "┘": "+"}


def mean(values: Sequence[float]) -> float:
    """What several values of a rate come to in one column."""
    return sum(values) / len(values)


@dataclass(frozen=True, slots=True)
class Series:
    """One curve of a chart, one value a bucket; combine makes one of several where they have to share a column."""

    name: str
    values: Sequence[float | None]
    role: Role
    texture: Texture = "solid"
    combine: Callable[[Sequence[float]], float] = max


@dataclass(frozen=True, slots=True)
class Measure:
    """What an axis counts in: the steps that are round numbers there, and how a number is said."""

    steps: Sequence[float]
    said: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Chart:
    """series: in the order of the legend; of areas the lower ones first, since they are drawn over the others.

    at: when its first bucket of bucket seconds began. overlay: a curve with an axis of its own, on the right.
    parted: its buckets are bars of their own where there is room for air between them.
    """

    title: str
    now: str
    aside: str
    at: datetime
    bucket: float
    series: tuple[Series, ...]
    measure: Measure
    parted: bool = False
    overlay: Series | None = None
    overlay_measure: Measure = field(default_factory=lambda: Measure(LENGTHS, str))

    @property
    def drawn(self) -> list[Series]:
        """The curves of which anything is known."""
        every = [*self.series, *([self.overlay] if self.overlay else [])]
        return [series for series in every if any(value is not None for value in series.values)]


def draw(chart: Chart, cells: int, height: int, manner: Manner) -> list[Line]:
    """The chart in so many cells and lines, at least LEAST_LINES of them."""
    rows = max(1, height - 3)
    right = RIGHT_CELLS if chart.overlay in chart.drawn else 0
    inner = max(4, cells - LEFT_CELLS - right)
    title = Line(_title(chart, cells, manner))
    if not chart.drawn:
        nothing = padded((Span(" " * LEFT_CELLS + "nothing is known of this time", "muted"),), cells, mark=manner.cut)
        return [title, Line(nothing), *[BLANK] * (height - 2)]
    columns = inner * per_cell(manner.ascii_only)
    group = group_size(max(len(series.values) for series in chart.drawn), columns)
    offset = round(chart.at.timestamp() / chart.bucket)
    values = {series.name: grouped(series.values, group, offset, series.combine) for series in chart.drawn}
    scales = _scales(chart, values, rows)
    curves = [
        Curve(stretched(values[s.name], columns, chart.parted), scales[s is chart.overlay].top, s.role, s.texture)
        for s in sorted(reversed(chart.drawn), key=lambda series: series.texture == "line")  # noqa: C414
    ]
    start = chart.at + timedelta(seconds=-offset % group * chart.bucket)
    lasts = max(map(len, values.values())) * group * chart.bucket
    return [
        title,
        *_plot(chart, curves, scales, (inner, rows), bool(right), manner),
        *_time_axis(start, lasts, inner, bool(right), manner),
    ]


def _title(chart: Chart, cells: int, manner: Manner) -> Spans:
    legend = [
        Part(1 + i, joined(sample(s.texture, s.role, manner.ascii_only), Span(f" {s.name}", "muted")))
        for i, s in enumerate(chart.drawn)
    ]
    name, now = Span(chart.title, "text", True), Span(f"  {chart.now}" if chart.now else "", "text")
    keys = bar(legend, cells - width((name,)) - 2, 2) if len(legend) > 1 else ()
    aside = Span(f"  {chart.aside}" if chart.aside else "", "muted")
    for left in (joined(name, now, aside), joined(name, now), joined(name)):
        if width(left) + width(keys) + 2 <= cells:
            break
    return padded(spread(left, keys, cells, manner.cut), cells, mark=manner.cut)


def _scales(chart: Chart, values: dict[str, list[float | None]], rows: int) -> tuple[Scale, Scale]:
    """The scale on the left, and that of the overlay."""

    def most(names: list[str]) -> float | None:
        known = [value for name in names for value in values.get(name, ()) if value is not None]
        return max(known, default=None)

    left = scale(most([series.name for series in chart.series]), rows, chart.measure.steps)
    over = most([chart.overlay.name] if chart.overlay else [])
    return left, scale(over, rows, chart.overlay_measure.steps)


def _plot(
    chart: Chart,
    curves: Sequence[Curve],
    scales: tuple[Scale, Scale],
    size: tuple[int, int],
    right: bool,
    manner: Manner,
) -> list[Line]:
    cells, rows = size
    left_said = _beside(scales[0], chart.measure, rows, manner)
    right_said = _beside(scales[1], chart.overlay_measure, rows, manner) if right else {}
    edge = Span(_sign("│", manner), "faint")
    lines = []
    for place, spans in enumerate(plot(curves, cells, rows, manner.ascii_only)):
        row = rows - 1 - place
        before = Span(left_said.get(row, "").rjust(LEFT_CELLS - 1), "muted")
        after = joined(edge, Span(right_said.get(row, "").ljust(RIGHT_CELLS - 1), "muted")) if right else ()
        lines.append(Line(joined(before, edge, padded(spans, cells), after)))
    return lines


def _beside(scale: Scale, measure: Measure, rows: int, manner: Manner) -> dict[int, str]:
    """The figures of an axis by their line, counted from 0 at the bottom."""
    up = rows_of_dots(manner.ascii_only)
    return {dot_of(tick, scale.top, rows * up) // up: measure.said(tick) for tick in scale.ticks}


def _time_axis(start: datetime, seconds: float, cells: int, right: bool, manner: Manner) -> list[Line]:
    step, ticks = times(start.astimezone(UTC) if manner.utc else start.astimezone(), max(seconds, 1.0), cells)
    marks = [_sign("─", manner)] * cells
    said = [" "] * (LEFT_CELLS + cells + RIGHT_CELLS)
    free = 0
    for tick in ticks:
        text = f"{tick.at:%m-%d}" if step >= 86_400 else f"{tick.at:%H:%M}"
        begin = LEFT_CELLS + tick.cell - len(text) // 2
        if begin >= free and begin + len(text) <= LEFT_CELLS + cells:
            marks[tick.cell] = _sign("┬", manner)
            said[begin : begin + len(text)] = text
            free = begin + len(text) + 1
    corner = _sign("┘", manner) if right else ""
    axis = " " * (LEFT_CELLS - 1) + _sign("└", manner) + "".join(marks) + corner + " " * (RIGHT_CELLS - 1) * right
    length = LEFT_CELLS + cells + RIGHT_CELLS * right
    return [Line((Span(axis, "faint"),)), Line((Span("".join(said)[:length], "muted"),))]


def _sign(picture: str, manner: Manner) -> str:
    return _ASCII[picture] if manner.ascii_only else picture


def beside(left: Sequence[Line], right: Sequence[Line], left_cells: int, gap: int) -> list[Line]:
    """Two blocks of lines in one."""
    count = max(len(left), len(right))
    pairs = zip([*left, *[BLANK] * (count - len(left))], [*right, *[BLANK] * (count - len(right))], strict=True)
    return [
        Line(joined(padded(clip_spans(a.spans, left_cells), left_cells), Span(" " * gap), b.spans)) for a, b in pairs
    ]
