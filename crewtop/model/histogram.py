"""Mergeable histograms of durations at 1 % relative error: the buckets of DDSketch.

A duration of x seconds falls into bucket i = ceil(ln x / ln gamma) with gamma = (1 + a) / (1 - a), a = 0.01, so that
2 gamma^i / (gamma + 1) is within 1 % of every x in it (Masson, Rim, Lee: DDSketch, VLDB 2019). A histogram is a plain
mapping from bucket number to count; merging is addition. The database computes the same bucket (crewtop.bucket).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

RELATIVE_ERROR = 0.01
GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
SMALLEST_SECONDS = 1e-6

Histogram = Mapping[int, int]


def bucket(seconds: float) -> int:
    """The bucket of a duration in seconds; everything up to a microsecond shares one."""
    return math.ceil(math.log(max(seconds, SMALLEST_SECONDS)) / math.log(GAMMA))


def value(number: int) -> float:
    """The duration in seconds that stands for a bucket: within 1 % of everything in it."""
    return 2 * GAMMA**number / (GAMMA + 1)


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """One histogram of all: exact, in whatever order."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        total.update(histogram)
    return total


def quantile(histogram: Histogram, q: float) -> float | None:
    """The q-quantile (0 to 1) in seconds, None of nothing: the least that a share q does not exceed, as PostgreSQL's
    percentile_disc has it. So of few durations the highest quantiles are the longest one, which nobody should miss.
    """
    n = sum(histogram.values())
    if n == 0:
        return None
    rank, seen = rank_of(q, n), 0
    for number in sorted(histogram):
        seen += histogram[number]
        if seen > rank:
            return value(number)
    raise AssertionError("unreachable: rank is below n")


def rank_of(q: float, n: int) -> int:
    """The place, from 0, of the q-quantile (0 to 1) among n sorted values."""
    return max(0, math.ceil(round(q * n, 9)) - 1)  # rounded: 0.07 * 100 is a little more than 7
