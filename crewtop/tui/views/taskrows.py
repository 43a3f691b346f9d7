"""The rows of the task list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crewtop import words
from crewtop.model.snapshot import TaskRow
from crewtop.model.task import TaskStatus
from crewtop.tui.columns import Cell, Column, Fitted, fit
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import Role, Span, Spans, joined, width
from crewtop.tui.views.cells import STATUS_ROLES, aged, amount, count, step_words

TASK_COLUMNS = (
    Column("ID", 6, right=True),
    Column("P", 1, 4),
    Column("CREW", 10, 1, most=20),
    Column("QUEUE", 9, 7, most=16),
    Column("STATUS", 12),
    Column("AGE", 5, 2, right=True),
    Column("TRY", 4, 5, right=True),
    Column("STEP", 24, 8, most=36),
    Column("TOKENS", 7, 6, right=True),
    Column("COST", 10, 3, right=True, most=11),
    Column("REASON", 18, 2, most=160, grow=8),
)

STEP, REASON = 7, 10
"""Their places among the columns. Where there is no room for STEP, REASON speaks for it."""


def columns_for(cells: int) -> tuple[Fitted, ...]:
    """The columns that fit, under titles that say what is in them."""
    fitted = fit(TASK_COLUMNS, cells)
    if has_step(fitted):
        return fitted
    return tuple(
        each._replace(column=each.column._replace(title="STEP OR REASON")) if each.place == REASON else each
        for each in fitted
    )


def has_step(fitted: Sequence[Fitted]) -> bool:
    """Whether STEP has a column of its own."""
    return any(each.place == STEP for each in fitted)


def task_cells(task: TaskRow, at: datetime, manner: Manner, with_step: bool) -> list[Cell]:
    """A task's cells, in the order of TASK_COLUMNS; at is now by the database's clock."""
    step = step_words(task.step_position, task.step_count, task.agent, task.activity, manner)
    reason = why(task, at, manner)
    urgent: Role = "watch" if task.priority <= 1 else "text"
    return [
        Span(str(task.id), "link"),
        Span(str(task.priority), urgent),
        data(task.crew),
        data(task.queue, "muted"),
        status_span(task, manner),
        aged(task.age, "muted"),
        Span(f"{task.attempt}/{task.max_attempts}", "muted" if task.attempt else "faint"),
        step,
        count(task.tokens),
        amount(task.cost, manner),
        reason if with_step or width(reason) else step,
    ]


def status_span(task: TaskRow, manner: Manner) -> Span:
    """The status as a glyph and a word; stuck and cancelling say so."""
    if task.cancelling and not task.status.ended:
        return Span(manner.status("cancelling"), "watch")
    if task.stuck is not None:
        return Span(manner.status("stuck"), "watch")
    return Span(manner.status(task.status), STATUS_ROLES[task.status])


def why(task: TaskRow, at: datetime, manner: Manner) -> Spans:
    """Why a task stands where it does, as far as anything is to be said."""
    if task.stuck is not None:
        return (data(task.stuck, "watch"),)
    due = (task.run_at - at).total_seconds()
    if task.status is TaskStatus.RETRY:
        when = f"again in {words.duration(due)}" if due > 0 else "again now"
        return joined(Span(when, "watch"), data(f": {task.error}" if task.error else "", "muted"))
    if task.status is TaskStatus.PENDING and due > 0:
        return (Span(f"due in {words.duration(due)}", "muted"),)
    if task.status is TaskStatus.WAITING:
        return (Span("waits for other tasks", "muted"),)
    if task.status in (TaskStatus.FAILED, TaskStatus.CANCELLED):
        return (data(task.error or "", "text" if task.status is TaskStatus.FAILED else "muted"),)
    return ()
