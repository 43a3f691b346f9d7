"""What LLM calls may use and what they cost: limits, models, crews, queues, hours and days, and what today comes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crewtop.model.filters import TaskFilter
from crewtop.model.snapshot import Snapshot
from crewtop.model.spending import ModelUsage, Spending, Spent
from crewtop.tui.actions import View
from crewtop.tui.columns import fit, heading, row
from crewtop.tui.effects import Copy, Effect, Go, Say
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import BLANK, Line, Role, Span, Spans, clip_spans, line
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import NO_TASK_HERE, lead, moved
from crewtop.tui.views.modelrows import CREW_COLUMNS, MODEL_COLUMNS, QUEUE_COLUMNS, model_cells, spent_cells
from crewtop.tui.views.page import Page
from crewtop.tui.views.plot import beside
from crewtop.tui.views.question import Question
from crewtop.tui.views.spent import summary, time_lines
from crewtop.tui.views.standing import Section, drawn, note, sections
from crewtop.tui.views.standingrows import BUDGET_COLUMNS, CIRCUIT_COLUMNS, KEY_COLUMNS, LIMIT_COLUMNS, WELL
from crewtop.tui.wants import Spend, Want

WINDOWS = {1: "1 h", 24: "24 h", 168: "7 d"}
"""Hours that are summed up, and how they are called."""

SPLITS = ("limits", "models", "crews", "queues", "time")
"""limits: of providers, their keys, and budgets; left out where nobody has any."""

ALL_CELLS, ALL_LINES = 100, 28
"""From this size on all splits are shown at once."""


class Models(Page):
    """State of the view: the window, the answer to it, which split is looked at, and a cursor in each table."""

    kind = View.MODELS
    columns = (*LIMIT_COLUMNS, *CIRCUIT_COLUMNS, *KEY_COLUMNS, *BUDGET_COLUMNS, *MODEL_COLUMNS, *CREW_COLUMNS)

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner)
        self.hours = 24
        self.split = "models"
        self.selections: dict[str, Selection[str]] = {split: Selection() for split in SPLITS}
        self.spent: Spending | None = None
        self._lines_of: dict[int, tuple[str, str]] = {}
        self._standing: tuple[Snapshot | None, list[Section]] = None, []

    def come(self, anew: bool) -> None:
        """What is wrong with limits or budgets is shown first."""
        if anew and self._urgent():
            self.split = "limits"

    def _sections(self) -> list[Section]:
        """How limits and budgets stand: worked out once a snapshot, and only while somebody looks."""
        if self.snapshot is not None and self._standing[0] is not self.snapshot:
            self._standing = self.snapshot, sections(self.snapshot, self.manner)
            keys = [entry.key for section in self._standing[1] for entry in section.entries]
            self.selections["limits"].update(keys)
        return self._standing[1]

    def _splits(self) -> Sequence[str]:
        known = self._sections() or (self.snapshot is not None and note(self.snapshot))
        return SPLITS if known else SPLITS[1:]

    def _urgent(self) -> bool:
        return any(section.urgency < WELL for section in self._sections())

    @property
    def _window(self) -> str:
        return f"last {WINDOWS[self.hours]}"

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
        for split in SPLITS[1:]:
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
            step, splits = 1 if command == "other_list" else -1, self._splits()
            self.split = splits[(splits.index(self._shown_split()) + step) % len(splits)]
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
        if self._shown_split() == "limits":
            entry = next(entry for section in self._sections() for entry in section.entries if entry.key == name)
            return Copy(safe(entry.name)) if command == "copy" else Say(entry.told)
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
        everything = width >= ALL_CELLS and height >= ALL_LINES
        top = self._top(width, height)
        room, y = height - len(top), len(top)
        split = self._shown_split()
        if self.spent is None or not (self.spent.total.calls or self.spent.days):
            seen = self.spent is not None or everything or split == "limits" or bool(self.problem)
            return [*top, *(self._limit_lines(width, room, y) if seen else [])]
        if everything:
            return [*top, *self._everything(self.spent, width, room, y)]
        tabs = Line(clip_spans(self._tabs(), width - 1, self.manner.cut))
        return [*top, tabs, *self._split(split, width, room - 1, y + 1)]

    def _top(self, width: int, height: int) -> list[Line]:
        """What was spent in all, as far as that is known."""
        air = [BLANK] if height >= 12 else []
        if self.spent is None:
            said = self.problem or f"adding up the last {WINDOWS[self.hours]}"
            return [BLANK, line("  ", Span(said, "watch" if self.problem else "muted")), *air]
        return [*air, *summary(self.spent, self._window, width, height, self.manner), *air]

    def _shown_split(self) -> str:
        """The split that is looked at, or the first one where that has nothing left to show."""
        splits = self._splits()
        return self.split if self.split in splits else splits[0]

    def _tabs(self) -> Spans:
        spans: list[Span] = [Span("  ")]
        for split in self._splits():
            on = split == self._shown_split()
            mark = f" {self.manner.glyph('▲')}" if split == "limits" and self._urgent() else ""
            role: Role = "accent" if on else "watch" if mark else "muted"
            spans += [Span(f"[{split}{mark}]" if on else f" {split}{mark} ", role, on), Span(" ")]
        return (*spans, Span(" tab: next", "faint"))

    def _everything(self, spent: Spending, width: int, room: int, y: int) -> list[Line]:
        half = (width - 4) // 2
        limits = self._limit_lines(width, room // 2 if self._urgent() else room // 4, y)
        lines = [*limits, BLANK] if limits else []
        lines += self._split("models", width, min(len(spent.models) + 1, max(5, room // 3)), y + len(lines))
        lines.append(BLANK)
        high = min(max(len(spent.crews), len(spent.queues)) + 1, max(4, room - len(lines) - 11))
        crews = self._split("crews", half, high, y + len(lines))
        queues = self._split("queues", half, high, y + len(lines))
        lines += [*_side_by_side(crews, queues, half), BLANK]
        return [*lines, *time_lines(spent, self._window, width, min(14, room - len(lines)), self.manner)]

    def _limit_lines(self, width: int, room: int, y: int) -> list[Line]:
        """Limits, keys and budgets in so many lines, the first of them line y of the view."""
        said = note(self.snapshot) if self.snapshot is not None else ""
        lines = [line("  ", Span(said, "watch"))] if said else []
        selection, here = self.selections["limits"], self.split == "limits"
        for each, key in drawn(self._sections(), selection.current, here, width, room - len(lines), self.manner):
            if key is not None:
                self._lines_of[y + len(lines)] = "limits", key
            lines.append(each)
        return lines

    def _split(self, split: str, width: int, room: int, y: int) -> list[Line]:
        """One table, or the bars of time, in so many lines, the first of them line y of the view."""
        assert self.spent is not None
        if split == "time":
            return time_lines(self.spent, self._window, width, room, self.manner)
        if split == "limits":
            return self._limit_lines(width, room, y)
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


def _key(each: ModelUsage | Spent) -> str:
    return f"{each.provider}/{each.model}" if isinstance(each, ModelUsage) else each.name


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
