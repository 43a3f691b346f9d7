"""The live output of a run: bounded, following its end until the operator looks back."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from itertools import islice

from crewtop.tui.folding import Row, cuts
from crewtop.tui.manner import safe
from crewtop.tui.search import Match, Search, in_line, pattern
from crewtop.tui.source import LogLines

MOST_LINES = 5_000
"""Lines that are kept; older ones are counted as lost."""

LONGEST_LINE = 2_000
"""Characters of a line that are kept."""


class Follow:
    """Lines of output with a window on them. Each line is wrapped once for a width, when it comes.

    note: why no more of them come, None while they do.
    """

    def __init__(self) -> None:
        self.lost = 0
        self.following = True
        self.note: str | None = None
        self.search = Search()
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._oldest = 0
        self._rows: list[Row] = []
        self._cells = 0
        self._top = 0
        self._height = 1

    def take(self, more: LogLines) -> None:
        """Add lines; those that no longer fit, and those that the source lost, are counted."""
        self.note = safe(more.note) if more.note is not None else None
        dropped = max(0, len(self._lines) + len(more.lines) - MOST_LINES)
        self.lost += more.lost + dropped
        self._oldest += dropped
        fresh = [safe(line)[:LONGEST_LINE] for line in more.lines[-MOST_LINES:]]
        self._lines.extend(fresh)
        self._forget()
        first = self._oldest + len(self._lines) - len(fresh)
        if self._cells:
            self._rows += _rows(first, fresh, self._cells)
        if self.search.wanted:
            self.search.add(self._found(first), self._oldest)

    def _forget(self) -> None:
        """Let go of the rows of lines that are gone; what is in sight stays where it is while it is there."""
        gone = bisect_left(self._rows, self._oldest, key=lambda row: row.line)
        del self._rows[:gone]
        self._top = max(0, self._top - gone)

    def rows(self, cells: int, height: int) -> list[Row]:
        """The rows in sight."""
        if cells != self._cells:
            self._cells = cells
            self._rows = _rows(self._oldest, self._lines, cells)
        self._height = max(1, height)
        last = self._last
        self._top = last if self.following else min(self._top, last)
        return self._rows[self._top : self._top + self._height]

    def newest(self, cells: int, height: int) -> list[Row]:
        """The last rows, wherever the window is."""
        lines = list(islice(reversed(self._lines), height))[::-1]
        return _rows(0, lines, cells)[-height:]

    @property
    def _last(self) -> int:
        return max(0, len(self._rows) - self._height)

    def scroll(self, command: str) -> bool:
        """Obey a command that moves; False if it is none. Going up stops following, the end takes it up again."""
        page = max(1, self._height - 1)
        end = self._last
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "first": -end, "last": end}
        if command not in steps:
            return False
        self._top = min(max(0, self._top + steps[command]), end)
        self.following = self._top >= end
        return True

    # Searching

    def look(self, wanted: str) -> None:
        """Find these characters, and go to the first place from the top of the window on."""
        self.search.wanted = wanted
        self.search.take(self._found(self._oldest) if wanted else ())
        self.search.nearest(self._rows[self._top].line if self._rows else 0)
        self._reveal()

    def step(self, steps: int) -> None:
        """Go to a later place, or an earlier one."""
        self.search.step(steps)
        self._reveal()

    def _found(self, first: int) -> Iterable[Match]:
        wanted = pattern(self.search.wanted)
        for line, text in enumerate(islice(self._lines, first - self._oldest, None), start=first):
            yield from in_line(line, text, wanted)

    def _reveal(self) -> None:
        match = self.search.current
        if match is None:
            return
        place = bisect_left(self._rows, (match.line, match.start + 1), key=lambda row: (row.line, row.offset)) - 1
        if not self._top <= place < self._top + self._height:
            self._top = min(max(0, place - self._height // 3), self._last)
        self.following = False

    # What can be taken away

    @property
    def text(self) -> str:
        """All lines that are kept."""
        return "\n".join(self._lines)

    def sight(self, cells: int) -> str:
        """What is in sight."""
        return "\n".join(row.text for row in self.rows(cells, self._height))


def _rows(first: int, lines: Iterable[str], cells: int) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(lines, start=first):
        begins = cuts(line, cells)
        rows += [Row(number, start, line[start:stop]) for start, stop in zip(begins, [*begins[1:], None], strict=True)]
    return rows
