"""The last hour of snapshots, kept in memory, to step back through."""

from __future__ import annotations

import pickle
import zlib
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from crewtop.model.snapshot import Snapshot

KEPT = timedelta(hours=1)
APART = timedelta(seconds=2)
"""Snapshots closer than this to the one before are not kept: an hour of them takes about 10 MB."""

BLOCK = 15
"""So many are packed together: most are never looked at again, and most of each is as in the one before."""

STEPS_A_MINUTE = 30


class Past:
    """Snapshots by the database's clock: the newest as they are, those before in packed blocks."""

    def __init__(self) -> None:
        self._forget_all()

    def _forget_all(self) -> None:
        self._at: deque[datetime] = deque()
        self._blocks: deque[bytes] = deque()
        self._newest: list[Snapshot] = []
        self._forgotten = 0  # of the first block

    def keep(self, snapshot: Snapshot) -> None:
        """Remember a snapshot, and forget what is over an hour old."""
        if self._at and snapshot.at < self._at[-1]:
            self._forget_all()  # another server, or its clock was set back: one axis of time, or none
        if not self._at or snapshot.at - self._at[-1] >= APART:
            self._at.append(snapshot.at)
            self._newest.append(_sharing(snapshot, self._newest[-1]) if self._newest else snapshot)
            if len(self._newest) == BLOCK:
                self._blocks.append(zlib.compress(pickle.dumps(self._newest, pickle.HIGHEST_PROTOCOL), 1))
                self._newest = []
        while snapshot.at - self._at[0] > KEPT:
            self._at.popleft()
            self._forgotten += 1
            if self._forgotten == BLOCK:
                self._blocks.popleft()
                self._forgotten = 0

    def step(self, shown: datetime, steps: int) -> Snapshot | None:
        """The snapshot so many steps after the one shown at an instant (before, if negative); None beyond the newest.

        Beyond the oldest it is the oldest.
        """
        times = list(self._at)
        place = bisect_left(times, shown) + steps if steps < 0 else bisect_right(times, shown) - 1 + steps
        if place >= len(times) or not times:
            return None
        number, within = divmod(max(0, place) + self._forgotten, BLOCK)
        if number == len(self._blocks):
            return self._newest[within]
        block: list[Snapshot] = pickle.loads(zlib.decompress(self._blocks[number]))
        return block[within]

    def __len__(self) -> int:
        return len(self._at)


_PARTS = [part.name for part in fields(Snapshot)]


def _sharing(snapshot: Snapshot, before: Snapshot) -> Snapshot:
    """The snapshot, made of what the one before has too as far as it goes: packed with it, that costs nothing."""
    return replace(snapshot, **{name: _shared(getattr(snapshot, name), getattr(before, name)) for name in _PARTS})


def _shared(part: Any, before: Any) -> Any:
    if part == before:
        return before
    if isinstance(part, tuple) and len(part) == len(before):
        return tuple(map(_shared, part, before))
    return part
