"""Every key of a view, made from the registry; and the command palette."""

from __future__ import annotations

from crewtop.tui.actions import Command, View, commands_in, key_name
from crewtop.tui.edit import LineEdit
from crewtop.tui.manner import Manner
from crewtop.tui.paint import BLANK, Line, Span, Spans, joined, line, padded, spread

KEY_CELLS = 12
GROUPS = ("Move", "Go to", "Read", "Act", "Screen")


class Help:
    """The keys by group."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._top = 0

    def press(self, key: str) -> Command | bool:
        """True while it stays open."""
        steps = {"down": 1, "j": 1, "up": -1, "k": -1, "pagedown": 10, "pageup": -10, "space": 10}
        if key not in steps:
            return False
        self._top = max(0, self._top + steps[key])
        return True

    def lines(self, width: int, height: int, manner: Manner) -> list[Line]:
        """The page in so many cells and lines; two columns where there is room."""
        blocks = [self._block(name, manner) for name in GROUPS]
        blocks = [block for block in blocks if block]
        if width >= 130:
            half = width // 2
            left = _joined_blocks([block for i, block in enumerate(blocks) if i % 2 == 0])
            right = _joined_blocks([block for i, block in enumerate(blocks) if i % 2 == 1])
            rows = [
                joined(
                    padded(_at(left, i), half - 2, mark=manner.cut),
                    "  ",
                    padded(_at(right, i), half - 2, mark=manner.cut),
                )
                for i in range(max(len(left), len(right)))
            ]
        else:
            rows = _joined_blocks(blocks)
        foot = line(
            "  ",
            Span("any other key closes this page; ", "muted"),
            Span(manner.own("↑ ↓"), "accent"),
            Span(" scroll", "muted"),
        )
        room = max(1, height - 3)
        self._top = min(self._top, max(0, len(rows) - room))
        shown = [Line(spread(row, (), width, manner.cut)) for row in rows[self._top : self._top + room]]
        return [BLANK, *shown, *[BLANK] * (room - len(shown)), BLANK, foot]

    def _block(self, group: str, manner: Manner) -> list[Spans]:
        commands = [command for command in commands_in(self.view) if command.group == group]
        rows = [joined("  ", Span(group, "text", True))] if commands else []
        for command in commands:
            keys = " ".join(key_name(key, manner.ascii_only) for key in command.keys)
            rows.append(joined("  ", padded((Span(keys, "accent"),), KEY_CELLS), Span(command.help, "muted")))
        return rows


def _joined_blocks(blocks: list[list[Spans]]) -> list[Spans]:
    rows: list[Spans] = []
    for block in blocks:
        rows += [*([()] if rows else []), *block]
    return rows


def _at(rows: list[Spans], index: int) -> Spans:
    return rows[index] if index < len(rows) else ()


class Palette:
    """Every command of a view by name: type a part of it, Enter runs it."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.edit = LineEdit()
        self._place = 0

    def matches(self) -> list[Command]:
        """The commands that have every typed word in their name or help."""
        typed = self.edit.text.lower().split()
        return [
            command
            for command in commands_in(self.view)
            if command.name not in _NOT_LISTED and all(w in f"{command.name} {command.help}".lower() for w in typed)
        ]

    def press(self, key: str) -> Command | bool:
        """True while it stays open, False when dropped, or the chosen command."""
        found = self.matches()
        if key in ("escape", "ctrl+c"):
            return False
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
        drawn = [Line(spread(prompt, (said,), width, manner.cut)), BLANK]
        for i, command in enumerate(found[top : top + room], start=top):
            keys = padded((Span(key_name(command.keys[0], manner.ascii_only), "accent"),), KEY_CELLS)
            on = i == self._place
            bar = Span(manner.glyph("▌") if on else " ", "accent")
            name = padded((Span(command.name.replace("_", " "), "text", on),), 16)
            spans = joined(bar, " ", keys, name, "  ", Span(command.help, "muted"))
            drawn.append(Line(spread(spans, (), width, manner.cut), "cursor" if on else "ground"))
        return drawn


_NOT_LISTED = frozenset({"up", "down", "page_up", "page_down", "first", "last", "palette", "back", "leave"})
