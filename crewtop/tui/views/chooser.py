"""Lists at the foot of the screen to choose from: one of several, or which ones and in what order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from crewtop.tui.effects import Effect, Say
from crewtop.tui.manner import Manner
from crewtop.tui.paint import Part, Span, Spans, bar, joined, padded, width
from crewtop.tui.views.question import Question

MOST_ROWS = 10
"""Rows that a list takes, so that what it is about stays in sight."""

_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -MOST_ROWS, "pagedown": MOST_ROWS, "home": -999, "end": 999}
_ESCAPES = ("escape", "ctrl+c", "q")


class Choice(NamedTuple):
    """Something to choose, and what it means."""

    name: str
    help: str


class _Choices(Question):
    """A list with a cursor. Nothing is left to do outside of it once it is closed."""

    def __init__(self, title: str, verb: str, choices: Sequence[Choice]) -> None:
        super().__init__(title, (), verb, Say(""))
        self.choices = list(choices)
        self.place = 0

    def _move(self, key: str) -> None:
        self.place = min(max(0, self.place + _STEPS.get(key, 0)), len(self.choices) - 1)

    def _inside(self, cells: int, room: int, manner: Manner) -> list[Spans]:
        rows = max(1, min(room, MOST_ROWS))
        top = min(max(0, self.place - rows // 2), max(0, len(self.choices) - rows))
        names = max(len(choice.name) for choice in self.choices)
        drawn = []
        for index, choice in enumerate(self.choices[top : top + rows], top):
            on = index == self.place
            edge = Span(manner.glyph("▌") if on else " ", "accent")
            sign = Span(manner.glyph(self._sign(choice)), "watch")
            name = padded((Span(choice.name, "text", on),), names, mark=manner.cut)
            drawn.append(joined(edge, sign, " ", name, "  ", Span(choice.help, "muted")))
        return drawn

    def _sign(self, choice: Choice) -> str:
        raise NotImplementedError


class Chooser(_Choices):
    """One of several: told gets the name of the one that is chosen. now is the name of the one that was."""

    def __init__(self, title: str, verb: str, choices: Sequence[Choice], now: str, told: Callable[[str], None]) -> None:
        super().__init__(title, verb, choices)
        self.place = next((place for place, choice in enumerate(choices) if choice.name == now), 0)
        self._now, self._told = now, told

    def press(self, key: str) -> Effect | Question | bool:
        """As Question.press."""
        if key == "enter":
            self._told(self.choices[self.place].name)
        self._move(key)
        return key not in ("enter", *_ESCAPES)

    def _sign(self, choice: Choice) -> str:
        return "◆" if choice.name == self._now else " "

    def _how(self, cells: int, manner: Manner) -> Spans:
        return _keys([("⏎", self.verb, 0), ("↑ ↓", "choose", 1), ("Esc", "keep as is", 0)], cells, manner)


class Arranger(_Choices):
    """Some of several, in an order: arranged gets their names at every change. Esc brings back what was there.

    shown: the names of those that are shown, in their order; usual: likewise, of what d brings back.
    """

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        shown: Sequence[str],
        usual: Sequence[str],
        arranged: Callable[[Sequence[str]], None],
    ) -> None:
        super().__init__(title, "done", _first(shown, choices))
        self.on = set(shown)
        self._usual, self._arranged = usual, arranged
        self._before = list(self.choices), set(self.on)

    def press(self, key: str) -> Effect | Question | bool:
        """As Question.press."""
        self.complaint = ""
        match key:
            case "escape" | "ctrl+c" | "q":
                self.choices, self.on = self._before
            case "space":
                self._turn()
            case "J" | ">" | "K" | "<":
                self._carry(1 if key in "J>" else -1)
            case "d":
                self.choices, self.on = _first(self._usual, self.choices), set(self._usual)
            case _:
                self._move(key)
        self._arranged([choice.name for choice in self.choices if choice.name in self.on])
        return key not in ("enter", *_ESCAPES)

    def _turn(self) -> None:
        name = self.choices[self.place].name
        if self.on == {name}:
            self.complaint = "one has to stay"
        else:
            self.on ^= {name}

    def _carry(self, step: int) -> None:
        """Take the line under the cursor along."""
        place = self.place + step
        if 0 <= place < len(self.choices):
            self.choices.insert(place, self.choices.pop(self.place))
            self.place = place

    def _sign(self, choice: Choice) -> str:
        return "■" if choice.name in self.on else "□"

    def _how(self, cells: int, manner: Manner) -> Spans:
        keys = [
            ("⏎", "done", 0),
            ("Space", "on/off", 1),
            ("J K", "move", 2),
            ("d", "usual", 3),
            ("Esc", "as it was", 0),
        ]
        complaint = Span(f"  {self.complaint}" if self.complaint else "", "wrong")
        return joined(_keys(keys, cells - width([complaint]), manner), complaint)


def _first(names: Sequence[str], choices: Sequence[Choice]) -> list[Choice]:
    """The choices with these names in front, in their order."""
    rank = {name: place for place, name in enumerate(names)}
    return sorted(choices, key=lambda choice: rank.get(choice.name, len(rank)))


def _keys(keys: Sequence[tuple[str, str, int]], cells: int, manner: Manner) -> Spans:
    parts = [
        Part(importance, joined(Span(manner.own(key), "accent", True), Span(f" {does}", "muted")))
        for key, does, importance in keys
    ]
    return bar(parts, cells)
