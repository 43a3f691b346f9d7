"""A task's story on one page: the timeline, the LLM calls, and as much of input and output as fits below."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop import words
from crewtop.model.snapshot import CallRow, TaskDetail
from crewtop.model.task import TaskStatus
from crewtop.tui.columns import Cell, Column, fit, heading, row
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import BLANK, Line, Role, Span, joined, line, padded
from crewtop.tui.views import timeline
from crewtop.tui.views.cells import said

CALL_COLUMNS = (
    Column("LLM CALLS", 12, most=30),
    Column("AGENT", 10, 4, most=24, grow=2),
    Column("IN", 7, 2, right=True),
    Column("CACHED", 7, 3, right=True),
    Column("WRITTEN", 7, 8, right=True),
    Column("OUT", 6, 2, right=True),
    Column("REASON", 6, 7, right=True),
    Column("TOOK", 6, 1, right=True),
    Column("COST", 10, right=True),
    Column("OUTCOME", 12),
    Column("ERROR", 10, 5, most=80),
)

_OUTCOMES: dict[str, Role] = {"ok": "moving", "started": "watch", "rate_limited": "watch"}


def lines(detail: TaskDetail, cells: int, manner: Manner) -> list[Line]:
    """Timeline and calls."""
    drawn = timeline.lines(detail, cells, manner)
    if drawn:
        drawn.append(BLANK)
    else:
        drawn += [line("  ", Span("No worker has claimed this task yet.", "muted")), BLANK]
    return [*drawn, *_calls(detail, cells, manner)]


def _calls(detail: TaskDetail, cells: int, manner: Manner) -> list[Line]:
    if not detail.calls:
        return [line("  ", Span("No LLM call yet.", "muted"))] if detail.runs else []
    any_error = any(call.error for call in detail.calls)
    fitted = fit(CALL_COLUMNS if any_error else CALL_COLUMNS[:-1], cells - 3)
    drawn = [heading(fitted, "  ")]
    drawn += [row(fitted, _cells(call, detail, manner), "ground", (Span("  "),), manner.cut) for call in detail.calls]
    if detail.calls_total > len(detail.calls):
        more = f"the first {words.count(len(detail.calls))} of {words.count(detail.calls_total)} calls"
        drawn.append(line("  ", Span(more, "muted")))
    return drawn


def _cells(call: CallRow, detail: TaskDetail, manner: Manner) -> list[Cell]:
    waiting = call.outcome == "started"
    seconds = (detail.at - call.started_at).total_seconds() if waiting else call.seconds
    return [
        data(call.model, "text", True),
        data(call.agent or "-", "muted"),
        _tokens(call.input_tokens, "text", waiting),
        _tokens(call.cache_read_tokens, "muted", waiting),
        _tokens(call.cache_write_tokens, "muted", waiting),
        _tokens(call.output_tokens, "text", waiting),
        _tokens(call.reasoning_tokens, "muted", waiting),
        said(words.duration(seconds), "watch" if waiting else "text"),
        said(manner.money(call.cost), "money"),
        _outcome(call, manner),
        data(call.error or "", "muted"),
    ]


def _tokens(number: int | None, role: Role, waiting: bool) -> Span:
    if number is None:
        return Span(words.NOTHING, "faint") if waiting else Span(words.UNKNOWN, "muted")
    return Span(words.compact(number), role if number else "faint")


def _outcome(call: CallRow, manner: Manner) -> Span:
    if call.outcome == "started":
        return Span(f"{words.glyph('started', ascii=manner.ascii_only)} waiting", "watch")
    return Span(manner.status(call.outcome), _OUTCOMES.get(call.outcome, "wrong"))


def beside(
    left: tuple[str, Sequence[str]], right: tuple[str, Sequence[str]], cells: int, height: int, manner: Manner
) -> list[Line]:
    """Two titled texts side by side; each row is cut, its own page has all of it."""
    half = (cells - 6) // 2
    drawn = [
        Line(joined("  ", padded((Span(left[0], "muted"),), half), "  ", padded((Span(right[0], "muted"),), half)))
    ]
    for i in range(min(height - 1, max(len(left[1]), len(right[1])))):
        texts = [part[1][i] if i < len(part[1]) else "" for part in (left, right)]
        pair = [padded((Span(text),), half, mark=manner.cut) for text in texts]
        drawn.append(Line(joined("  ", pair[0], "  ", pair[1])))
    return drawn


def title(detail: TaskDetail, cells: int, status: Span) -> tuple[Span, ...]:
    """Who the task is and how it stands."""
    task = detail.task
    return joined("  ", Span(str(task.id), "link", True), "  ", data(task.crew, "text", True), "  ", status)


def facts(detail: TaskDetail, manner: Manner) -> str:
    """Priority, queue and attempts in words."""
    task = detail.task
    dot = f" {manner.glyph('·')} "
    attempt = f"{task.attempt} of {task.max_attempts} attempts spent" if detail.runs else "not tried yet"
    if task.status is TaskStatus.RUNNING:
        attempt = f"attempt {task.attempt} of {task.max_attempts}"
    return dot.join((f"P{task.priority}", safe(task.queue), attempt))
