"""The live output of a run: bounded, following its end until the operator looks back."""

from __future__ import annotations

from collections import deque

from crewtop.tui.manner import safe
from crewtop.tui.reading import wrapped
from crewtop.tui.source import LogLines

MOST_LINES = 5_000
"""Lines that are kept; older ones are counted as lost."""

LONGEST_LINE = 2_000
"""Characters of a line that are kept."""


class Follow:
    """Lines of output with a window on them."""

    def __init__(self) -> None:
        self.lost = 0
        self.following = True
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._rows: list[str] = []
        self._cells = 0
        self._top = 0
        self._height = 1

    def take(self, more: LogLines) -> None:
        """Add lines; those that no longer fit, and those that the source lost, are counted."""
        self.lost += more.lost + max(0, len(self._lines) + len(more.lines) - MOST_LINES)
        fresh = [safe(line)[:LONGEST_LINE] for line in more.lines[-MOST_LINES:]]
        dropped = len(self._lines) + len(fresh) > MOST_LINES
        self._lines.extend(fresh)
        if dropped:
            self._cells = 0  # wrap anew
        elif self._cells:
            self._rows += [row for line in fresh for row in wrapped(line, self._cells)]

    def rows(self, cells: int, height: int) -> list[str]:
        """The rows in sight."""
        if cells != self._cells:
            self._cells = cells
            self._rows = [row for line in self._lines for row in wrapped(line, cells)]
        self._height = max(1, height)
        last = max(0, len(self._rows) - self._height)
        self._top = last if self.following else min(self._top, last)
        return self._rows[self._top : self._top + self._height]

    def scroll(self, command: str) -> bool:
        """Obey a command that moves; False if it is none. Going up stops following, the end takes it up again."""
        page = max(1, self._height - 1)
        end = max(0, len(self._rows) - self._height)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "first": -end, "last": end}
        if command not in steps:
            return False
        self._top = min(max(0, self._top + steps[command]), end)
        self.following = self._top >= end
        return True
