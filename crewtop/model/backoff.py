"""How long to rest after failures in a row."""

from __future__ import annotations

import random


def pause(failures: int, between: tuple[float, float]) -> float:
    """Jittered seconds to rest after so many failures in a row: doubling from the shortest to the longest."""
    shortest, longest = between
    return min(longest, shortest * 2.0 ** min(failures, 16)) * random.uniform(0.5, 1.0)
