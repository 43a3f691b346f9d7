"""A text in lines that are cut into rows, of which some fold what lies below them away.

A line is one of the text; a row is what of it fits on the screen. JSON is a text whose lines nest: its objects and
lists fold. Everything here costs as much as is in sight, not as much as the text is long; document() does the rest.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from rich.cells import get_character_cell_size

from crewtop.tui.search import Match, pattern

INDENT_CELLS = 2
"""Cells by which a level of JSON stands further right, and of the sign before what folds."""

Place = tuple[int, int]
"""A row: the number of its line, and which of the line's rows it is."""

_ESCAPE = re.compile(r"\\(.)")


class Row(NamedTuple):
    """One row to draw: text begins at the offset of its line; opens: whether the line folds, and is not folded.

    beside is what is said of a line that is folded.
    """

    line: int
    offset: int
    text: str
    indent: int = 0
    opens: bool | None = None
    beside: str = ""


class Nesting(NamedTuple):
    """How the lines of JSON lie in each other.

    levels: how deep each line lies; parents: the line that opens what each is in (-1: none); ends: the line after the
    one that closes what a line opens; members: how many there are in that.
    """

    levels: Sequence[int]
    parents: Sequence[int]
    ends: Mapping[int, int]
    members: Mapping[int, int]


FLAT = Nesting((), (), {}, {})
"""That of a text which does not fold."""


