"""What may be used and spent now, in sections: those with trouble come first, then those of what is well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.cells import cell_len

from crewtop import words
from crewtop.model.providers import Providers
from crewtop.model.snapshot import Snapshot
from crewtop.tui.columns import Cell, Column, Fitted, fit, heading, row
from crewtop.tui.manner import Manner
from crewtop.tui.paint import BLANK, Ground, Line, Span, clip, line
from crewtop.tui.views.cells import coarse, lead
from crewtop.tui.views.standingrows import (
    BUDGET_COLUMNS,
    CIRCUIT_COLUMNS,
    KEY_COLUMNS,
    LIMIT_COLUMNS,
    WELL,
    Entry,
    budget_entry,
    circuit_entry,
    key_entry,
    limit_entry,
)

LEAST_TO_PIN = 4
"""Lines from which on the titles stay in sight while rows go by, and what is cut off is counted."""


class Section(NamedTuple):
    """A table of at least one row."""

    columns: Sequence[Column]
    entries: Sequence[Entry]

    @property
    def urgency(self) -> int:
        """That of its most urgent row."""
        return self.entries[0].urgency


def sections(snapshot: Snapshot, manner: Manner) -> list[Section]:
    """Those of which there is anything: each kind by itself, and its rows in trouble apart from those that are well."""
    of = snapshot.providers or Providers()
    kinds: tuple[tuple[Sequence[Column], Iterable[Entry]], ...] = (
        (LIMIT_COLUMNS, (limit_entry(state, manner) for state in of.allowances)),
        (CIRCUIT_COLUMNS, map(circuit_entry, of.circuits)),
        (KEY_COLUMNS, map(key_entry, of.keys)),
        (BUDGET_COLUMNS, (budget_entry(budget, manner) for budget in snapshot.budgets)),
    )
    found = []
    for columns, entries in kinds:
        ordered = sorted(entries, key=lambda entry: entry.urgency)
        found.append(Section(columns, [entry for entry in ordered if entry.urgency < WELL]))
        found.append(Section(columns, [entry for entry in ordered if entry.urgency == WELL]))
    found = sorted((section for section in found if section.entries), key=lambda section: section.urgency)
    return [
        Section(columns, [entry for section in alike for entry in section.entries])
        for columns, alike in groupby(found, key=lambda section: section.columns)
    ]


def note(snapshot: Snapshot) -> str:
    """What has to be known of the figures; '' where they are of now."""
    of = snapshot.providers
    if of is None:
        return "" if snapshot.redis.up else "limits are not known: Redis has not told of them yet"
    if of.age:
        return f"limits as told {coarse(of.age)} ago: Redis is away"
    return f"workers leave out {words.count(of.omitted)} more" if of.omitted else ""


def drawn(
    found: Sequence[Section], current: str | None, on: bool, width: int, room: int, manner: Manner
) -> list[tuple[Line, str | None]]:
    """As many lines as fit, with the keys of the rows on them; the row under the cursor is always among them.

    current: the cursor's row; on: whether the cursor is shown.
    """
    items = _items(found, room)
    cut = len(items) > room
    counted = cut and room >= LEAST_TO_PIN
    most = room - counted
    place = next((i for i, item in enumerate(items) if item.entry is not None and item.entry.key == current), 0)
    top = max(0, min(place - most + 1, len(items) - most))
    shown = items[top : top + most]
    if counted and top and shown[1].entry is not None:
        shown[0] = shown[0]._replace(entry=None)  # whose rows these are
    fitted = {id(section): fit(section.columns, width - 3) for section in found}
    lines = [_line(item, fitted, current if on else None, manner) for item in shown]
    left = sum(item.entry is not None for item in items[top + most :])
    if counted:
        more = manner.own(f"and {words.count(left)} more: ↓") if left else ""
        lines.append((line("  ", Span(more, "muted")), None))
    return lines


class Item(NamedTuple):
    """A line: a row, the titles of a section where there is no row, or nothing."""

    section: Section | None = None
    entry: Entry | None = None


def _items(found: Sequence[Section], room: int) -> list[Item]:
    """All lines, parted by empty ones where there is room for these."""
    airy = sum(len(section.entries) + 2 for section in found) - 1 <= room
    items: list[Item] = []
    for section in found:
        items += [Item()] if items and airy else []
        items += [Item(section), *(Item(section, entry) for entry in section.entries)]
    return items


def _line(
    item: Item, fitted: dict[int, tuple[Fitted, ...]], current: str | None, manner: Manner
) -> tuple[Line, str | None]:
    if item.section is None:
        return BLANK, None
    columns = fitted[id(item.section)]
    if item.entry is None:
        return heading(columns, "  "), None
    here = item.entry.key == current
    ground: Ground = "cursor" if here else "ground"
    cells = [_tail(cell, place, columns, manner) for place, cell in enumerate(item.entry.cells)]
    return row(columns, cells, ground, lead(here, manner), manner.cut), item.entry.key


def _tail(cell: Cell, place: int, columns: Sequence[Fitted], manner: Manner) -> Cell:
    """Names of keys often differ in their ends alone: those are kept."""
    fits = next((each.cells for each in columns if each.place == place and each.column.title == "KEY"), None)
    if fits is None or not isinstance(cell, Span) or cell_len(cell.text) <= fits:
        return cell
    return cell._replace(text=manner.cut + clip(cell.text[::-1], fits - cell_len(manner.cut), "")[::-1])
