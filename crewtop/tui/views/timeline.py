"""A task's life as bars: waiting, runs, their steps and LLM calls, on one axis of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import accumulate, groupby, pairwise

from crewtop.model.detail import TaskDetail
from crewtop.tui.manner import Manner
from crewtop.tui.paint import Line, Role, Span, Spans, joined, padded
from crewtop.tui.views.bars import Bar, Key, bars
from crewtop.tui.views.cells import said

IDLE_CELLS = 7
"""Cells that a wait takes at most: hours in a queue must not squeeze the seconds of a run."""

TOOK, COST = 7, 11
"""Cells of the two columns of figures."""

NARROW_CELLS = 50
"""On a narrower page the cost gives way: the table of calls below has it."""


def _sizes(seconds: Sequence[float], idle: Sequence[bool], cells: int) -> list[float]:
    """The cells of each piece of time: waits have at most IDLE_CELLS, runs share the rest by their length."""
    whole = sum(seconds) or 1.0
    active = sum(s for s, wait in zip(seconds, idle, strict=True) if not wait)
    if not active:
        return [s / whole * cells for s in seconds]
    waits = [
        min(IDLE_CELLS, max(1, round(s / whole * cells))) if wait else 0 for s, wait in zip(seconds, idle, strict=True)
    ]
    room = max(1, cells - sum(waits))
    return [wait or s / active * room for s, wait in zip(seconds, waits, strict=True)]


class Axis:
    """Where an instant lies among so many cells: linear within runs, waits cut to IDLE_CELLS."""

    def __init__(self, rows: Sequence[Bar], cells: int) -> None:
        self.cells = cells
        self._edges = sorted({edge for bar in rows if bar.picture in "░█" for edge in (bar.start, bar.end)})
        pieces = list(pairwise(self._edges))
        waits = [bar for bar in rows if bar.picture == "░"]
        idle = [any(bar.start <= start and end <= bar.end for bar in waits) for start, end in pieces]
        seconds = [(end - start).total_seconds() for start, end in pieces]
        sizes = _sizes(seconds, idle, cells)
        self._places = [0.0, *accumulate(sizes)]

    def place(self, at: datetime) -> int:
        """The cell at which an instant lies."""
        for i, edge in enumerate(self._edges[1:], start=1):
            if at <= edge:
                before = self._edges[i - 1]
                share = (at - before) / (edge - before) if edge > before else 0.0
                low, high = self._places[i - 1], self._places[i]
                return min(self.cells, max(0, round(low + (high - low) * max(0.0, share))))
        return min(self.cells, round(self._places[-1]))


Rows = list[tuple[Key | None, Callable[[], Line]]]
"""Lines to draw, each with what can be opened at it. Of a thousand only those in sight are drawn."""


def rows(detail: TaskDetail, cells: int, manner: Manner, *, calls: bool) -> Rows:
    """The timeline with its heading, each bar with what it stands for; with the LLM calls in it if calls."""
    drawn = bars(detail, manner, calls=calls)
    if not drawn:
        return []
    label = min(30, max(16, cells // 4))
    cost = COST if cells >= NARROW_CELLS else 0
    axis = Axis(drawn, max(1, cells - label - _figure_cells(cost) - 4))
    made: Rows = [(None, partial(_heading, drawn, axis, label, cost, manner))]
    return made + [(bar.key, partial(_line, bar, axis, label, cost, manner)) for bar in drawn]


def _line(bar: Bar, axis: Axis, label: int, cost: int, manner: Manner) -> Line:
    shaft = padded((Span(bar.note, "muted"),) if bar.note else _shaft(bar, axis, manner), axis.cells, mark=manner.cut)
    name = Span(bar.label, "text" if bar.picture == "█" else "muted")
    head = padded((Span(f"{bar.glyph or ' '} ", bar.role), name), label, mark=manner.cut)
    return Line(joined(head, " ", shaft, _figures(said(bar.took, "muted"), said(bar.cost, "money"), cost)))


def _shaft(bar: Bar, axis: Axis, manner: Manner) -> Spans:
    """The pieces of a bar, each at least a cell long; later ones over earlier ones."""
    painted: list[tuple[str, Role]] = [(" ", "text")] * axis.cells
    for piece in bar.pieces:
        start = min(axis.place(piece.start), axis.cells - 1)
        end = max(start + 1, axis.place(piece.end))
        painted[start:end] = [(manner.glyph(piece.picture), piece.role)] * (end - start)
        if piece.open_end:
            painted[end - 1] = manner.glyph("▶"), piece.role
    groups = groupby(painted, key=lambda cell: cell[1])
    return tuple(Span("".join(text for text, _ in group), role) for role, group in groups)


def _figure_cells(cost: int) -> int:
    return 1 + TOOK + (2 + cost if cost else 0)


def _figures(took: Span, cost: Span, cells: int) -> Spans:
    money = joined("  ", padded((cost,), cells, right=True)) if cells else ()
    return joined(" ", padded((took,), TOOK, right=True), money)


def _heading(drawn: Sequence[Bar], axis: Axis, label: int, cost: int, manner: Manner) -> Line:
    """TIMELINE, and the time of day where each run begins, as far as they have room."""
    clock = [" "] * axis.cells
    free = 0
    for bar in drawn:
        at = axis.place(bar.start)
        text = manner.clock(bar.start)
        if bar.picture == "█" and at >= free and at + len(text) <= axis.cells:
            clock[at : at + len(text)] = text
            free = at + len(text) + 2
    title = padded((Span("TIMELINE", "muted"),), label)
    figures = _figures(Span("TOOK", "muted"), Span("COST", "muted"), cost)
    return Line(joined(title, " ", Span("".join(clock), "faint"), figures))
