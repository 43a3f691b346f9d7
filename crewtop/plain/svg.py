"""Charts as SVG inside a page: no script, no resource from elsewhere; colours are the page's classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 170
LEFT, RIGHT, TOP, BOTTOM = 64, 8, 10, 24
BAR_HEIGHT, BAR_NAME = 22, 220
MARKS = 4
"""Names along the time axis."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart; None where there is nothing to say. style: a class of the page, such as 's1'."""

    name: str
    style: str
    values: Sequence[float | None]


def lines(
    series: Sequence[Series], times: Sequence[str], say: Callable[[float], str], label: str, units: Sequence[int] = (1,)
) -> str:
    """Lines over time. times: a name for each value; say: a value in words; label: what it shows, for who listens.

    units: in which the scale is even, the largest first: 60 for minutes.
    """
    top = even_top(max((v for one in series for v in one.values if v is not None), default=0.0), units)
    drawn = [_grid(top, say), *(_line(one, top, len(times)) for one in series), _axis(times)]
    legend = "".join(f'<span class="key {one.style}">{escape(one.name)}</span>' for one in series)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">{"".join(drawn)}</svg>'
        f'<p class="legend">{legend}</p>'
    )


def bars(rows: Sequence[tuple[str, float, str]], label: str, style: str = "s1", most: float | None = None) -> str:
    """Bars from the left. rows: a name that is safe to show, a value, and the value in words.

    most: the value of the longest bar there could be; None: the largest of them.
    """
    most = most or max((value for _, value, _ in rows), default=0.0) or 1.0
    room = WIDTH - BAR_NAME - 110
    drawn = []
    for place, (name, value, said) in enumerate(rows):
        y, length = place * BAR_HEIGHT, max(0.0, value) / most * room
        drawn.append(
            f'<text x="{BAR_NAME - 8}" y="{y + 15}" class="name">{escape(_short(name))}</text>'
            f'<rect x="{BAR_NAME}" y="{y + 4}" width="{length:.1f}" height="{BAR_HEIGHT - 8}" class="{style}"/>'
            f'<text x="{BAR_NAME + length + 6:.1f}" y="{y + 15}">{escape(said)}</text>'
        )
    height = max(1, len(rows)) * BAR_HEIGHT
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">{"".join(drawn)}</svg>'


def even_top(most: float, units: Sequence[int]) -> float:
    """Where a scale ends that reaches so far: at an even number of units, or of tenths of the smallest and so on."""
    unit = float(next((unit for unit in units if most >= 2 * unit), units[-1]))
    while most and most < unit:
        unit /= 10
    while most > 10 * unit:
        unit *= 10
    steps: tuple[float, ...] = (2, 4, 6, 8, 10) if unit in units else (1.2, 1.6, 2, 4, 6, 8, 10)
    return next(step * unit for step in steps if most <= step * unit)


def _grid(top: float, say: Callable[[float], str]) -> str:
    drawn = []
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        drawn.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="name">{escape(say(top * share))}</text>'
        )
    return "".join(drawn)


def _line(one: Series, top: float, places: int) -> str:
    """Stretches without a value part the line; one alone is a dot."""
    pieces, piece = list[list[str]](), list[str]()
    for place, value in enumerate([*one.values, None]):
        if value is not None:
            piece.append(f"{_x(place, places):.1f},{_y(value / top if top else 0.0):.1f}")
        elif piece:
            pieces.append(piece)
            piece = []
    return "".join(_piece(points, one.style) for points in pieces)


def _piece(points: list[str], style: str) -> str:
    if len(points) > 1:
        return f'<polyline points="{" ".join(points)}" class="{style}"/>'
    x, y = points[0].split(",")
    return f'<circle cx="{x}" cy="{y}" r="2" class="{style} dot"/>'


def _axis(times: Sequence[str]) -> str:
    n = len(times)
    places = sorted({round(mark * (n - 1) / (MARKS - 1)) for mark in range(MARKS)}) if times else []
    y = HEIGHT - 6
    return "".join(
        f'<text x="{_x(place, n):.1f}" y="{y}" class="{_anchor(place, n)}">{escape(times[place])}</text>'
        for place in places
    )


def _anchor(place: int, places: int) -> str:
    return "first" if place == 0 else "last" if place == places - 1 else "mid"


def _x(place: int, places: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (place / (places - 1) if places > 1 else 0.5)


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _short(name: str) -> str:
    return name if len(name) <= 30 else name[:29] + "…"
