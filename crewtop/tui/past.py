"""The last hour of snapshots, kept in memory, to step back through."""

from __future__ import annotations

import pickle
import zlib
from bisect import bisect_left, bisect_right
from collections import deque
from datetime import datetime, timedelta

from crewtop.model.snapshot import Snapshot

KEPT = timedelta(hours=1)
APART = timedelta(seconds=2)
"""Snapshots closer than this to the one before are not kept: an hour of them takes about 10 MB."""

STEPS_A_MINUTE = 30


class Past:
    """Snapshots by the database's clock, each packed on its own: most are never looked at again."""

    def __init__(self) -> None:
        self._at: deque[datetime] = deque()
        self._packed: deque[bytes] = deque()

    def keep(self, snapshot: Snapshot) -> None:
        """Remember a snapshot, and forget what is over an hour old."""
        if self._at and snapshot.at < self._at[-1]:
            self._at.clear()  # another server, or its clock was set back: one axis of time, or none
            self._packed.clear()
        if not self._at or snapshot.at - self._at[-1] >= APART:
            self._at.append(snapshot.at)
            self._packed.append(zlib.compress(pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL), 1))
        while snapshot.at - self._at[0] > KEPT:
            self._at.popleft()
            self._packed.popleft()

    def step(self, shown: datetime, steps: int) -> Snapshot | None:
        """The snapshot so many steps after the one shown at an instant (before, if negative); None beyond the newest.

        Beyond the oldest it is the oldest.
        """
        times = list(self._at)
        place = bisect_left(times, shown) + steps if steps < 0 else bisect_right(times, shown) - 1 + steps
        if place >= len(times) or not times:
            return None
        packed: Snapshot = pickle.loads(zlib.decompress(self._packed[max(0, place)]))
        return packed

    def __len__(self) -> int:
        return len(self._at)
