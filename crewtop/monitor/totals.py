"""Counters of all that has ended, kept in memory: what can no longer change is read once, then only what is new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from crewtop.model.totals import CALLS, RUNS, Totals
from crewtop.store.database import Database
from crewtop.store.totals import read

SETTLE_SECONDS = 60.0
"""A rollup may still grow for so long after it began: no statement of a worker takes longer."""

FOLDED_SECONDS = 3_600.0
"""After a gap of so long all is read again: rollups may have been folded across the instant that was read up to."""

Sums = defaultdict[tuple[str, str, str], Decimal]


class Totalling:
    """Reads Totals of one database again and again, from it or from a standby that hardly lags."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._cut: datetime | None = None
        self._repriced: str | None = None
        self._runs: Sums = defaultdict(Decimal)
        self._calls: Sums = defaultdict(Decimal)

    async def read(self, database: Database) -> Totals:
        """The totals of now. Raises Unavailable where the database cannot answer."""
        raw = await read(database, self._cut, SETTLE_SECONDS)
        if self._cut is not None and self._is_stale(raw):
            self._forget()
            raw = await read(database, None, SETTLE_SECONDS)
        self._cut, self._repriced = datetime.fromisoformat(raw["cut"]), raw["repriced"]
        return Totals(
            _taken(self._runs, raw["runs"] or (), ("queue", "crew"), RUNS),
            _taken(self._calls, raw["calls"] or (), ("provider", "model"), CALLS),
        )

    def _is_stale(self, raw: Mapping[str, Any]) -> bool:
        """Whether what was read before does not hold any longer: prices were written anew, or it is too long ago."""
        gap = datetime.fromisoformat(raw["at"]) - (self._cut or datetime.max)
        return raw["repriced"] != self._repriced or gap > timedelta(seconds=FOLDED_SECONDS)


def _taken(kept: Sums, rows: Iterable[Mapping[str, Any]], by: tuple[str, str], measures: Sequence[str]) -> Sums:
    """All sums; those of rows that are settled are kept for the next time."""
    growing: Sums = defaultdict(Decimal)
    for row in rows:
        sums = kept if row["settled"] else growing
        for measure in measures:
            sums[row[by[0]], row[by[1]], measure] += Decimal(row[measure])
    whole = kept.copy()
    for key, n in growing.items():
        whole[key] += n
    return whole
