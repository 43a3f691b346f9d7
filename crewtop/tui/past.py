"""The last hour of snapshots, kept in memory, to step back through."""

from __future__ import annotations

import pickle
import zlib
from bisect import bisect_left, bisect_right
from collections import deque
from dataclasses import replace
from datetime import datetime, timedelta

from crewtop.model.snapshot import Snapshot

KEPT = timedelta(hours=1)
APART = timedelta(seconds=2)
"""Snapshots closer than this to the one before are not kept: an hour of them takes about 10 MB."""

STEPS_A_MINUTE = 30


class Past:
    """Snapshots by the database's clock, each packed on its own: most are never looked at again.

    Those that say the same share what is packed.
    """

    def __init__(self) -> None:
        self._at: deque[datetime] = deque()
        self._packed: deque[bytes] = deque()
        self._last: Snapshot | None = None

    def keep(self, snapshot: Snapshot) -> None:
        """Remember a snapshot, and forget what is over an hour old."""
        if self._at and snapshot.at < self._at[-1]:
            self._at.clear()  # another server, or its clock was set back: one axis of time, or none
            self._packed.clear()
        if not self._at or snapshot.at - self._at[-1] >= APART:
            self._at.append(snapshot.at)
            still = self._last is not None and bool(self._packed) and _same(snapshot, self._last)
            self._packed.append(self._packed[-1] if still else _pack(snapshot))
            self._last = snapshot
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
        found: Snapshot = pickle.loads(zlib.decompress(self._packed[max(0, place)]))
        return replace(found, at=times[max(0, place)])

    def __len__(self) -> int:
        return len(self._at)


def _pack(snapshot: Snapshot) -> bytes:
    return zlib.compress(pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL), 1)


def _same(one: Snapshot, other: Snapshot) -> bool:
    """Whether two say the same but for the instant, and how quickly the stores answered."""
    postgres = replace(one.postgres, latency=other.postgres.latency)
    redis = replace(one.redis, latency=other.redis.latency)
    return replace(one, at=other.at, postgres=postgres, redis=redis) == other
