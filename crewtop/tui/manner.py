"""How this screen speaks: the choices that every view needs to put data into words."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from crewtop import words
from crewtop.model.money import Money
from crewtop.text import masked, shown
from crewtop.tui.actions import COMMANDS, key_name
from crewtop.tui.keymap import Keymap
from crewtop.tui.paint import Role, Span

REMEMBERED_CHARACTERS = 512
"""Texts up to this length are made fit to be shown once, as long as they are in sight."""

_ASCII_PICTURES = {
    "…": "~",
    "●": "!",
    "▲": "^",
    "▼": "v",
    "▌": ">",
    "◆": "*",
    "─": "-",
    "╌": "~",
    "│": "|",
    "╭": "+",
    "╮": "+",
    "╰": "+",
    "╯": "+",
    "·": "-",
    "→": "->",
    "⏎": "Enter",
    "↑": "Up",
    "↓": "Down",
    "■": "#",
    "□": ".",
    "█": "#",
    "▅": "=",
    "░": ".",
    "▶": ">",
    "✓": "+",
}


@dataclass(slots=True)
class Manner:
    """One for all views, so that a choice changes all of them.

    ascii_only is for terminals without Unicode; utc, or the times of this machine; keymap: the keys that sentences
    name.
    """

    ascii_only: bool = False
    utc: bool = True
    keymap: Keymap = field(default_factory=lambda: Keymap(COMMANDS))

    @property
    def cut(self) -> str:
        """What stands where a text was cut off."""
        return self.glyph("…")

    def glyph(self, picture: str) -> str:
        """A picture of ours, or its ASCII stand-in."""
        return _ASCII_PICTURES.get(picture, picture) if self.ascii_only else picture

    def key(self, command: str) -> str:
        """The key of a command as sentences write it; its name in the palette where the user took its keys away."""
        key = self.keymap.key(command)
        return key_name(key, self.ascii_only) if key is not None else f":{command}"

    def own(self, text: str) -> str:
        """Words of ours with their pictures replaced where the terminal has none."""
        return "".join(map(self.glyph, text)) if self.ascii_only else text

    def minute(self, at: datetime) -> str:
        """An instant as hours and minutes: all that a clock on an idle screen may show without sending bytes."""
        return (at.astimezone(UTC) if self.utc else at.astimezone()).strftime("%H:%M")

    def clock(self, at: datetime) -> str:
        """An instant to the second."""
        return words.clock(at, local=not self.utc)

    def stamp(self, at: datetime) -> str:
        """An instant with its date."""
        return words.stamp(at, local=not self.utc)

    def money(self, amount: Money) -> str:
        """An amount in words."""
        return words.money(amount, ascii=self.ascii_only)

    def hourly(self, amount: Money) -> str:
        """An amount an hour in words; nothing to say where nothing was spent."""
        said = self.money(amount)
        return said if said == words.NOTHING else f"{said}/h"

    def status(self, state: str) -> str:
        """A state as glyph and word."""
        return words.status(state, ascii=self.ascii_only)

    @property
    def zone(self) -> str:
        """The name of the operator's choice of time."""
        return "UTC" if self.utc else "local"


def safe(text: str) -> str:
    """Text from a task, on one line, fit to be shown."""
    return _safe(text) if len(text) <= REMEMBERED_CHARACTERS else shown(masked(text))


@lru_cache(maxsize=2048)  # the names of queues and crews come again in every row of every tick
def _safe(text: str) -> str:
    return shown(masked(text))


def data(text: str, role: Role = "text", strong: bool = False) -> Span:
    """A span of text that comes from a task, a queue's name, a worker or an error."""
    return Span(safe(text), role, strong)
