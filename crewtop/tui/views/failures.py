"""What goes wrong, by what goes wrong: one line for each kind of failure, and all that is known of one of them."""

from __future__ import annotations

from typing import Any

from crewtop import words
from crewtop.model.failures import FailureGroup, Failures
from crewtop.model.filters import parse
from crewtop.model.operations import ON_TASKS, Action, Matching, Order
from crewtop.tui.actions import View
from crewtop.tui.charts import area
from crewtop.tui.columns import Cell, Column, fit, heading, row
from crewtop.tui.effects import ActOnAll, Copy, Effect, Go, Price, Say
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import BLANK, Line, Part, Span, Spans, bar, clip_spans, joined, line, spread
from crewtop.tui.reading import readable, wrapped
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import aged, amount, count, lead, moved
from crewtop.tui.views.page import Page
from crewtop.tui.views.question import Question, about_argument
from crewtop.tui.wants import FailureList, Want

WINDOWS = {1: "hour", 24: "24 h", 168: "7 days"}
"""The windows that w goes through: hours and words."""

TREND_CELLS = 12

COLUMNS = (
    Column("FAILED", 6, right=True, about="Tasks that have failed for good with this error"),
    Column("RETRYING", 8, 4, right=True, about="Tasks that back off after this error, and run again by themselves"),
    Column("TREND", TREND_CELLS, 3, about="How many failed over the window, the newest at the right"),
    Column("LAST", 6, 1, right=True, about="How long ago the newest of them failed"),
    Column("FIRST", 6, 5, right=True, about="How long ago the oldest of them failed"),
    Column("CREWS", 14, 6, most=22, about="The crews that it happened to"),
    Column("QUEUES", 14, 8, most=22, about="The queues that they came from"),
    Column("COST", 10, 7, right=True, most=11, about="What all attempts at them have cost so far"),
    Column("ERROR", 26, most=500, grow=6, about="The newest of these errors, the cause first"),
)


