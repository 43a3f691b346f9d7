"""A sheet of plain text of a given width: safe words, lines that fit, tables whose least important columns go first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from crewtop.text import masked, shown

_GAP = 2

# What we write ourselves, and the pictures of controls in the caret notation of cat -v.
_ASCII = str.maketrans(
    {"•": "*", "·": "-", "…": "...", "≥": ">=", "⏎": "^J", "␡": "^?"}
    | {chr(0x2400 + code): f"^{chr(0x40 + code)}" for code in range(0x20)}
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Where space is short, stretch ones are cut to narrowest cells, then the highest drop goes
    first. A column whose drop is 0 always stays.
    """

    title: str
    cells: Sequence[str]
    right: bool = False
    drop: int = 0
    stretch: bool = False
    narrowest: int = 12

    @property
    def widest(self) -> int:
        """Cells that the title and every value need."""
        return max(map(cell_len, (self.title, *self.cells)))

    @property
    def least(self) -> int:
        """Cells that the column cannot do without."""
        return min(self.widest, max(self.narrowest, cell_len(self.title))) if self.stretch else self.widest


@dataclass(frozen=True, slots=True)
class Paper:
    """Lays out text for a width in cells; with ascii, everything is said in ASCII."""

    width: int
    ascii: bool = False

    def safe(self, text: str, *, lines: bool = False) -> str:
        """Text from a task or a store, masked and made visible; on one line unless lines is set."""
        return self.own(shown(masked(text), lines=lines))

    def own(self, text: str) -> str:
        """Text that is safe already, in the characters of this paper."""
        return text.translate(_ASCII).encode("ascii", "backslashreplace").decode() if self.ascii else text

    def cut(self, text: str, width: int | None = None) -> str:
        """Text that takes at most width cells, by default a line; what was cut ends with an ellipsis."""
        width = self.width if width is None else width
        if cell_len(text) <= width:
            return text
        end = self.own("…")
        return set_cell_size(text, max(width - len(end), 0)).rstrip() + end[:width]

    def flow(self, parts: Iterable[str], gap: str = " ") -> list[str]:
        """Parts one after another with gap between, on as many lines as they need; a part that is too long is cut."""
        lines: list[str] = []
        for part in parts:
            if lines and cell_len(lines[-1] + gap + part) <= self.width:
                lines[-1] += gap + part
            else:
                lines.append(self.cut(part))
        return lines

    def table(self, columns: Sequence[Column]) -> list[str]:
        """A line of titles and a line a row."""
        kept = list(columns)
        while self._room(kept) < 0 and any(column.drop for column in kept):
            kept.remove(max(kept, key=lambda column: column.drop))
        room = max(self._room(kept), 0)
        widths = []
        for column in kept:
            widths.append(min(column.widest, column.least + room))
            room -= widths[-1] - column.least
        rows = [[column.title for column in kept], *zip(*(column.cells for column in kept), strict=True)]
        return [self._line(row, kept, widths) for row in rows]

    def _room(self, columns: Sequence[Column]) -> int:
        return self.width - sum(column.least + _GAP for column in columns) + _GAP

    def _line(self, row: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
        cells = []
        for text, column, width in zip(row, columns, widths, strict=True):
            cell = self.cut(text, width)
            padding = " " * (width - cell_len(cell))
            cells.append(padding + cell if column.right else cell + padding)
        return self.cut((" " * _GAP).join(cells).rstrip())
