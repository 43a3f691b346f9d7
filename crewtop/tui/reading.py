"""Long texts, cut into rows that fit the screen: at once if short, in a thread if long."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from rich.cells import get_character_cell_size

from crewtop.text import masked, masked_json, shown

Kind = Literal["json", "text"]

AT_ONCE_CHARACTERS = 8_192
"""Texts up to this length are prepared within the frame; it takes well under 10 ms."""

MOST_CHARACTERS = 1024 * 1024
"""How much of a text is ever loaded: more belongs into a file. Even in a thread, masking holds the interpreter for
about 70 ms for each megabyte (measured on two busy cores), and a key must be answered within 100 ms."""


@dataclass(frozen=True, slots=True)
class Job:
    """The work of making a text fit to be read at a width."""

    text: str
    kind: Kind
    cells: int

    def rows(self) -> list[str]:
        """Mask it, make it safe, lay JSON out, and wrap it. Takes time linear in the text."""
        return wrapped(readable(self.text, self.kind), self.cells)


def readable(text: str, kind: Kind) -> str:
    """The text as one wants to read it: JSON indented, a JSON string as the text that it holds; masked and safe."""
    if kind == "json":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return shown(masked(text), lines=True)
        if isinstance(value, str):
            return shown(masked(value), lines=True)
        text = json.dumps(masked_json(value), indent=2, ensure_ascii=False)
        return shown(text, lines=True)
    return shown(masked(text), lines=True)


def wrapped(text: str, cells: int) -> list[str]:
    """Rows of at most so many cells, broken at spaces where a row has one in its second half."""
    cells = max(2, cells)
    rows: list[str] = []
    for line in text.expandtabs(4).split("\n"):
        if line.isascii() and len(line) <= cells:
            rows.append(line)
        else:
            rows += _broken(line, cells)
    return rows


def _broken(line: str, cells: int) -> list[str]:
    rows: list[str] = []
    start, end = 0, len(line)
    while start < end:
        stop = _reach(line, start, cells)
        if stop < end:
            space = line.rfind(" ", start + (stop - start) // 2, stop)
            stop = space + 1 if space >= 0 else stop
        rows.append(line[start:stop])
        start = stop
    return rows or [""]


def _reach(line: str, start: int, cells: int) -> int:
    """Where a row that begins at start has to end."""
    stop = min(len(line), start + cells)
    if line[start:stop].isascii():
        return stop
    taken, stop = 0, start
    while stop < len(line):
        taken += get_character_cell_size(line[stop])
        if taken > cells and stop > start:
            break
        stop += 1
    return stop


class Reading:
    """A text of which some rows are in sight."""

    def __init__(self) -> None:
        self.top = 0
        self.job: Job | None = None
        self._text = ""
        self._kind: Kind = "text"
        self._rows: list[str] = []
        self._done: Job | None = None
        self._height = 1

    def set(self, text: str, kind: Kind) -> None:
        """Read this text; the place stays if it is the same or has only grown."""
        if not text.startswith(self._text[:1_000]):
            self.top = 0
        self._text, self._kind = text, kind

    def finish(self, job: Job, rows: list[str]) -> None:
        """Take the rows of a job that ran elsewhere."""
        self._done, self._rows = job, rows
        if self.job == job:
            self.job = None

    def rows(self, cells: int, height: int) -> list[str] | None:
        """The rows in sight; None while they are being prepared. job then says what has to be run."""
        wanted = Job(self._text, self._kind, cells)
        if self._done != wanted:
            if len(self._text) > AT_ONCE_CHARACTERS:
                self.job = wanted
                if self._done is None:
                    return None
            else:
                self.finish(wanted, wanted.rows())
        self._height = max(1, height)
        self.top = min(max(0, self.top), max(0, len(self._rows) - self._height))
        return self._rows[self.top : self.top + self._height]

    @property
    def end(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def scroll(self, command: str) -> bool:
        """Obey a command that moves; False if it is none."""
        page = max(1, self._height - 1)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "first": -self.end, "last": self.end}
        if command not in steps:
            return False
        self.top = min(max(0, self.top + steps[command]), max(0, self.end - self._height))
        return True
