"""How much a worker dares to use: arithmetic with a clock that is passed in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.demo.provider.behaviour import Behaviour
from crewtop.demo.provider.limits import Meter
from crewtop.llm.allowances import PROBES, RECOVERS_SECONDS, Log, Pace, Told, alone, at_loss, told
from crewtop.model.allowance import Limits

THREE_THOUSAND = Limits(requests_per_minute=3_000)


@given(
    limit=st.integers(1, 30),
    tokens=st.integers(100, 2_000),
    calls=st.lists(st.tuples(st.integers(1, 100), st.floats(0.0, 0.9), st.floats(0.0, 20.0)), max_size=150),
)
def test_a_log_never_lets_out_what_a_strict_provider_refuses_and_waits_no_longer_than_needed(
    limit: int, tokens: int, calls: list[tuple[int, float, float]]
) -> None:
    limits, provider, log = (
        Limits(limit, tokens),
        Meter(Behaviour(requests_per_minute=limit, tokens_per_minute=tokens)),
        Log(),
    )
    now = 0.0
    arrivals = []
    for number, (size, on_the_way, rest) in enumerate(calls):
        now += rest
        log.purge(now)
        again = log.again(limits, size)
        if again > now:
            now = again
            log.purge(now)
        assert log.requests < limit
        assert log.tokens + size <= tokens
        log.enter(str(number), size, now + 61.0)
        arrivals.append((now + on_the_way, size))
    for at, size in sorted(arrivals):
        assert provider.admit(at, size) is None


def test_a_settled_call_counts_its_real_tokens_and_no_longer_than_needed() -> None:
    log = Log()
    log.enter("a", 100, 61.0)
    log.settle("a", 30, 60.5)
    log.settle("unknown", 30, 60.5)
    assert (log.requests, log.tokens) == (1, 30)
    log.settle("a", None, 99.0)
    log.purge(60.5)
    assert (log.requests, log.tokens) == (0, 0)


def test_a_429_lowers_once_for_all_that_were_out_and_recovers_within_ten_seconds_of_an_answer() -> None:
    pace = Pace(THREE_THOUSAND)
    pace.refused(10.0, permitted_at=9.0, pause=1.0)
    pace.refused(10.1, permitted_at=9.5, pause=1.0)
    assert pace.limits(11.0).requests_per_minute == 2_400
    assert pace.reason(11.0) == "lowered to 80% after a 429"
    pace.answered(12.0, permitted_at=9.0, flying=1)  # from before: it says nothing
    assert pace.limits(60.0).requests_per_minute == 2_400
    pace.answered(60.0, permitted_at=12.0, flying=1)
    assert pace.limits(60.0 + RECOVERS_SECONDS / 2).requests_per_minute == 2_700
    assert pace.limits(60.0 + RECOVERS_SECONDS) == THREE_THOUSAND
    assert pace.reason(60.0 + RECOVERS_SECONDS) is None


def test_after_a_long_pause_a_few_calls_go_ahead_until_one_is_answered() -> None:
    pace = Pace(THREE_THOUSAND)
    pace.refused(10.0, permitted_at=9.0, pause=30.0)
    assert pace.limits(40.0).at_once == PROBES
    pace.answered(42.0, permitted_at=40.0, flying=1)
    assert pace.limits(42.0).at_once is None


def test_unknown_limits_are_tried_out_only_as_far_as_they_are_used() -> None:
    pace = Pace(Limits())
    for _ in range(100):
        pace.answered(1.0, permitted_at=0.0, flying=9)
    assert pace.limits(1.0) == Limits(at_once=10)
    pace.answered(1.0, permitted_at=0.0, flying=10)
    assert pace.limits(1.0) == Limits(at_once=11)


def test_limits_are_taken_from_headers_unless_they_are_of_a_day() -> None:
    pace = Pace(Limits())
    assert pace.limits(0.0) == Limits(at_once=10)
    pace.learn({"x-ratelimit-limit-requests": "500", "x-ratelimit-reset-requests": "120ms"}, {}, 1.0)
    assert pace.limits(1.0) == Limits(requests_per_minute=500)
    assert told({"x-ratelimit-limit-requests": "14400", "x-ratelimit-reset-requests": "2m59.56s"}, "requests") == Told(
        None, None
    )
    anthropic = {
        "anthropic-ratelimit-tokens-limit": "40000",
        "anthropic-ratelimit-tokens-remaining": "39000",
        "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:00Z",
    }
    assert told(anthropic, "tokens") == Told(40_000, 39_000)


@pytest.mark.parametrize("text", ["", "-5", "many", "1e9", "9" * 40])
def test_a_header_that_is_no_number_tells_nothing(text: str) -> None:
    assert told({"x-ratelimit-limit-tokens": text}, "tokens") == Told(None, None)


def test_what_others_use_of_a_key_is_left_to_them_and_forgotten_in_a_minute() -> None:
    pace = Pace(THREE_THOUSAND)
    headers = {"x-ratelimit-limit-requests": "3000", "x-ratelimit-remaining-requests": "1000"}
    pace.learn(headers, {"requests": 2_900.0}, 0.0)
    assert pace.limits(0.0).requests_per_minute == 1_100
    assert pace.limits(30.0).requests_per_minute == 2_050
    assert pace.limits(60.0).requests_per_minute == 3_000
    pace.learn(headers, {"requests": 1_100.0}, 61.0)  # calls that overtook each other
    assert pace.limits(61.0).requests_per_minute == 3_000


def test_alone_each_has_an_equal_part_and_after_a_loss_no_more_than_was_free() -> None:
    assert alone(Limits(100, 1_000, 2), 3) == Limits(33, 333, 1)
    assert at_loss(Limits(100, 1_000, 9), 3, (10, 50, 1), (70, 1_200, 3)) == Limits(20, 50, 3)
