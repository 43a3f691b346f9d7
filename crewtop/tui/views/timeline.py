"""A task's life as bars: waiting, runs, and the steps inside them, on one axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, pairwise

from crewtop import words
from crewtop.model.money import total
from crewtop.model.snapshot import RunRow, StepRow, TaskDetail
from crewtop.model.task import TaskStatus
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Line, Role, Span, Spans, joined, padded
from crewtop.tui.views.cells import said

IDLE_CELLS = 7
"""Cells that a wait takes at most: hours in a queue must not squeeze the seconds of a run."""

_RUN_ROLES: dict[str, Role] = {"running": "moving", "completed": "moving", "interrupted": "watch", "returned": "watch"}
_RUN_ROLES |= {"throttled": "watch", "cancelled": "muted", "superseded": "muted"}
_STEP_ROLES: dict[str, Role] = {"completed": "link", "running": "moving"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of the timeline. picture is '░' for waiting, '█' for a run, '▅' for a step."""

    label: str
    start: datetime
    end: datetime
    picture: str
    role: Role
    glyph: str = ""
    took: str = ""
    cost: str = ""
    open_end: bool = False


def bars(detail: TaskDetail, manner: Manner) -> list[Bar]:
    """The rows of a task's timeline, oldest first."""
    found: list[Bar] = []
    free = detail.task.created_at
    for number, run in enumerate(sorted(detail.runs, key=lambda run: run.claimed_at), start=1):
        found += _wait(free, run.claimed_at, "waiting" if number == 1 else "waiting again")
        end = _run_end(run, detail)
        found.append(_run_bar(number, run, end, detail, manner))
        for step in detail.steps:
            if step.run_id == run.id:
                kept = step.resumed_from is not None
                found.append(_kept_bar(step, run, manner) if kept else _step_bar(step, run, end, detail, manner))
        free = end
    if detail.task.status in (TaskStatus.WAITING, TaskStatus.PENDING, TaskStatus.RETRY):
        label = {TaskStatus.RETRY: "backing off", TaskStatus.WAITING: "for others"}.get(detail.task.status, "waiting")
        found += _wait(free, detail.at, label)
    return found


def _wait(start: datetime, end: datetime, label: str) -> list[Bar]:
    seconds = (end - start).total_seconds()
    return [Bar(label, start, end, "░", "muted", took=words.duration(seconds))] if seconds >= 0.5 else []


def _run_end(run: RunRow, detail: TaskDetail) -> datetime:
    return run.finished_at or detail.at


def _run_bar(number: int, run: RunRow, end: datetime, detail: TaskDetail, manner: Manner) -> Bar:
    spent = total(call.cost for call in detail.calls if call.run_id == run.id)
    late = " late result" if run.late else ""
    return Bar(
        f"run {number}  {safe(run.worker_id)}{late}",
        run.claimed_at,
        end,
        "█",
        _RUN_ROLES.get(run.outcome, "wrong"),
        words.glyph(run.outcome, ascii=manner.ascii_only),
        words.duration((end - run.claimed_at).total_seconds()),
        manner.money(spent),
        run.finished_at is None,
    )


def _kept_bar(step: StepRow, run: RunRow, manner: Manner) -> Bar:
    """A step that an earlier run completed and that this one went on after: it takes no time here."""
    tick = words.glyph("completed", ascii=manner.ascii_only)
    at = run.claimed_at
    return Bar(f"  {safe(step.agent or step.name)}", at, at, tick, "muted", tick, "kept")


def _step_bar(step: StepRow, run: RunRow, run_end: datetime, detail: TaskDetail, manner: Manner) -> Bar:
    seconds = step.seconds
    end = run_end if seconds is None else min(run_end, step.started_at + timedelta(seconds=seconds))
    spent = total(c.cost for c in detail.calls if c.run_id == run.id and c.step_position == step.position)
    return Bar(
        f"  {safe(step.agent or step.name)}",
        step.started_at,
        max(end, step.started_at),
        "▅",
        "watch" if detail.task.stuck and seconds is None else _STEP_ROLES.get(step.status, "wrong"),
        words.glyph(step.status, ascii=manner.ascii_only),
        words.duration((end - step.started_at).total_seconds()),
        manner.money(spent),
        seconds is None and run.finished_at is None,
    )


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


def lines(detail: TaskDetail, cells: int, manner: Manner) -> list[Line]:
    """The timeline with its heading."""
    rows = bars(detail, manner)
    if not rows:
        return []
    label = min(30, max(16, cells // 4))
    axis = Axis(rows, cells - label - TOOK - COST - 7)
    return [_heading(rows, axis, label, manner), *(_line(bar, axis, label, manner) for bar in rows)]


TOOK, COST = 7, 11
"""Cells of the two columns of figures."""


def _line(bar: Bar, axis: Axis, label: int, manner: Manner) -> Line:
    start = axis.place(bar.start)
    picture = manner.glyph(bar.picture) * max(1, axis.place(bar.end) - start)
    if bar.open_end:
        picture = picture[:-1] + manner.glyph("▶")
    shaft = padded((Span(" " * min(start, axis.cells - 1)), Span(picture, bar.role)), axis.cells, mark="")
    name = Span(bar.label, "text" if bar.picture == "█" else "muted")
    head = padded((Span(f"{bar.glyph or ' '} ", bar.role), name), label, mark=manner.cut)
    return Line(joined("  ", head, " ", shaft, _figures(said(bar.took, "muted"), said(bar.cost, "money"))))


def _figures(took: Span, cost: Span) -> Spans:
    return joined(" ", padded((took,), TOOK, right=True), "  ", padded((cost,), COST, right=True))


def _heading(rows: Sequence[Bar], axis: Axis, label: int, manner: Manner) -> Line:
    """TIMELINE, and the time of day where each run begins, as far as they have room."""
    clock = [" "] * axis.cells
    free = 0
    for bar in rows:
        at = axis.place(bar.start)
        text = manner.clock(bar.start)
        if bar.picture == "█" and at >= free and at + len(text) <= axis.cells:
            clock[at : at + len(text)] = text
            free = at + len(text) + 2
    title = padded((Span("TIMELINE", "muted"),), label)
    figures = _figures(Span("TOOK", "muted"), Span("COST", "muted"))
    return Line(joined("  ", title, " ", Span("".join(clock), "faint"), figures))
