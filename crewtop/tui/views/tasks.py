"""The task list: a filter, an order, a cursor and marks that belong to tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from crewtop import words
from crewtop.model import filters
from crewtop.model.detail import TaskPage, TaskRow
from crewtop.model.filters import SORTS, FilterError, TaskFilter, order_words
from crewtop.model.operations import Matching
from crewtop.tui.actions import View
from crewtop.tui.columns import Fitted, heading, row
from crewtop.tui.effects import Copy, CopyText, Effect, Open, Say
from crewtop.tui.filterline import FilterLine, names_known, strangers
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import BLANK, Line, Part, Span, Spans, bar, clip, joined, line, spread
from crewtop.tui.reading import wrapped
from crewtop.tui.selection import Marks, Selection
from crewtop.tui.views.cells import lead, moved
from crewtop.tui.views.chooser import Arranger, Choice, Chooser
from crewtop.tui.views.page import Page
from crewtop.tui.views.question import Question
from crewtop.tui.views.taskrows import TASK_COLUMNS, USUAL, arrow, columns_for, columns_named, task_cells
from crewtop.tui.wants import TaskList, Want

PAGE = 200
"""Rows that are asked for at first, and again whenever the cursor comes near the last one."""

MOST = 5_000
"""Rows that the list holds at most; a filter leads further."""

HISTORY = 50
"""Filters that can be had back."""


class Tasks(Page):
    """State of the view: filter, order, columns, rows, cursor, marks.

    views are saved filters by name; column_names the columns to begin with, the usual ones if empty.
    """

    kind = View.TASKS
    columns = TASK_COLUMNS
    edit: FilterLine | None

    def __init__(
        self, manner: Manner, column_names: Sequence[str] = (), views: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(manner)
        self.page: TaskPage | None = None
        self.request = TaskList(TaskFilter(), "newest", PAGE)
        self.selection: Selection[int] = Selection()
        self.marks: Marks[int, TaskRow] = Marks()
        self._views = views or {}
        self._shown = columns_named(column_names)
        self._history: list[str] = []
        self._rows: dict[int, TaskRow] = {}
        self._answered: TaskList | None = None
        self._first_line = 0

    # What it asks and is told

    @property
    def want(self) -> Want:
        """The list as it is filtered and ordered."""
        return self.request

    def answer(self, want: Want, answer: Any) -> None:
        """Show a new page; an answer to an older question is dropped."""
        if not isinstance(want, TaskList) or not self._is_about(want):
            return
        page: TaskPage = answer
        self._answered, self.page, self.problem = want, page, ""
        self._rows = {row.id: row for row in page.rows}
        self.selection.update(tuple(self._rows))
        self.marks.update(self._rows)

    def _is_about(self, want: TaskList) -> bool:
        return (want.task_filter, want.sort) == (self.request.task_filter, self.request.sort)

    @property
    def loading(self) -> bool:
        """Whether the rows answer an older question."""
        return self._answered is None or not self._is_about(self._answered)

    @property
    def chosen(self) -> tuple[TaskRow, ...]:
        """The marked tasks as last seen, or else the one under the cursor."""
        if self.marks.things:
            return tuple(self.marks.things.values())
        current = self.selection.current
        return (self._rows[current],) if current is not None else ()

    @property
    def matching(self) -> Matching | None:
        """All that match the filter and stand as the list shows them; None while the list answers an older filter."""
        return Matching(self.request.task_filter, self.page.at) if self.page is not None and not self.loading else None

    def narrow(self, task_filter: TaskFilter, typed: str | None = None) -> None:
        """Ask for the tasks that match a filter; typed is how the operator wrote it."""
        self._ask(task_filter, self.request.sort)
        self.typed = filters.words(task_filter) if typed is None else typed

    def _ask(self, task_filter: TaskFilter, sort: str) -> None:
        """Ask for another list. The cursor leaves the old one at once: no key may hit what is about to go."""
        self.request = TaskList(task_filter, sort, PAGE)
        if self.loading:
            self.selection.restart()

    def _load_more(self) -> None:
        near_end = self.selection.position >= len(self._rows) - PAGE // 4
        if self.page is not None and self.page.more and near_end and self.request.limit < MOST:
            self.request = replace(self.request, limit=min(MOST, len(self._rows) + PAGE))

    # Keys

    def do(self, command: str, height: int) -> Effect | Question | None:
        """Obey a command."""
        if not self.loading and moved(self.selection, command, height):
            self._load_more()
            return None
        match command:
            case "filter":
                names = names_known(self.snapshot, self._rows.values(), self._views)
                begin = f"{self.typed} " if self.typed else ""  # one mostly adds a word
                self.edit = FilterLine(begin, names, self._views, self._history)
            case "back":
                self._drop()
            case "sort":
                return self._choose_order()
            case "reverse":
                sort = self.request.sort
                self._sort(sort.removeprefix("-") if sort.startswith("-") else f"-{sort}")
            case "columns":
                return self._arrange()
            case "mark_all" | "invert":
                return self._mark_many(command)
            case _:
                return self._on_current(command)
        return None

    def _choose_order(self) -> Question:
        sort = self.request.sort
        now = sort.removeprefix("-")
        orders = [Choice(name, order_words(sort if name == now else name)) for name in SORTS]
        return Chooser("Order of the list", "sort", orders, now, self._sort)

    def _sort(self, sort: str) -> None:
        self._ask(self.request.task_filter, sort)

    def _arrange(self) -> Question:
        def arranged(names: Sequence[str]) -> None:
            self._shown = columns_named(names)

        return Arranger(
            "Columns of the list",
            [Choice(column.title, column.about) for column in TASK_COLUMNS],
            [TASK_COLUMNS[place].title for place in self._shown],
            [TASK_COLUMNS[place].title for place in USUAL],
            arranged,
        )

    def _mark_many(self, command: str) -> Effect | None:
        if self.loading or self.page is None:
            return Say("the list is loading: mark when it is here")
        if command == "invert":
            self.marks.invert()
        else:
            self.marks.all()
        if self.page.more:
            marked = words.count(len(self.marks.things))
            everything = f"{self.manner.key('everything')} is for all that match"
            return Say(f"{marked} marked of those that are loaded: there are more, {everything}")
        return None

    def unmark(self, tasks: Iterable[int]) -> None:
        """Take the marks of these tasks away."""
        self.marks.drop(tasks)

    @property
    def at_rest(self) -> bool:
        """Whether Esc has nothing left to drop here."""
        return not self.marks.things and not self.typed

    def _drop(self) -> None:
        if self.marks.things:
            self.marks.clear()
        elif self.typed:
            self.narrow(TaskFilter())

    def _on_current(self, command: str) -> Effect | None:
        if command == "copy" and self.marks.things:
            ids = self.marks.things
            return CopyText("\n".join(map(str, ids)), "1 id" if len(ids) == 1 else f"{words.count(len(ids))} ids")
        current = self.selection.current
        if current is None:
            return Say("no task is under the cursor: choose one")
        match command:
            case "mark":
                self.marks.toggle(current)
                self.selection.move(1)
            case "open":
                return Open(current)
            case "log":
                return Open(current, "log")
            case "copy":
                return Copy(str(current))
        return None

    def click(self, y: int) -> Effect | Question | None:
        """The cursor goes to the row on line y; a click on the cursor's own row opens it."""
        if self.loading:
            return None
        if self.selection.click(y - self._first_line):
            return self._on_current("open")
        self._load_more()
        return None

    # Typing a filter

    def press(self, key: str) -> Effect | None:
        """A key while the filter is being typed."""
        assert self.edit is not None
        if key == "enter":
            self._apply(self.edit.text.strip())
        elif key in ("escape", "ctrl+c"):
            self.edit = None
        else:
            self.edit.type(key)
        return None

    def _apply(self, text: str) -> None:
        assert self.edit is not None
        try:
            self.narrow(self.edit.parsed(), text)
        except FilterError:
            self.edit.refuse()
            return
        self.edit = None
        if text:
            self._history[:] = [*(known for known in self._history if known != text), text][-HISTORY:]

    # The picture

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        drawn = [self._filter_line(width), *([BLANK] if height >= 12 else [])]
        if self.page is None or not self.page.rows:
            drawn += [line("  ", Span(text, "muted")) for text in wrapped(self._nothing(), width - 4)]
        else:
            by, sign = arrow(self.request.sort, self.manner)
            fitted = columns_for(width - 3, self._shown, by)
            drawn.append(heading(fitted, "  ", by, sign))
            self._first_line = len(drawn)
            window = self.selection.window(height - len(drawn))
            drawn += [self._row_line(self.page.rows[index], fitted, self.page) for index in window]
        below = self.edit.below(width, self.manner)[: max(0, height - 1)] if self.edit is not None else []
        return [drawn[0], *below, *drawn[1 + len(below) :]]

    def _row_line(self, task: TaskRow, fitted: Sequence[Fitted], page: TaskPage) -> Line:
        on = self.selection.current == task.id
        mark = self.manner.glyph("◆") if task.id in self.marks.things else ""
        cells = task_cells(task, fitted, page.at, self.manner)
        drawn = row(fitted, cells, "cursor" if on else "ground", lead(on, self.manner, mark), self.manner.cut)
        return drawn._replace(dim=True) if self.loading else drawn

    def _filter_line(self, width: int) -> Line:
        right = self._counts(width)
        if self.edit is not None:
            left = joined("  ", Span("/ ", "accent", True), self.edit.spans(), self.edit.hint(self.manner))
        elif self.typed:
            left = joined("  ", Span("/ ", "accent"), Span(safe(self.typed), "text", True))
        else:
            left = joined("  ", Span("/ ", "accent"), Span("all tasks", "muted"))
        return Line(spread(left, right, width, self.manner.cut))

    def _counts(self, width: int) -> Spans:
        parts = []
        if self.problem and self.page is not None:
            parts.append(Part(0, (Span(clip(self.problem, width // 2, self.manner.cut), "watch"),)))
        if self.selection.lost:
            parts.append(Part(1, (Span("the task under the cursor left the list", "watch"),)))
        if marked := len(self.marks.things):
            away = f", {words.count(self.marks.away)} not in sight" if self.marks.away else ""
            parts.append(Part(0, (Span(f"{words.count(marked)} marked{away}", "watch"),)))
        if self.page is not None:
            n = len(self.page.rows)
            place = f"{words.count(self.selection.position + 1)} of " if n else ""
            said = f"{place}{words.count(n)}{'+' if self.page.more else ''}"
            parts.append(Part(0, (Span("loading" if self.loading else said, "text"),)))
        parts.append(Part(2, (Span(order_words(self.request.sort).partition(":")[0], "muted"),)))
        return joined(bar(parts, width - 20), " ")

    def _nothing(self) -> str:
        if self.loading:
            return self.problem or "loading the list"
        if self.typed:
            keys = f"{self.manner.key('filter')} changes the filter, {self.manner.key('back')} drops it."
            names = names_known(self.snapshot, (), ())
            return " ".join(["No task matches.", keys, *strangers(self.request.task_filter, names)])
        return "No tasks yet. They appear here when one is enqueued."
