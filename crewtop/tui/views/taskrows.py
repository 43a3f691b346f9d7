"""The rows of the task list."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crewtop import words
from crewtop.model.detail import TaskRow
from crewtop.model.task import TaskStatus
from crewtop.tui.columns import Cell, Column, Fitted, fit
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import Role, Span, Spans, joined, width
from crewtop.tui.views.cells import STATUS_ROLES, aged, amount, count, step_words

TASK_COLUMNS = (
    Column("ID", 6, right=True, about="The task's number. # or : goes to one."),
    Column("P", 1, 4, about="Priority: 0 is claimed first, 4 last. Waiting raises it."),
    Column("CREW", 10, 1, most=20, about="What runs: the crew's name in crewtop.toml."),
    Column("QUEUE", 9, 7, most=16, about="The queue that workers claim it from."),
    Column("STATUS", 12, about="Where it stands. Stuck: it runs without lease or progress, or over budget."),
    Column("AGE", 5, 2, right=True, about="Time since it was enqueued."),
    Column("TRY", 4, 5, right=True, about="Attempts begun, of how many; without those that something else ended."),
    Column("STEP", 24, 8, most=36, about="The step, of how many; its agent, and the model or tool at work."),
    Column("TOKENS", 7, 6, right=True, about="Tokens of all its LLM calls so far, in and out."),
    Column("COST", 10, 3, right=True, most=11, about="What its LLM calls cost; a lower bound where some are unpriced."),
    Column("REASON", 18, 2, most=160, grow=8, about="Why it stands there: its error, or what it waits for."),
    Column("WORKER", 14, 9, most=24, about="The worker that has it, or had it last."),
    Column("DUE", 10, 9, most=13, about="When it may be claimed: the time, or the day if it is another one."),
    Column("FINISHED", 10, 9, most=13, about="When it ended: the time, or the day if it is another one."),
)  # fmt: skip

USUAL = tuple(range(11))
"""The places of the columns that are shown unless others are chosen."""

STEP, REASON, DUE = 7, 10, 12
"""Their places among the columns. Where there is no room for STEP, REASON speaks for it; from DUE on they are dates."""

_BOTH = "STEP OR REASON"

SORTED_BY = {
    "newest": ("AGE", True),
    "oldest": ("AGE", False),
    "cost": ("COST", False),
    "tokens": ("TOKENS", False),
    "priority": ("P", True),
    "id": ("ID", True),
    "crew": ("CREW", True),
    "queue": ("QUEUE", True),
    "status": ("STATUS", True),
    "age": ("AGE", False),
    "attempts": ("TRY", False),
    "due": ("DUE", True),
    "finished": ("FINISHED", False),
    "worker": ("WORKER", True),
}
"""The column that each order of the list goes by, and whether its values rise from the top."""


def columns_named(names: Sequence[str]) -> tuple[int, ...]:
    """The places of columns by their titles, in whatever case; what is no column is left out. None named: USUAL."""
    places = {column.title.lower(): place for place, column in enumerate(TASK_COLUMNS)}
    return tuple(dict.fromkeys(places[name.lower()] for name in names if name.lower() in places)) or USUAL


def columns_for(cells: int, shown: Sequence[int] = USUAL, by: str = "") -> tuple[Fitted, ...]:
    """Those of the shown columns (places) that fit, under titles that say what is in them.

    The one with the title by is never dropped: the order of the list would be a riddle.
    """
    columns = [TASK_COLUMNS[place] for place in shown]
    kept = [column._replace(importance=0) if column.title == by else column for column in columns]
    fitted = tuple(each._replace(place=shown[each.place]) for each in fit(kept, cells))
    if STEP not in shown or any(each.place == STEP for each in fitted):
        return fitted
    return tuple(
        each._replace(column=each.column._replace(title=_BOTH)) if each.place == REASON else each for each in fitted
    )


def arrow(sort: str, manner: Manner) -> tuple[str, str]:
    """The title of the column that the list is sorted by, and the sign of the way that its values go."""
    title, rises = SORTED_BY[sort.removeprefix("-")]
    return title, manner.glyph("▲" if rises is not sort.startswith("-") else "▼")


def task_cells(task: TaskRow, fitted: Sequence[Fitted], at: datetime, manner: Manner) -> list[Cell]:
    """A task's cells, in the order of TASK_COLUMNS; at is now by the database's clock."""
    ended = task.status.ended
    step = step_words(task.step_position, task.step_count, task.agent, task.activity, manner, ended=ended)
    reason = why(task, at, manner)
    speaks_for_step = any(each.column.title == _BOTH for each in fitted)
    urgent: Role = "watch" if task.priority <= 1 else "text"
    coming = task.status in (TaskStatus.PENDING, TaskStatus.RETRY)
    dated = any(each.place >= DUE for each in fitted)  # two dates a row are half of its cost
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
        step if speaks_for_step and not width(reason) else reason,
        data(task.worker_id or words.NOTHING, "muted" if task.worker_id else "faint"),
        _instant(task.run_at if coming and dated else None, at, manner),
        _instant(task.finished_at if dated else None, at, manner),
    ]


def _instant(then: datetime | None, at: datetime, manner: Manner) -> Span:
    """The time of the same day, or another day. Never how long ago: that would change on an idle screen."""
    if then is None:
        return Span(words.NOTHING, "faint")
    day = manner.stamp(then)[:10]
    return Span(manner.clock(then) if day == manner.stamp(at)[:10] else day, "muted")


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
