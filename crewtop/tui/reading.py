"""Long texts, made ready to be read: at once if short, in a thread if long. JSON folds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from crewtop.text import masked, masked_json, shown
from crewtop.tui.folding import Document, Folds, Place, Row, cuts, document
from crewtop.tui.search import Search

Kind = Literal["json", "text"]

AT_ONCE_CHARACTERS = 8_192
"""Texts up to this length are prepared within the frame; it takes well under 10 ms."""

MOST_CHARACTERS = 1024 * 1024
"""How much of a text is ever loaded: more belongs into a file. Even in a thread, masking a single line holds the
interpreter for about 80 ms for each megabyte (measured on two busy cores), and a key must be answered within 100 ms."""

PIECE_CHARACTERS = 65_536
"""How much of a text of many lines is masked at a time, at least."""


@dataclass(frozen=True, slots=True)
class Job:
    """The work of making a text fit to be read at a width."""

    text: str
    kind: Kind
    cells: int

    def rows(self) -> Document:
        """Mask it, make it safe, lay JSON out, and wrap it. Takes time linear in the text."""
        text, nested = _readable(self.text, self.kind)
        return document(text, self.cells, nested=nested)


def readable(text: str, kind: Kind) -> str:
    """The text as one wants to read it: JSON indented, a JSON string as the text that it holds; masked and safe."""
    return _readable(text, kind)[0]


def _readable(text: str, kind: Kind) -> tuple[str, bool]:
    """The readable text, and whether it is JSON that nests."""
    if kind == "json":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return legible(text), False
        if isinstance(value, str):
            return legible(value), False
        text = json.dumps(masked_json(value), indent=2, ensure_ascii=False)
        made = "".join(shown(piece, lines=True) for piece in pieces(text))
        return made, bool(value) and isinstance(value, dict | list)
    return legible(text), False


def legible(text: str) -> str:
    """Shown and masked, one piece after the other: masking holds the interpreter, and keys are answered in between."""
    return "".join(shown(masked(piece), lines=True) for piece in pieces(text))


def pieces(text: str, least: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Whole lines of a text, so many characters of it at a time, or more.

    None ends within a list or a private key: these alone are masked across lines.
    """
    start = 0
    while start < len(text):
        end = text.find("\n", start + least) + 1
        while end and _open(text, end):
            end = text.find("\n", end + least) + 1
        yield text[start : end or None]
        start = end or len(text)


def _open(text: str, end: int) -> bool:
    """Whether a list or a private key may go on behind an end."""
    in_list = text.rfind("[", 0, end) > text.rfind("]", 0, end)
    return in_list or text.rfind("-----BEGIN", 0, end) > text.rfind("-----END", 0, end)


def wrapped(text: str, cells: int) -> list[str]:
    """Rows of at most so many cells, broken at spaces where a row has one in its second half."""
    rows: list[str] = []
    for line in text.expandtabs(4).split("\n"):
        begins = cuts(line, cells)
        rows += [line[start:stop] for start, stop in zip(begins, [*begins[1:], None], strict=True)]
    return rows


