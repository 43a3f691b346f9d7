"""Every key of a view, made from the registry; and the command palette."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop.tui.actions import Command, key_name
from crewtop.tui.columns import Column
from crewtop.tui.edit import LineEdit
from crewtop.tui.effects import Open
from crewtop.tui.manner import Manner
from crewtop.tui.paint import BLANK, Line, Span, Spans, joined, padded, spread
from crewtop.tui.reading import wrapped

KEY_CELLS, NAME_CELLS = 12, 12
BESIDE = (("Move", "Go to", "Read"), ("Act", "Screen"))
"""The groups of the registry, as they stand beside each other where there is room."""


TWO_COLUMNS_CELLS = 110

RUN_FROM_HERE = frozenset({"Go to", "Read", "Screen"})
"""The groups of commands whose keys do while help is open what it says of them."""


class Help:
    """The keys of a view by group, and what the columns of its tables mean."""

    def __init__(self, commands: Sequence[Command], columns: Sequence[Column]) -> None:
        self._commands = commands
        self._columns = [column for column in columns if column.about]
        self._top = 0

    def press(self, key: str) -> Command | bool:
        """True while it stays open, False when it is left, or the command of the key.

        A command that acts, or one for a list that is not in sight, only closes the page.
        """
        steps = {"down": 1, "j": 1, "up": -1, "k": -1, "pagedown": 10, "pageup": -10, "space": 10}
        if key in steps:
            self._top = max(0, self._top + steps[key])
            return True
        chosen = next((command for command in self._commands if key in command.keys), None)
        runs = chosen is not None and chosen.group in RUN_FROM_HERE and not chosen.acting and chosen.name != "help"
        return chosen if chosen is not None and runs else False

    def lines(self, width: int, height: int, manner: Manner) -> list[Line]:
        """The page in so many cells and lines; two columns where there is room."""
        if width >= TWO_COLUMNS_CELLS:
            half = width // 2
            left, right = (self._column(groups, half - 2, manner) for groups in BESIDE)
            right += self._meanings(half - 2, manner, after=bool(right))
            rows = [
                joined(padded(_at(left, i), half), padded(_at(right, i), half))
                for i in range(max(len(left), len(right)))
            ]
        else:
            rows = self._column([group for groups in BESIDE for group in groups], width, manner)
            rows += self._meanings(width, manner, after=True)
        room = max(1, height - 1)
        self._top = min(self._top, max(0, len(rows) - room))
        return [BLANK, *(Line(row) for row in rows[self._top : self._top + room])]

    def _column(self, groups: Sequence[str], cells: int, manner: Manner) -> list[Spans]:
        rows: list[Spans] = []
        for group in groups:
            block = self._block(group, cells, manner)
            rows += [*([()] if rows and block else []), *block]
        return rows

    def _block(self, group: str, cells: int, manner: Manner) -> list[Spans]:
        commands = [command for command in self._commands if command.group == group]
        rows: list[Spans] = [joined("  ", Span(group, "text", True))] if commands else []
        for command in commands:
            keys = " ".join(key_name(key, manner.ascii_only) for key in command.keys)
            rows += _explained(keys, command.name.replace("_", " "), command.help, cells, manner)
        return rows

    def _meanings(self, cells: int, manner: Manner, *, after: bool) -> list[Spans]:
        if not self._columns:
            return []
        rows: list[Spans] = [*([()] if after else []), joined("  ", Span("Columns", "text", True))]
        for column in self._columns:
            rows += _explained(column.title, "", column.about, cells, manner)
        return rows


def _explained(key: str, name: str, text: str, cells: int, manner: Manner) -> list[Spans]:
    """A key or a column, its name if it has another, and what it means, wrapped."""
    rows = []
    names = NAME_CELLS if name else 0
    for i, part in enumerate(wrapped(text, cells - KEY_CELLS - names - 6)):
        first = (*padded((Span(key if i == 0 else "", "accent"),), KEY_CELLS - 1, mark=manner.cut), Span(" "))
        second = padded((Span(name if i == 0 else ""),), names, mark=manner.cut) if name else ()
        rows.append(joined("  ", first, second, "  ", Span(part, "muted")))
    return rows


def _at(rows: list[Spans], index: int) -> Spans:
    return rows[index] if index < len(rows) else ()


class Palette:
    """Every command of a view by name: type a part of it, Enter runs it. A number opens the task of that id."""

    def __init__(self, commands: Sequence[Command]) -> None:
        self.edit = LineEdit()
        self._commands = [command for command in commands if command.name not in _NOT_LISTED]
        self._place = 0

    def matches(self) -> list[Command]:
        """The commands that have every typed word in their name or help; those that have them in their name first."""
        typed = self.edit.text.lower().split()
        found = [c for c in self._commands if all(word in f"{_title(c)} {c.help}".lower() for word in typed)]
        return sorted(found, key=lambda command: not all(word in _title(command) for word in typed))

    @property
    def _task_id(self) -> int | None:
        typed = self.edit.text.strip().removeprefix("#")
        return int(typed) if typed.isdecimal() and len(typed) < 19 else None

    def press(self, key: str) -> Command | Open | bool:
        """True while it stays open, False when dropped, or the chosen command or task."""
        found = self.matches()
        if key in ("escape", "ctrl+c"):
            return False
        if key == "enter" and self._task_id is not None:
            return Open(self._task_id)
        if key == "enter":
            return found[min(self._place, len(found) - 1)] if found else True
        steps = {"down": 1, "up": -1, "tab": 1, "shift+tab": -1, "pagedown": 8, "pageup": -8}
        if key in steps:
            self._place = min(max(0, self._place + steps[key]), max(0, len(found) - 1))
        elif self.edit.type(key):
            self._place = 0
        return True

    def lines(self, width: int, height: int, manner: Manner) -> list[Line]:
        """The prompt and the matches below it."""
        found = self.matches()
        self._place = min(self._place, max(0, len(found) - 1))
        room = max(1, height - 3)
        top = max(0, self._place - room + 1)
        prompt = joined(" ", Span(": ", "accent", True), self.edit.spans())
        said = Span("" if found else "no command has these words ", "muted")
        if self._task_id is not None:
            said = Span(f"opens task {self._task_id} ", "muted")
        drawn = [Line(spread(prompt, (said,), width, manner.cut)), BLANK]
        for i, command in enumerate(found[top : top + room], start=top):
            key = key_name(command.keys[0], manner.ascii_only) if command.keys else ""
            keys = padded((Span(key, "accent"),), KEY_CELLS)
            on = i == self._place
            bar = Span(manner.glyph("▌") if on else " ", "accent")
            name = padded((Span(_title(command), "text", on),), 16)
            spans = joined(bar, " ", keys, name, "  ", Span(command.help, "muted"))
            drawn.append(Line(spread(spans, (), width, manner.cut), "cursor" if on else "ground"))
        return drawn


def _title(command: Command) -> str:
    return command.name.replace("_", " ")


_NOT_LISTED = frozenset({"up", "down", "page_up", "page_down", "first", "last", "palette", "back", "leave"})
