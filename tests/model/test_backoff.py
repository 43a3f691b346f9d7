"""The rest after failures grows, and stays between its bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.backoff import pause


@given(st.integers(0, 10**9))
def test_it_stays_between_half_the_shortest_and_the_longest(failures: int) -> None:
    assert 0.25 <= pause(failures, (0.5, 15.0)) <= 15.0


def test_after_many_failures_it_is_near_the_longest() -> None:
    assert pause(100, (0.5, 15.0)) >= 7.5