class Reading:
    """A text of which some rows are in sight. What folds has a cursor; other texts only scroll."""

    def __init__(self) -> None:
        self.top: Place = (0, 0)
        self.cursor: Place = (0, 0)
        self.job: Job | None = None
        self.search = Search()
        self._text = ""
        self._kind: Kind = "text"
        self._done: Job | None = None
        self._folds = Folds(document("", 80))
        self._height = 1

    def set(self, text: str, kind: Kind) -> None:
        """Read this text; the place stays if it is the same or has only grown."""
        if not text.startswith(self._text[:1_000]):
            self.top = self.cursor = (0, 0)
            self.search.drop()
            self._done = None
        self._text, self._kind = text, kind

    def finish(self, job: Job, rows: Document) -> None:
        """Take what a job that ran elsewhere came to. What was folded stays so where only the width is another."""
        if self._done is not None and self._done.text == job.text:
            self._folds.document = rows
        else:
            if self.folds is not bool(rows.nesting.ends):
                self.top = self.cursor = (0, 0)
            self._folds = Folds(rows)
        self._done = job
        if self.job == job:
            self.job = None
        if self.search.wanted:
            self.search.take(rows.find(self.search.wanted))

    @property
    def folds(self) -> bool:
        """Whether there is a cursor, and something to fold."""
        return bool(self._folds.document.nesting.ends)

    def rows(self, cells: int, height: int) -> list[Row] | None:
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
        self._settle()
        rows, place = [], self.top
        for _ in range(self._height):
            rows.append(self._folds.row(place, cells))
            before, place = place, self._folds.moved(place, 1)
            if place == before:
                break
        return rows

    @property
    def under(self) -> Place | None:
        """The line and the offset of the row under the cursor, or None where there is no cursor."""
        row = self._folds.row(self.cursor, 1)
        return (row.line, row.offset) if self.folds else None

    def scroll(self, command: str) -> bool:
        """Obey a command that moves; False if it is none."""
        page = max(1, self._height - 1)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page}
        if command in ("first", "last"):
            place: Place = (0, 0) if command == "first" else self._folds.last
        elif command in steps:
            place = self._folds.moved(self.cursor if self.folds else self.top, steps[command])
        else:
            return False
        self._go(place)
        return True

    def fold(self, command: str) -> bool:
        """Obey a command that folds; False if it is none, or if nothing folds here."""
        if not self.folds:
            return False
        line = self._opener(self.cursor[0])
        match command:
            case "show" if self.cursor[0] in (line, self._folds.document.nesting.ends[line] - 1):
                self._folds.fold(line, not self._folds.folded(line))
            case "fold" if self._folds.folded(line) or line != self.cursor[0]:
                line = self._folds.document.nesting.parents[line] if self._folds.folded(line) else line
            case "fold" | "unfold":
                self._folds.fold(line, command == "fold")
            case "fold_all":
                self._folds.toggle_all()
            case _:
                return False
        if command in ("show", "fold") and line >= 0:
            self.cursor = line, 0
        self._settle()
        return True

    def point(self, row: int) -> bool:
        """Put the cursor on a row of the window; whether it was there. Where there is none nothing happens."""
        place = self._folds.moved(self.top, row)
        before, self.cursor = self.cursor, place if self.folds else self.cursor
        return before == place

    def _opener(self, line: int) -> int:
        """What folds at a line: what it opens, or what it is in."""
        return line if line in self._folds.document.nesting.ends else max(0, self._folds.document.nesting.parents[line])

    # Searching

    def look(self, wanted: str) -> None:
        """Find these characters, and go to the first place from here on."""
        self.search.wanted = wanted
        self.search.take(self._folds.document.find(wanted) if wanted else ())
        here = self._folds.row(self.cursor if self.folds else self.top, 1)
        self.search.nearest(here.line, here.offset)
        self._reveal()

    def step(self, steps: int) -> None:
        """Go to a later place, or an earlier one."""
        self.search.step(steps)
        self._reveal()

    def _reveal(self) -> None:
        match = self.search.current
        if match is None:
            return
        self._folds.reveal(match.line)
        self._folds.fold(match.line, False)
        place = self._folds.at(match.line, match.start)
        if self.folds:
            self._go(place)
        elif not self.top <= place <= self._folds.moved(self.top, self._height - 1):
            self._go(self._folds.moved(place, -(self._height // 3)))

    # The window

    def _go(self, place: Place) -> None:
        if self.folds:
            self.cursor = place
        else:
            self.top = place
        self._settle()

    def _settle(self) -> None:
        """Let the window lie within the text, around the cursor."""
        folds = self._folds
        self.cursor = folds.nearest(self.cursor)
        self.top = min(folds.nearest(self.top), folds.moved(folds.last, 1 - self._height))
        if self.folds:
            self.top = min(self.top, self.cursor)
            self.top = max(self.top, folds.moved(self.cursor, 1 - self._height))

    # What can be taken away

    @property
    def text(self) -> str:
        """All of what is loaded, as it is read."""
        made = self._folds.document
        if not self.folds:
            return made.text
        return "\n".join(" " * 2 * level + line for level, line in zip(made.nesting.levels, made.lines, strict=True))

    def sight(self, cells: int) -> str:
        """What is in sight."""
        rows = self.rows(cells, self._height) or []
        return "\n".join(" " * row.indent + row.text + row.beside for row in rows)
