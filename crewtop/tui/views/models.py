"""What LLM calls cost: by model, crew, queue, hour and day; and what today will come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crewtop import words
from crewtop.model.filters import TaskFilter
from crewtop.model.spending import ModelUsage, Spending, Spent, SpentIn
from crewtop.tui.actions import View
from crewtop.tui.columns import fit, heading, row
from crewtop.tui.effects import Copy, Effect, Go, Say
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import BLANK, Line, Part, Span, Spans, bar, clip_spans, joined, line
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import NO_TASK_HERE, lead, moved
from crewtop.tui.views.charts import DOLLARS
from crewtop.tui.views.modelrows import (
    CREW_COLUMNS,
    MODEL_COLUMNS,
    QUEUE_COLUMNS,
    model_cells,
    per_thousand,
    spent_cells,
)
from crewtop.tui.views.page import Page
from crewtop.tui.views.plot import LEAST_LINES, Chart, Series, beside, draw, mean
from crewtop.tui.views.question import Question
from crewtop.tui.wants import Spend, Want

WINDOWS = {1: "1 h", 24: "24 h", 168: "7 d"}
"""Hours that are summed up, and how they are called."""

SPLITS = ("models", "crews", "queues", "time")

ALL_CELLS, ALL_LINES = 100, 28
"""From this size on all splits are shown at once."""

NAMED = 3
"""Unpriced models that are named before the rest is counted."""


class Models(Page):
    """State of the view: the window, the answer to it, which split is looked at, and a cursor in each table."""

    kind = View.MODELS
    columns = (*MODEL_COLUMNS, *CREW_COLUMNS)

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner)
        self.hours = 24
        self.split = "models"
        self.selections: dict[str, Selection[str]] = {split: Selection() for split in SPLITS}
        self.spent: Spending | None = None
        self._lines_of: dict[int, tuple[str, str]] = {}

    @property
    def want(self) -> Want:
        """What was spent in the window."""
        return Spend(self.hours)

    @property
    def loading(self) -> bool:
        """Whether nothing of this window is shown yet."""
        return self.spent is None

    def answer(self, want: Want, answer: Any) -> None:
        """Show new sums; those of another window are dropped."""
        if want != self.want:
            return
        self.spent, self.problem = answer, ""
        for split in SPLITS:
            self.selections[split].update([_key(each) for each in self._rows(split)])

    def _rows(self, split: str) -> Sequence[ModelUsage | Spent]:
        if self.spent is None or split == "time":
            return ()
        if split == "models":
            return self.spent.models
        return self.spent.crews if split == "crews" else self.spent.queues

    def do(self, command: str, height: int) -> Effect | Question | None:
        """Obey a command."""
        if command in ("other_list", "other_list_back"):
            step = 1 if command == "other_list" else -1
            self.split = SPLITS[(SPLITS.index(self.split) + step) % len(SPLITS)]
        elif command == "window":
            hours = list(WINDOWS)
            self.hours, self.spent = hours[(hours.index(self.hours) + 1) % len(hours)], None
        elif command == "act_on_tasks":
            return NO_TASK_HERE
        elif not moved(self.selections[self.split], command, height) and command in ("open", "copy"):
            return self._on_row(command)
        return None

    def _on_row(self, command: str) -> Effect:
        name = self.selections[self.split].current
        if name is None:
            return Say("no row is under the cursor: tab leads to the other tables")
        if command == "copy":
            return Copy(safe(name))
        match self.split:
            case "crews":
                return Go(View.TASKS, TaskFilter(crews=(name,)))
            case "queues":
                return Go(View.TASKS, TaskFilter(queues=(name,)))
        return Say("a model has no list of its own: Enter opens the tasks of a crew or a queue")

    def click(self, y: int) -> Effect | Question | None:
        """The cursor goes to the row; on the cursor's own row it opens."""
        split, name = self._lines_of.get(y, ("", ""))
        if not split:
            return None
        selection = self.selections[split]
        again = split == self.split and selection.current == name
        self.split = split
        selection.place(list(selection.keys).index(name))
        return self._on_row("open") if again else None

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        self._lines_of = {}
        if self.spent is None:
            said = self.problem or f"adding up the last {WINDOWS[self.hours]}"
            return [BLANK, line("  ", Span(said, "watch" if self.problem else "muted"))]
        air = [BLANK] if height >= 12 else []
        top = [*air, *self._summary(self.spent, width, height), *air]
        if not self.spent.total.calls and not self.spent.days:
            return top
        room = height - len(top)
        if width >= ALL_CELLS and height >= ALL_LINES:
            return [*top, *self._everything(self.spent, width, room, len(top))]
        tabs = Line(clip_spans(self._tabs(), width - 1, self.manner.cut))
        return [*top, tabs, *self._split(self.split, width, room - 1, len(top) + 1)]

    def _summary(self, spent: Spending, width: int, height: int) -> list[Line]:
        window = f"last {WINDOWS[self.hours]}"
        if not spent.total.calls:
            said = Span(f"  No LLM call in the {window}. w changes the time that is summed up.", "muted")
            return [Line(clip_spans((said,), width - 1, self.manner.cut))]
        rows = [_window_parts(spent, window, self.manner), _today_parts(spent, self.manner)]
        unpriced = _unpriced(spent)
        if unpriced and height >= 8:
            rows.append([Part(0, (Span(unpriced, "watch"),))])
        return [Line(clip_spans(joined("  ", bar(parts, width - 3)), width - 1, self.manner.cut)) for parts in rows]

    def _tabs(self) -> Spans:
        spans: list[Span] = [Span("  ")]
        for split in SPLITS:
            on = split == self.split
            spans += [Span(f"[{split}]" if on else f" {split} ", "accent" if on else "muted", on), Span(" ")]
        return (*spans, Span(" tab: next", "faint"))

    def _everything(self, spent: Spending, width: int, room: int, y: int) -> list[Line]:
        half = (width - 4) // 2
        models = self._split("models", width, min(len(spent.models) + 1, max(5, room // 3)), y)
        lines = [*models, BLANK]
        high = min(max(len(spent.crews), len(spent.queues)) + 1, max(4, room - len(lines) - 11))
        crews = self._split("crews", half, high, y + len(lines))
        queues = self._split("queues", half, high, y + len(lines))
        lines += [*_side_by_side(crews, queues, half), BLANK]
        return [*lines, *self._time_lines(spent, width, min(14, room - len(lines)))]

    def _split(self, split: str, width: int, room: int, y: int) -> list[Line]:
        """One table, or the bars of time, in so many lines, the first of them line y of the view."""
        assert self.spent is not None
        if split == "time":
            return self._time_lines(self.spent, width, room)
        columns = {"models": MODEL_COLUMNS, "crews": CREW_COLUMNS, "queues": QUEUE_COLUMNS}[split]
        rows, selection = self._rows(split), self.selections[split]
        fitted = fit(columns, width - 3)
        lines = [heading(fitted, "  ")]
        for index in selection.window(max(1, room - 1)):
            each = rows[index]
            here = split == self.split and selection.current == _key(each)
            cells = (
                model_cells(each, self.manner)
                if isinstance(each, ModelUsage)
                else spent_cells(each, self.spent.total, self.manner)
            )
            self._lines_of[y + len(lines)] = split, _key(each)
            lines.append(row(fitted, cells, "cursor" if here else "ground", lead(here, self.manner), self.manner.cut))
        return lines

    def _time_lines(self, spent: Spending, width: int, room: int) -> list[Line]:
        """Money by hour and by day: beside each other, one below the other, or the days alone."""
        if room < LEAST_LINES:
            return []
        hours = _bars("By hour", spent.hours, 3_600.0, f"last {WINDOWS[self.hours]}", self.manner)
        days = _bars("By day", spent.days, 86_400.0, "last 14 d, UTC", self.manner)
        found = [chart for chart in (hours, days) if chart is not None]
        if width >= ALL_CELLS and len(found) == 2:
            half = (width - 4) // 2
            left, right = (draw(chart, half, room, self.manner) for chart in found)
            return _indented(beside(left, right, half, 2))
        fits = found[: max(1, room // LEAST_LINES)] if room < 2 * LEAST_LINES else found
        return _indented([each for chart in fits for each in draw(chart, width - 2, room // len(fits), self.manner)])


def _key(each: ModelUsage | Spent) -> str:
    return f"{each.provider}/{each.model}" if isinstance(each, ModelUsage) else each.name


def _indented(lines: Sequence[Line]) -> list[Line]:
    return [Line((Span(" "), *each.spans), each.ground) for each in lines]


def _side_by_side(left: Sequence[Line], right: Sequence[Line], cells: int) -> list[Line]:
    """Two tables in one: what lies behind the cursor is drawn where it stands."""
    return [
        each._replace(ground="cursor") if any(line.ground == "cursor" for line in pair) else each
        for each, pair in zip(
            beside(left, right, cells, 2),
            zip(
                [*left, *[BLANK] * (len(right) - len(left))], [*right, *[BLANK] * (len(left) - len(right))], strict=True
            ),
            strict=True,
        )
    ]


def _window_parts(spent: Spending, window: str, manner: Manner) -> list[Part]:
    parts = [Part(0, joined(Span(f"{window} ", "muted"), Span(manner.money(spent.total), "money", True)))]
    if spent.completed:
        each = per_thousand(spent.total, spent.completed, manner)
        parts.append(Part(1, joined(each, Span(" per 1,000 completed", "muted"))))
    if spent.failed.calls:
        parts.append(Part(2, joined(Span("failed tasks ", "muted"), Span(manner.money(spent.failed), "wrong"))))
    parts.append(Part(4, (Span(f"{words.count(spent.completed)} completed", "muted"),)))
    parts.append(Part(3, (Span(f"{words.count(spent.total.calls)} calls", "muted"),)))
    return parts


def _today_parts(spent: Spending, manner: Manner) -> list[Part]:
    today = joined(Span("today ", "muted"), Span(manner.money(spent.today), "money", True))
    if spent.projected is None:
        return [Part(0, today)]
    coming = joined(Span(manner.money(spent.projected), "money"), Span(" by midnight UTC", "muted"))
    return [Part(0, today), Part(1, joined(coming, Span(" if it goes on as the last hour", "muted")))]


def _unpriced(spent: Spending) -> str:
    """How many calls have no price, and which models they went to: what is to be mended in the price list."""
    models = [usage for usage in spent.models if usage.cost.unknown]
    if not spent.total.unknown:
        return ""
    named = ", ".join(safe(usage.model) for usage in models[:NAMED])
    more = f" and {words.count(len(models) - NAMED)} more" if len(models) > NAMED else ""
    calls = "call has" if spent.total.unknown == 1 else "calls have"
    return f"{words.count(spent.total.unknown)} {calls} no price{f': {named}{more}' if named else ''}"


def _bars(title: str, spent: Sequence[SpentIn], seconds: float, aside: str, manner: Manner) -> Chart | None:
    if not spent:
        return None
    values = [float(each.cost.known) for each in spent]
    series = Series("spent", values, "money", "solid", mean)
    return Chart(
        title, f"now {manner.money(spent[-1].cost)}", aside, spent[0].at, seconds, (series,), DOLLARS, parted=True
    )
