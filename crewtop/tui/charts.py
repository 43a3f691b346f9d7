"""Charts in characters: braille dots, or plain ASCII."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

from crewtop.tui.paint import Role, Span, Spans

_LEFT = (0x40, 0x04, 0x02, 0x01)
_RIGHT = (0x80, 0x20, 0x10, 0x08)
"""The dots of a braille cell from the bottom up (Unicode 16, section 21.1)."""

_ASCII = " .:#"


def per_cell(ascii_only: bool) -> int:
    """How many values one cell shows side by side."""
    return 1 if ascii_only else 2


def area(values: Sequence[float | None], cells: int, height: int, ascii_only: bool = False) -> list[str]:
    """The lines of a chart, top first, newest value at the right edge. None leaves a gap; 0 draws the base line."""
    step = per_cell(ascii_only)
    levels = 3 if ascii_only else 4
    room = cells * step
    values = [*[None] * (room - len(values)), *values[-room:]]
    top = max((value for value in values if value is not None), default=0.0)
    heights = [_height(value, top, height * levels) for value in values]
    cell: Callable[[Sequence[int]], str] = _ascii_cell if ascii_only else _braille_cell
    lines = []
    for row in reversed(range(height)):
        floor = row * levels
        parts = [cell([max(0, min(levels, h - floor)) for h in heights[i : i + step]]) for i in range(0, room, step)]
        lines.append("".join(parts))
    return lines


def _height(value: float | None, top: float, levels: int) -> int:
    if value is None:
        return 0
    if top <= 0:
        return 1
    return 1 + round((levels - 1) * max(0.0, value) / top)


def _braille_cell(heights: Sequence[int]) -> str:
    dots = sum(_LEFT[: heights[0]]) + sum(_RIGHT[: heights[1]])
    return chr(0x2800 + dots) if dots else " "


def _ascii_cell(heights: Sequence[int]) -> str:
    return _ASCII[heights[0]]


def grouped(
    values: Sequence[float | None], group: int, offset: int, combine: Callable[[Sequence[float]], float]
) -> list[float | None]:
    """values by groups of so many that begin where (offset + index) divides evenly; unfinished groups are left out.

    Groups are tied to the clock, not to the window, so that old ones keep their shape while time moves on.
    """
    first = -offset % group
    groups = [values[i : i + group] for i in range(first, len(values) - group + 1, group)]
    known = [[value for value in part if value is not None] for part in groups]
    return [combine(part) if part else None for part in known]


Texture = Literal["solid", "half", "sparse", "line"]
"""How a curve is told from others without colour: how densely the area below it is filled, or a line of its own."""

_ASCII_TEXTURES: dict[Texture, str] = {"solid": "#", "half": "+", "sparse": ".", "line": "*"}


@dataclass(frozen=True, slots=True)
class Curve:
    """A value for each column of dots (None is a gap); top is the value at the upper edge of the chart."""

    values: Sequence[float | None]
    top: float
    role: Role
    texture: Texture = "solid"


@dataclass(slots=True)
class _Cell:
    """Dots of one character, and the curve that it belongs to."""

    curve: Curve
    dots: int = 0


def plot(curves: Sequence[Curve], cells: int, height: int, ascii_only: bool = False) -> list[Spans]:
    """The lines of a chart, top first; later curves lie over earlier ones. A line has its cells for itself."""
    grid: dict[tuple[int, int], _Cell] = {}
    up = rows_of_dots(ascii_only)
    for curve in curves:
        for x, y in _dots(curve, height * up, ascii_only):
            place = x // per_cell(ascii_only), y // up
            cell = grid.get(place)
            if cell is None or (cell.curve is not curve and curve.texture == "line"):
                cell = grid[place] = _Cell(curve)
            cell.curve = curve
            cell.dots |= (_RIGHT if x % 2 else _LEFT)[y % up]
    return [_row([grid.get((x, y)) for x in range(cells)], ascii_only) for y in reversed(range(height))]


def rows_of_dots(ascii_only: bool) -> int:
    """How many values one cell can tell apart, one above the other."""
    return 1 if ascii_only else 4


def dot_of(value: float, top: float, dots: int) -> int:
    """On which row of so many dots, counted from 0 at the bottom, a value stands."""
    return min(dots, _height(value, top, dots)) - 1


def sample(texture: Texture, role: Role, ascii_only: bool) -> Span:
    """One cell of a texture, for a legend."""
    value = 0.5 if texture == "line" else 1.0
    return plot([Curve((value, value), 1.0, role, texture)], 1, 1, ascii_only)[0][0]


PARTED_COLUMNS = 4
"""Bars that are narrower stand side by side without a gap."""


def stretched(values: Sequence[float | None], columns: int, parted: bool = False) -> list[float | None]:
    """values over so many columns, each as wide as the others but for one column; parted: with a gap after each."""
    if not values:
        return []
    places = [x * len(values) // columns for x in range(columns + 1)]
    gaps = parted and columns >= PARTED_COLUMNS * len(values)
    return [None if gaps and place != after else values[place] for place, after in pairwise(places)]


def group_size(values: int, columns: int) -> int:
    """How many values have to share a column, so that all fit."""
    return max(1, math.ceil(values / max(1, columns)))


def _dots(curve: Curve, dots: int, ascii_only: bool) -> Iterator[tuple[int, int]]:
    before: int | None = None
    for x, value in enumerate(curve.values):
        y = None if value is None else dot_of(value, curve.top, dots)
        if y is not None:
            yield from ((x, row) for row in _column(curve.texture, x, y, before, ascii_only))
        before = y


def _column(texture: Texture, x: int, y: int, before: int | None, ascii_only: bool) -> Sequence[int]:
    """The dots of one column: of a line those that join it to the column before."""
    if texture == "line":
        if before is None or before == y:
            return (y,)
        return range(before + 1, y + 1) if y > before else range(y, before)
    if texture == "solid" or ascii_only:
        return range(y + 1)
    thin = 2 if texture == "half" else 4
    return [row for row in range(y + 1) if row == y or (x + row * (thin // 2)) % thin == 0]


def _row(cells: Sequence[_Cell | None], ascii_only: bool) -> Spans:
    spans = []
    for role, run in groupby(cells, key=lambda cell: cell.curve.role if cell else None):
        if role is None:
            spans.append(Span(" " * len(list(run))))
        else:
            spans.append(Span("".join(_character(cell, ascii_only) for cell in run if cell), role))
    return tuple(spans)


def _character(cell: _Cell, ascii_only: bool) -> str:
    return _ASCII_TEXTURES[cell.curve.texture] if ascii_only else chr(0x2800 + cell.dots)
