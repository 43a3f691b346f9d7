"""The task list: a filter, an order, a cursor and marks that belong to tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from crewtop import words
from crewtop.model import filters
from crewtop.model.filters import SORTS, FilterError, TaskFilter, parse
from crewtop.model.operations import Matching
from crewtop.model.snapshot import TaskPage, TaskRow
from crewtop.tui.actions import View
from crewtop.tui.columns import Fitted, heading, row
from crewtop.tui.edit import LineEdit
from crewtop.tui.effects import Copy, Effect, Open, Say
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import BLANK, Line, Part, Span, Spans, bar, joined, line, spread
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import lead, moved
from crewtop.tui.views.page import Page
from crewtop.tui.views.taskrows import TASK_COLUMNS, columns_for, has_step, task_cells
from crewtop.tui.wants import TaskList, Want

PAGE = 200
"""Rows that are asked for at first, and again whenever the cursor comes near the last one."""

MOST = 5_000
"""Rows that the list holds at most; a filter leads further."""


class Tasks(Page):
    """State of the view: filter, order, rows, cursor, marks."""

    kind = View.TASKS
    columns = TASK_COLUMNS

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner)
        self.page: TaskPage | None = None
        self.request = TaskList(TaskFilter(), "newest", PAGE)
        self.selection: Selection[int] = Selection()
        self._rows: dict[int, TaskRow] = {}
        self._marked: dict[int, TaskRow] = {}
        self._answered: TaskList | None = None

    @property
    def want(self) -> Want:
        """The list as it is filtered and ordered."""
        return self.request

    def answer(self, want: Want, answer: Any) -> None:
        """Show a new page; an answer to an older question is dropped."""
        if not isinstance(want, TaskList) or not self._is_about(want):
            return
        page: TaskPage = answer
        if self._answered is None or not self._is_about(self._answered):
            self.selection.restart()
        self._answered, self.page, self.problem = want, page, ""
        self._rows = {row.id: row for row in page.rows}
        self.selection.update(tuple(self._rows))
        self._marked |= {task_id: self._rows[task_id] for task_id in self._marked if task_id in self._rows}

    def _is_about(self, want: TaskList) -> bool:
        return (want.task_filter, want.sort) == (self.request.task_filter, self.request.sort)

    @property
    def chosen(self) -> tuple[TaskRow, ...]:
        """The marked tasks as last seen, or else the one under the cursor."""
        if self._marked:
            return tuple(self._marked.values())
        current = self.selection.current
        return (self._rows[current],) if current is not None else ()

    @property
    def matching(self) -> Matching | None:
        """All that match the filter and stand as the list shows them; None while the list answers an older filter."""
        return Matching(self.request.task_filter, self.page.at) if self.page is not None and not self.loading else None

    @property
    def loading(self) -> bool:
        """Whether the rows answer an older question."""
        return self._answered is None or not self._is_about(self._answered)

    def do(self, command: str, height: int) -> Effect | None:
        """Obey a command."""
        if moved(self.selection, command, height):
            self._load_more()
            return None
        match command:
            case "filter":
                self.edit = LineEdit(self.typed, len(self.typed))
            case "sort":
                orders = list(SORTS)
                following = orders[(orders.index(self.request.sort) + 1) % len(orders)]
                self.request = TaskList(self.request.task_filter, following, PAGE)
            case "mark":
                self._mark()
            case "back":
                self._drop()
            case _:
                return self._on_current(command)
        return None

    def narrow(self, task_filter: TaskFilter, typed: str | None = None) -> None:
        """Ask for the tasks that match a filter; typed is how the operator wrote it."""
        self.request = TaskList(task_filter, self.request.sort, PAGE)
        self.typed = filters.words(task_filter) if typed is None else typed

    def unmark(self) -> None:
        """Take all marks away."""
        self._marked.clear()

    @property
    def at_rest(self) -> bool:
        """Whether Esc has nothing left to drop here."""
        return not self._marked and not self.typed

    def press(self, key: str) -> Effect | None:
        """A key while the filter is being typed."""
        assert self.edit is not None
        if key == "enter":
            try:
                self.narrow(parse(self.edit.text), self.edit.text.strip())
            except FilterError:
                return None
            self.edit = None
        elif key in ("escape", "ctrl+c"):
            self.edit = None
        else:
            self.edit.type(key)
        return None

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        head = [self._filter_line(width), *([BLANK] if height >= 12 else [])]
        if self.page is None:
            return [*head, line("  ", Span("loading the list", "muted"))]
        room = height - len(head) - 1
        if not self.page.rows:
            return [*head, line("  ", Span(self._nothing(), "muted"))]
        fitted = columns_for(width - 3)
        rows = [self._row_line(self.page.rows[index], fitted) for index in self.selection.window(room)]
        return [*head, heading(fitted, "  "), *rows]

    def _row_line(self, task: TaskRow, fitted: Sequence[Fitted]) -> Line:
        on = self.selection.current == task.id
        mark = self.manner.glyph("◆") if task.id in self._marked else ""
        at = self.page.at if self.page else task.created_at
        cells = task_cells(task, at, self.manner, has_step(fitted))
        return row(fitted, cells, "cursor" if on else "ground", lead(on, self.manner, mark), self.manner.cut)

    def _filter_line(self, width: int) -> Line:
        right = self._counts(width)
        if self.edit is not None:
            return Line(
                spread(joined("  ", Span("/ ", "accent", True), self.edit.spans(), self._complaint()), right, width)
            )
        if self.typed:
            left = joined("  ", Span("/ ", "accent"), Span(safe(self.typed), "text", True))
        else:
            left = joined("  ", Span("/ ", "accent"), Span("all tasks", "muted"))
        return Line(spread(left, right, width, self.manner.cut))

    def _complaint(self) -> Spans:
        assert self.edit is not None
        try:
            parse(self.edit.text)
        except FilterError as error:
            return (Span("  " + safe(str(error)), "wrong"),)
        if not self.edit.text:
            return (Span("  status:failed crew:NAME queue:NAME priority:1 words", "faint"),)
        return ()

    def _counts(self, width: int) -> Spans:
        parts = []
        if self.selection.lost:
            parts.append(Part(1, (Span("the task under the cursor left the list", "watch"),)))
        if self._marked:
            parts.append(Part(0, (Span(f"{words.count(len(self._marked))} marked", "watch"),)))
        if self.page is not None:
            n = len(self.page.rows)
            place = f"{words.count(self.selection.position + 1)} of " if n else ""
            said = f"{place}{words.count(n)}{'+' if self.page.more else ''}"
            parts.append(Part(0, (Span("loading" if self.loading else said, "text"),)))
        parts.append(Part(2, (Span(SORTS[self.request.sort].partition(":")[0], "muted"),)))
        return joined(bar(parts, width - 20), " ")

    def _nothing(self) -> str:
        if self.loading:
            return "loading the list"
        return (
            "No task matches. Esc drops the filter."
            if self.typed
            else "No tasks yet. They appear here when one is enqueued."
        )

    def _load_more(self) -> None:
        near_end = self.selection.position >= len(self._rows) - PAGE // 4
        if self.page is not None and self.page.more and near_end and self.request.limit < MOST:
            self.request = replace(self.request, limit=min(MOST, len(self._rows) + PAGE))

    def _mark(self) -> None:
        current = self.selection.current
        if current is None:
            return
        if self._marked.pop(current, None) is None:
            self._marked[current] = self._rows[current]
        self.selection.move(1)

    def _drop(self) -> None:
        if self._marked:
            self.unmark()
        elif self.typed:
            self.narrow(TaskFilter())

    def _on_current(self, command: str) -> Effect | None:
        current = self.selection.current
        if current is None:
            return Say("no task is under the cursor: choose one")
        match command:
            case "open":
                return Open(current)
            case "log":
                return Open(current, "log")
            case "copy":
                return Copy(str(current))
        return None
