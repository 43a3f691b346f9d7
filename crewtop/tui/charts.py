"""Small area charts in characters: braille dots, or plain ASCII."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    values = [None] * (room - len(values)) + list(values[-room:])
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
