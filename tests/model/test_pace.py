"""Which buckets a rate is of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crewtop.model.pace import last_minute
from crewtop.model.snapshot import Point

NOW = datetime(2026, 3, 14, 14, 2, 11, tzinfo=UTC)
LAST = NOW - timedelta(seconds=1)
"""When the bucket began that still fills."""


def series(*done: int) -> list[Point]:
    """A quarter of an hour that ends in these buckets, the last of which still fills."""
    counts = (*[0] * (90 - len(done)), *done)
    return [
        Point(LAST - timedelta(seconds=10 * (89 - i)), 0, 0, count, 0, None, None, 0.0)
        for i, count in enumerate(counts)
    ]


@pytest.mark.parametrize(
    ("done", "of", "seconds"),
    [
        ((1,) * 90, [1] * 6, 60.0),
        ((1, 2, 3, 4, 5, 6, 7, 8, 9), [3, 4, 5, 6, 7, 8], 60.0),
        ((2, 3, 9), [2, 3], 20.0),
        ((9,), [9], 10.0),
        ((), [0] * 6, 60.0),
    ],
)
def test_a_rate_is_of_the_last_minute_that_is_over_and_of_what_there_is_in_the_first(
    done: tuple[int, ...], of: list[int], seconds: float
) -> None:
    points, length = last_minute(series(*done), NOW, 10)
    assert ([point.done for point in points], length) == (of, seconds)


def test_without_points_there_is_no_rate() -> None:
    assert last_minute([], NOW, 10) == ([], 60.0)
