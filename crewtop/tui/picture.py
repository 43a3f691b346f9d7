"""Which snapshot the screen shows: the newest, one held still, or one of the last hour; and whether to trust it."""

from __future__ import annotations

from collections.abc import Callable

from crewtop.model.snapshot import Snapshot
from crewtop.tui.past import Past

STARTING_SECONDS = 3.0
"""How long the first answer may take before its absence is called trouble."""

LATE_SECONDS = 5.0
"""Data older than this and than three pauses is stale, whether or not its source said so."""


class Picture:
    """shown: the snapshot on the screen; frozen: it is held still; back_in_time: and there are newer ones.

    trouble: why the newest question had no answer, None if it had. clock is monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.shown: Snapshot | None = None
        self.trouble: str | None = None
        self.frozen = False
        self.back_in_time = False
        self._past = Past()
        self._newest: Snapshot | None = None
        self._clock = clock
        self._told_at = clock()

    def take(self, snapshot: Snapshot) -> bool:
        """A new snapshot; whether it is now the one shown."""
        self._told_at, self.trouble = self._clock(), None
        self._newest = snapshot
        self._past.keep(snapshot)
        told = not self.frozen or self.shown is None  # who froze an empty screen waits for the first picture
        if told:
            self.shown = snapshot
        return told

    def freeze(self) -> None:
        """Hold what is shown still, or go on with the newest."""
        self.frozen, self.back_in_time = not self.frozen, False
        if not self.frozen:
            self.shown = self._newest

    def step(self, steps: int) -> str | None:
        """Show an earlier picture (steps < 0) or a later one, up to now; answers why it cannot, or None."""
        if self.shown is None or (steps > 0 and not self.frozen):
            return "this is now: [ steps back"
        found = self._past.step(self.shown.at, steps)
        if found is None:
            self.frozen = self.back_in_time = False
            self.shown = self._newest
        elif steps < 0 and found.at >= self.shown.at:
            return "this is the oldest picture that this screen has"
        else:
            self.frozen = self.back_in_time = True
            self.shown = found
        return None

    @property
    def age(self) -> float:
        """Seconds since the last answer."""
        return self._clock() - self._told_at

    @property
    def starting(self) -> bool:
        """Whether no answer is no trouble yet: stores take a moment to open."""
        return self.shown is None and self.age < STARTING_SECONDS

    def stale(self, pause: float) -> bool:
        """Whether what is shown may no longer be true; pause is the seconds between two questions."""
        if self.shown is None or not self.shown.postgres.up:
            return True
        return self.trouble is not None or self.age > max(LATE_SECONDS, 3 * pause)
