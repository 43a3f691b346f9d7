"""Every change of a task's status: when, by whom, why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crewtop import words
from crewtop.model.detail import HistoryRow
from crewtop.tui.columns import Cell, Column, fit, heading, row
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import Line, Span, joined
from crewtop.tui.views.cells import STATUS_ROLES

HISTORY_COLUMNS = (
    Column("STATUS", 24, most=28),
    Column("RUN", 8, 3, right=True),
    Column("BY", 14, 1, most=30),
    Column("WHY", 12, 2, most=120),
)


def lines(history: Sequence[HistoryRow], at: datetime, width: int, manner: Manner) -> list[Line]:
    """The table with its heading; dates only where not all is of the day of at."""
    today = all(change.at.date() == at.date() for change in history)
    fitted = fit((Column("AT", 13 if today else 24), *HISTORY_COLUMNS), width - 3)
    drawn = [heading(fitted, "  ")]
    for change in history:
        before = Span(f"{safe(change.old_status)} {manner.glyph('→')} " if change.old_status else "", "muted")
        new = Span(manner.status(change.new_status), STATUS_ROLES.get(change.new_status, "text"))
        cells: list[Cell] = [
            Span(manner.clock(change.at) if today else manner.stamp(change.at), "muted"),
            joined(before, new),
            Span(str(change.run_id) if change.run_id is not None else words.NOTHING, "muted"),
            data(change.actor),
            data(change.reason or "", "muted"),
        ]
        drawn.append(row(fitted, cells, "ground", (Span("  "),), manner.cut))
    return drawn
