"""How much cpu and memory a worker and its executors take."""

from __future__ import annotations

import contextlib
import time

import psutil


class Usage:
    """Measures this process and everything below it, from one call to the next."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._before: tuple[float, float] | None = None

    def measure(self) -> tuple[float | None, int]:
        """Percent of one core since the last call (None at first), and resident bytes, shared ones counted again."""
        seconds, memory = 0.0, 0
        for process in [self._process, *self._process.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                seconds += times.user + times.system
                memory += process.memory_info().rss
        now, before = time.monotonic(), self._before
        self._before = (now, seconds)
        if before is None or now <= before[0]:
            return None, memory
        # Executors that ended meanwhile have taken their seconds along.
        return 100 * max(0.0, seconds - before[1]) / (now - before[0]), memory
