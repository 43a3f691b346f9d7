"""What stands above every part of a task's story: who it is, how it stands and why, what it is tied to, the parts."""

from __future__ import annotations

from crewtop import words
from crewtop.model.detail import TaskDetail
from crewtop.model.task import TaskStatus
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import BLANK, Line, Span, Spans, clip_spans, joined, spread, width
from crewtop.tui.views.taskrows import status_span, why

PANES = {"story": "s", "inputs": "i", "result": "o", "error": "e", "log": "l", "history": "h", "related": "r"}
"""The parts, with the keys that the registry gives them."""

AIRY_LINES = 12
"""A view of so many lines has room for empty ones."""


def lines(detail: TaskDetail, pane: str, note: str, cells: int, height: int, manner: Manner, gone: bool) -> list[Line]:
    """The head in so many cells, in a view of height lines. note is how things stand with the open part."""
    airy = [BLANK] if height >= AIRY_LINES else []
    ties = _muted(safe("   ".join(words.ties(detail.ties))), cells, manner)
    return [
        _title(detail, cells, manner, gone),
        *_reason(detail, cells, manner),
        *ties,
        *airy,
        *_tabs(pane, note, cells, manner),
        *airy,
    ]


def _title(detail: TaskDetail, cells: int, manner: Manner, gone: bool) -> Line:
    task = detail.task
    left = joined("  ", Span(str(task.id), "link", True), "  ", data(task.crew, "text", True), "  ")
    left = joined(left, status_span(task, manner), Span("   deleted since", "watch") if gone else Span(""))
    return Line(spread(left, (Span(_facts(detail, manner) + " ", "muted"),), cells, manner.cut))


def _facts(detail: TaskDetail, manner: Manner) -> str:
    """Priority, queue and attempts in words."""
    task = detail.task
    attempt = f"{task.attempt} of {task.max_attempts} attempts spent" if detail.runs else "not tried yet"
    if task.status is TaskStatus.RUNNING:
        attempt = f"attempt {task.attempt} of {task.max_attempts}"
    return f" {manner.glyph('·')} ".join((f"P{task.priority}", safe(task.queue), attempt))


def _reason(detail: TaskDetail, cells: int, manner: Manner) -> list[Line]:
    reason = why(detail.task, detail.at, manner)
    if detail.waits_because is not None:
        reason = joined(reason, "  " if width(reason) else "", data(detail.waits_because, "watch"))
    return [Line(clip_spans(joined("  ", reason), cells, manner.cut))] if width(reason) else []


def _muted(text: str, cells: int, manner: Manner) -> list[Line]:
    return [Line(clip_spans(joined("  ", Span(text, "muted")), cells, manner.cut))] if text else []


def _tabs(pane: str, note: str, cells: int, manner: Manner) -> list[Line]:
    """The parts, and the note beside them or below."""
    wide, narrow = _names(pane, True), _names(pane, False)
    names = wide if width(wide) <= cells else narrow
    beside = (Span(note, "muted"), Span(" "))
    if not note or width(names) + width(beside) + 2 <= cells:
        return [Line(spread(names, beside if note else (), cells, manner.cut))]
    return [Line(clip_spans(names, cells, manner.cut)), *_muted(note, cells, manner)]


def _names(pane: str, all_of_them: bool) -> Spans:
    spans: list[Span] = []
    for name, key in PANES.items():
        on = name == pane
        spans += [Span("  "), Span(key, "accent", on)]
        if on or all_of_them:
            spans.append(Span(f" {name.capitalize()}", "text" if on else "muted", on))
    return tuple(spans)