@dataclass(frozen=True, slots=True)
class Document:
    """Lines made ready for a width. starts: where each begins in text; cuts: where rows begin, in lines of several."""

    lines: list[str]
    starts: list[int]
    text: str
    cuts: dict[int, list[int]]
    nesting: Nesting = FLAT

    def find(self, wanted: str) -> Iterator[Match]:
        """Where these characters are."""
        for found in pattern(wanted).finditer(self.text):
            line = bisect_right(self.starts, found.start()) - 1
            yield Match(line, found.start() - self.starts[line], found.end() - self.starts[line])

    def indent(self, line: int, cells: int) -> int:
        """By how many cells a line stands further right; never by more than half of them."""
        return min(self.nesting.levels[line] * INDENT_CELLS, cells // 2) if self.nesting.levels else 0


def document(text: str, cells: int, *, nested: bool = False) -> Document:
    """Lay a text out; nested: it is JSON as json.dumps indents it. Takes time linear in the text."""
    lines = text.expandtabs(4).split("\n")
    nesting = FLAT
    if nested:
        nesting = _nesting(lines)
        lines = [line.lstrip(" ") for line in lines]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    made = Document(lines, starts[:-1], "\n".join(lines), {}, nesting)
    lead = INDENT_CELLS if nested else 0
    for number, line in enumerate(lines):
        cut = cuts(line, cells - lead - made.indent(number, cells), escapes=nested)
        if len(cut) > 1:
            made.cuts[number] = cut
    return made


def _nesting(lines: list[str]) -> Nesting:
    """That of indented JSON: a line that opens something ends in its bracket."""
    levels = bytearray()
    parents: list[int] = []
    ends: dict[int, int] = {}
    members: dict[int, int] = {}
    open_: list[int] = []
    for number, line in enumerate(lines):
        closes = line.lstrip(" ")[:1] in ("}", "]")
        parents.append(open_[-1] if open_ else -1)
        levels.append(min(len(open_) - closes, 255))
        if closes:
            ends[open_.pop()] = number + 1
            continue
        if open_:
            members[open_[-1]] = members.get(open_[-1], 0) + 1
        if line.endswith(("{", "[")):
            open_.append(number)
    return Nesting(bytes(levels), parents, ends, members)


def cuts(line: str, cells: int, *, escapes: bool = False) -> list[int]:
    """Where the rows of a line begin, each of at most so many cells, cut at spaces where one is in its second half.

    With escapes, rows also end after the newlines that JSON writes as an escape.
    """
    cells = max(2, cells)
    stops = [found.end() for found in _ESCAPE.finditer(line) if found[1] == "n"] if escapes and "\\n" in line else []
    if not stops and line.isascii() and len(line) <= cells:
        return [0]
    begins: list[int] = []
    start = 0
    for stop in [*stops, len(line)]:
        while start < stop:
            begins.append(start)
            start = _row_end(line, start, stop, cells)
    return begins or [0]


def _row_end(line: str, start: int, end: int, cells: int) -> int:
    stop = _reach(line, start, end, cells)
    if stop < end:
        space = line.rfind(" ", start + (stop - start) // 2, stop)
        stop = space + 1 if space >= 0 else stop
    return stop


def _reach(line: str, start: int, end: int, cells: int) -> int:
    """Where a row that begins at start has to end."""
    stop = min(end, start + cells)
    if line[start:stop].isascii():
        return stop
    taken, stop = 0, start
    while stop < end:
        taken += get_character_cell_size(line[stop])
        if taken > cells and stop > start:
            break
        stop += 1
    return stop


class Folds:
    """Which lines of a document are folded, and the way from row to row past what they hide."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._all = False
        self._others: set[int] = set()

    def folded(self, line: int) -> bool:
        """Whether a line hides what lies below it."""
        return line in self.document.nesting.ends and (line in self._others) is not self._all

    def fold(self, line: int, on: bool) -> None:
        """Fold a line, or unfold it."""
        if line in self.document.nesting.ends and self.folded(line) is not on:
            self._others ^= {line}

    def toggle_all(self) -> None:
        """Fold everything below the first level away; unfold everything if that is how it is."""
        self._all = not self._all
        self._others = {0} if self._all else set()

    def reveal(self, line: int) -> None:
        """Unfold whatever hides a line."""
        parents = self.document.nesting.parents
        while parents and (line := parents[line]) >= 0:
            self.fold(line, False)

    def visible(self, line: int) -> int:
        """The line itself, or the outermost folded one that hides it."""
        parents = self.document.nesting.parents
        shown = line
        while parents and (line := parents[line]) >= 0:
            if self.folded(line):
                shown = line
        return shown

    def size(self, line: int) -> int:
        """How many rows a line takes."""
        cut = self.document.cuts.get(line)
        return 1 if cut is None or self.folded(line) else len(cut)

    @property
    def last(self) -> Place:
        """The last row of all."""
        line = self.visible(len(self.document.lines) - 1)
        return line, self.size(line) - 1

    def moved(self, place: Place, rows: int) -> Place:
        """The place so many rows below (above, if negative), as far as there are any."""
        line, row = place
        while rows > 0:
            left = self.size(line) - 1 - row
            below = self.document.nesting.ends[line] if self.folded(line) else line + 1
            if rows <= left or below >= len(self.document.lines):
                return line, row + min(rows, left)
            rows, line, row = rows - left - 1, below, 0
        while rows < 0:
            if -rows <= row or line == 0:
                return line, max(0, row + rows)
            rows, line = rows + row + 1, self.visible(line - 1)
            row = self.size(line) - 1
        return line, row

    def nearest(self, place: Place) -> Place:
        """The place, or the nearest one that there is."""
        line = min(max(0, place[0]), len(self.document.lines) - 1)
        shown = self.visible(line)
        return (shown, min(max(0, place[1]), self.size(shown) - 1)) if shown == line else (shown, 0)

    def at(self, line: int, offset: int) -> Place:
        """The row in which a character of a line is."""
        cut = self.document.cuts.get(line, [0])
        return line, bisect_right(cut, offset) - 1

    def row(self, place: Place, cells: int) -> Row:
        """What is drawn there."""
        line, number = place
        made, text = self.document, self.document.lines[place[0]]
        cut = made.cuts.get(line, [0])
        indent = made.indent(line, cells)
        if self.folded(line):
            closing = made.lines[made.nesting.ends[line] - 1]
            kind = ("key" if closing.startswith("}") else "item") + ("" if made.nesting.members[line] == 1 else "s")
            return Row(line, 0, text, indent, False, f"…{closing}  {made.nesting.members[line]:,} {kind}")
        start = cut[number]
        stop = cut[number + 1] if number + 1 < len(cut) else len(text)
        return Row(line, start, text[start:stop], indent, True if line in made.nesting.ends and number == 0 else None)