class FailureGroups(Page):
    """State of the view: the window, the groups, the cursor.

    A cursor whose group fails no more stands on nothing, so that no key hits another group, unless that is no surprise:
    when the operator has just come, or has acted on that group.
    """

    kind = View.FAILURES
    columns = COLUMNS

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner)
        self.failures: Failures | None = None
        self.selection: Selection[str] = Selection()
        self._hours = 24
        self._answered: Want | None = None
        self._groups: dict[str, FailureGroup] = {}
        self._first_row = 0
        self._come = False
        self._acted_on: str | None = None

    def come(self, anew: bool) -> None:
        """The cursor begins at the first line if its group is gone meanwhile."""
        self._come = True
        self._settle()

    def confirmed(self, effect: Effect) -> None:
        """The group that was asked about may be empty soon."""
        if isinstance(effect, ActOnAll):
            self._acted_on = self.selection.cursor

    @property
    def want(self) -> Want:
        """The groups, with their trends over the window."""
        return FailureList(self._hours)

    @property
    def loading(self) -> bool:
        """Whether what is shown is of another window, or nothing is."""
        return self._answered != self.want

    def answer(self, want: Want, answer: Any) -> None:
        """Show the groups; those of a window that was left are dropped."""
        if want != self.want:
            return
        self.failures, self._answered, self.problem = answer, want, ""
        self._groups = {group.key: group for group in answer.groups}
        self.selection.update(tuple(self._groups))
        self._settle()
        self._come = False

    def _settle(self) -> None:
        """Let a cursor whose group is gone go on where that is no surprise."""
        if self.selection.cursor is None or self._current is not None:
            return
        if self._come or not self._groups:
            self.selection.restart()
            self.selection.update(tuple(self._groups))
        elif self._acted_on == self.selection.cursor:
            self.selection.place(self.selection.position)

    @property
    def _current(self) -> FailureGroup | None:
        return self._groups.get(self.selection.current or "")

    def do(self, command: str, height: int) -> Effect | None:
        """Obey a command."""
        self._come = False
        if moved(self.selection, command, height):
            self._acted_on = None
            return None
        if command == "window":
            windows = list(WINDOWS)
            self._hours = windows[(windows.index(self._hours) + 1) % len(windows)]
            return None
        group = self._current
        if group is None:
            return Say("no failure is under the cursor: choose one") if command in ("open", "copy") else None
        match command:
            case "open":
                return Go(View.TASKS, parse(f"failure:{group.key}"))
            case "copy":
                return Copy(readable(group.sample, "text"))
        return None

    def click(self, y: int) -> Effect | None:
        """The cursor goes to the group; on its own line it opens."""
        return self.do("open", 1) if self.selection.click(y - self._first_row) else None

    def own(self, command: str) -> Effect | Question | None:
        """Actions are for all tasks of the group; a retry is for those that do not run again by themselves."""
        if command not in ON_TASKS:
            return None
        self._come = False
        group, failures, action = self._current, self.failures, Action(command)
        if group is None or failures is None:
            return Say("no failure is under the cursor: choose one")
        typed = f"failure:{group.key}" + (" status:failed" if action is Action.RETRY else "")
        matching = Matching(parse(typed), failures.at)

        def ask(order: Order) -> Effect:
            return Price(order, matching, typed)

        return about_argument(action, ask) if action in (Action.MOVE, Action.PRIORITY) else ask(Order(action))

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        airy = [BLANK] if height >= 12 else []
        head = [self._head(width), *airy]
        if self.failures is None:
            return [*head, line("  ", Span(self.problem or "asking what failed", "muted"))]
        if not self._groups:
            said = f"Nothing has failed in the last {WINDOWS[self._hours]}."
            return [*head, line("  ", Span("asking what failed" if self.loading else said, "muted"))]
        fitted = fit(COLUMNS, width - 3)
        head.append(heading(fitted, "  "))
        self._first_row = len(head)
        below = self._below(width)
        room = height - len(head)
        least = min(len(self._groups), max(3, room // 2))
        below = below[: max(0, room - least)] if height >= 12 else []
        rows = []
        for index in self.selection.window(room - len(below)):
            group = self.failures.groups[index]
            on = group is self._current
            cells = self._cells(group)
            rows.append(row(fitted, cells, "cursor" if on else "ground", lead(on, self.manner), self.manner.cut))
        return [*head, *rows, *below]

    def _head(self, width: int) -> Line:
        left = joined("  ", Span(f"trends over the last {WINDOWS[self._hours]}"))
        parts = []
        if self.problem and self.failures is not None:
            parts.append(Part(0, (Span(self.problem, "watch"),)))
        if self.selection.lost:
            parts.append(Part(1, (Span("what was under the cursor fails no more", "watch"),)))
        if self.failures is not None:
            parts.append(Part(0, (Span("loading" if self.loading else _groups(self.failures)),)))
            if self.failures.more:
                looked = f"of the newest {words.count(self.failures.looked_at)} tasks: older ones are left out"
                parts.append(Part(2, (Span(looked, "watch"),)))
        return Line(spread(left, joined(bar(parts, width - 28), " "), width, self.manner.cut))

    def _cells(self, group: FailureGroup) -> list[Cell]:
        assert self.failures is not None
        at = self.failures.at
        return [
            count(group.failed, "wrong"),
            count(group.retrying, "watch"),
            Span(self._trend(group), "muted"),
            aged((at - group.last_at).total_seconds()),
            aged((at - group.first_at).total_seconds(), "muted"),
            data(", ".join(group.crews)),
            data(", ".join(group.queues), "muted"),
            amount(group.cost, self.manner),
            data(group.sample),
        ]

    def _trend(self, group: FailureGroup) -> str:
        """A line of TREND_CELLS: where a cell shows one value, it is the sum of two buckets."""
        values = group.trend
        if self.manner.ascii_only:
            values = tuple(map(sum, zip(values[::2], values[1::2], strict=False)))
        return area(values, TREND_CELLS, 1, self.manner.ascii_only)[0]

    def _below(self, width: int) -> list[Line]:
        """All that is known of the group under the cursor."""
        group = self._current
        if group is None:
            return []
        cells = width - 4
        cut = self.manner.cut
        facts = [
            joined(Span("failed       ", "muted"), _numbers(group, self.manner)),
            joined(Span("since        ", "muted"), _since(group, self.manner)),
            joined(Span("crews        ", "muted"), data(", ".join(group.crews))),
            joined(Span("queues       ", "muted"), data(", ".join(group.queues))),
            joined(
                Span("cost so far  ", "muted"),
                Span(words.money(group.cost, long=True, ascii=self.manner.ascii_only), "money"),
            ),
            joined(Span("newest task  ", "muted"), Span(str(group.sample_task), "link")),
        ]
        error = [line("  ", Span(text, "wrong")) for text in wrapped(safe(group.sample), cells)]
        return [
            BLANK,
            line("  ", Span(f"FAILURE {group.key}", "muted")),
            *error,
            *(Line(clip_spans(joined("  ", fact), width - 1, cut)) for fact in facts),
            self._keys(width),
        ]

    def _keys(self, width: int) -> Line:
        commands = (
            ("open", "lists them"),
            ("retry", "retries the failed ones"),
            ("cancel", "cancels those that back off"),
            ("copy", "copies the error"),
        )
        parts = [
            Part(place, joined(Span(self.manner.key(command), "accent", True), Span(f" {does}", "muted")))
            for place, (command, does) in enumerate(commands)
        ]
        return line("  ", bar(parts, width - 4))


def _groups(failures: Failures) -> str:
    n = len(failures.groups)
    return f"{words.count(n)} {'kind' if n == 1 else 'kinds'} of failure" if n else "none"


def _since(group: FailureGroup, manner: Manner) -> str:
    same = group.first_at == group.last_at
    return manner.stamp(group.first_at) + ("" if same else f", last {manner.stamp(group.last_at)}")


def _numbers(group: FailureGroup, manner: Manner) -> Spans:
    retrying = Span(f", {words.count(group.retrying)} back off and run again" if group.retrying else "", "watch")
    return joined(Span(words.count(group.failed), "wrong" if group.failed else "faint"), retrying)
