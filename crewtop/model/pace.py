"""How fast things go now: which of the last buckets are asked, by every rate alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from crewtop.model.snapshot import Point

MINUTE_SECONDS = 60.0


def last_minute(points: Sequence[Point], at: datetime, bucket_seconds: float) -> tuple[Sequence[Point], float]:
    """The buckets of the last minute that are over, oldest first, and how many seconds they stand for.

    Where everything began less than a minute ago these begin with it, and in the very first bucket they are that one,
    although it still fills: nothing at all would be said otherwise. (), 60.0 where there are no points.
    """
    bucket = timedelta(seconds=bucket_seconds)
    over = sum(point.at + bucket <= at for point in points)
    begun = next(
        (i for i, point in enumerate(points) if point.backlog or point.arrived or point.done or point.spend), 0
    )
    if 0 < over <= begun < len(points):
        return points[begun:], bucket_seconds
    first = max(over - round(MINUTE_SECONDS / bucket_seconds), begun, 0)
    last = points[first:over]
    return last, len(last) * bucket_seconds if last else MINUTE_SECONDS
