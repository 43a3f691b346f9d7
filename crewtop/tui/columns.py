"""Tables of aligned columns that drop the least important ones when the terminal is narrow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from crewtop.tui.paint import Ground, Line, Span, Spans, padded

GAP = 2
"""Cells between two columns."""


class Column(NamedTuple):
    """A column: least is its width in cells, most what it may grow to where there is room, by shares of grow.

    importance 0 is never dropped; of the others the highest number goes first. right aligns numbers. about says what
    is in it, for the help page.
    """

    title: str
    least: int
    importance: int = 0
    right: bool = False
    most: int = 0
    grow: int = 1
    about: str = ""


class Fitted(NamedTuple):
    """A column that is shown: which cell of a row it takes, and how wide it is now."""

    place: int
    column: Column
    cells: int


Cell = Span | Spans


def fit(columns: Sequence[Column], cells: int) -> tuple[Fitted, ...]:
    """The columns that fit into so many cells, the room that is left shared among those that may grow."""
    kept = list(enumerate(columns))
    while sum(column.least for _, column in kept) + GAP * (len(kept) - 1) > cells:
        last = max(column.importance for _, column in kept)
        if last == 0:
            break
        kept.remove(max((pair for pair in kept if pair[1].importance == last), key=lambda pair: pair[0]))
    widths = [column.least for _, column in kept]
    spare = cells - sum(widths) - GAP * (len(kept) - 1)
    growing = [i for i, (_, column) in enumerate(kept) if column.most > column.least]
    while spare > 0 and growing:
        for i in list(growing):
            if widths[i] >= kept[i][1].most:
                growing.remove(i)
            else:
                more = min(kept[i][1].grow, kept[i][1].most - widths[i], spare)
                widths[i] += more
                spare -= more
    return tuple(Fitted(index, column, cells) for (index, column), cells in zip(kept, widths, strict=True))


def heading(fitted: Sequence[Fitted], lead: str = "", by: str = "", arrow: str = "") -> Line:
    """The line of titles, behind as many cells as lead has. arrow, one cell, follows the title that the table is by.

    It takes a cell of the gap behind it, so that every title stays where it is whatever the table is sorted by.
    """
    cells = [Span(lead)] if lead else []
    for i, (_, column, size) in enumerate(fitted):
        last = i + 1 == len(fitted)
        if column.title == by:
            more = 0 if last else 1
            cells += padded((Span(column.title + arrow, "accent"),), size + more, column.right)
            cells += [] if last else [Span(" " * (GAP - more))]
        else:
            cells += padded((Span(column.title, "muted"),), size, column.right)
            cells += [] if last else [Span(" " * GAP)]
    return Line(tuple(cells))


def row(fitted: Sequence[Fitted], cells: Sequence[Cell], ground: Ground, lead: Spans = (), mark: str = "…") -> Line:
    """A line of cells, one for each column of the table; those of dropped columns are left out."""
    return _row(tuple(fitted), tuple(cells), ground, lead, mark)


@lru_cache(maxsize=1024)  # most rows say in a tick what they said in the one before
def _row(fitted: tuple[Fitted, ...], cells: tuple[Cell, ...], ground: Ground, lead: Spans, mark: str) -> Line:
    spans: list[Span] = list(lead)
    for i, (place, column, size) in enumerate(fitted):
        cell = cells[place]
        content: Spans = (cell,) if isinstance(cell, Span) else cell
        spans += padded(content, size, column.right, mark)
        spans += [Span(" " * GAP)] if i + 1 < len(fitted) else []
    return Line(tuple(spans), ground)
