"""A breaker opens after failures, lets one probe through, and leaves everything else alone."""

from __future__ import annotations

import pytest

from crewtop.llm.asking import Fault
from crewtop.llm.breaker import FAILURES, FIRST_SECONDS, LONGEST_SECONDS, PROBE_SECONDS, Breakers
from tests.llm.conftest import Clock

ME = ("openai", "gpt-4.1")


@pytest.fixture
def breakers(clock: Clock) -> Breakers:
    return Breakers(clock, jitter=lambda: 0.0)


def break_it(breakers: Breakers, fault: Fault = Fault.SERVER) -> str | None:
    told = None
    for _ in range(FAILURES):
        breakers.wait_seconds(*ME)
        told = breakers.failed(*ME, fault)
    return told


def test_calls_go_out_until_too_many_failed_in_a_row(breakers: Breakers) -> None:
    for _ in range(FAILURES - 1):
        assert breakers.wait_seconds(*ME) == 0.0
        assert breakers.failed(*ME, Fault.TIMEOUT) is None
    assert breakers.wait_seconds(*ME) == 0.0
    assert breakers.failed(*ME, Fault.TIMEOUT) == "timeout: openai/gpt-4.1, tried again in 2 s"
    assert breakers.wait_seconds(*ME) == FIRST_SECONDS


def test_an_answer_in_between_starts_the_count_again(breakers: Breakers) -> None:
    for _ in range(FAILURES - 1):
        breakers.failed(*ME, Fault.SERVER)
    breakers.answered(*ME)
    assert breakers.failed(*ME, Fault.SERVER) is None
    assert breakers.wait_seconds(*ME) == 0.0


def test_a_refusal_of_the_request_shows_that_the_provider_is_there(breakers: Breakers) -> None:
    for _ in range(FAILURES - 1):
        breakers.failed(*ME, Fault.SERVER)
    breakers.failed(*ME, Fault.CONTEXT)
    assert breakers.failed(*ME, Fault.SERVER) is None


def test_other_models_and_providers_are_untouched(breakers: Breakers) -> None:
    break_it(breakers)
    assert breakers.wait_seconds("openai", "gpt-4.1-mini") == 0.0
    assert breakers.wait_seconds("anthropic", "gpt-4.1") == 0.0


def test_one_probe_alone_goes_out_and_its_answer_closes(breakers: Breakers, clock: Clock) -> None:
    break_it(breakers)
    clock.now += FIRST_SECONDS
    assert breakers.wait_seconds(*ME) == 0.0
    assert breakers.wait_seconds(*ME) > 0.0
    assert [state.status for state in breakers.states()] == ["half-open"]
    breakers.answered(*ME)
    assert breakers.wait_seconds(*ME) == 0.0
    assert breakers.states() == ()


def test_who_may_be_the_probe_finds_it_open_with_nothing_to_wait_for(breakers: Breakers, clock: Clock) -> None:
    break_it(breakers)
    clock.now += FIRST_SECONDS
    [state] = breakers.states()
    assert (state.status, state.resumes_in) == ("open", 0.0)


def test_each_failed_probe_doubles_the_rest_up_to_a_limit(breakers: Breakers, clock: Clock) -> None:
    break_it(breakers)
    rests = []
    for _ in range(8):
        clock.now += breakers.wait_seconds(*ME)
        assert breakers.wait_seconds(*ME) == 0.0
        breakers.failed(*ME, Fault.SERVER)
        rests.append(breakers.wait_seconds(*ME))
    assert rests == [min(LONGEST_SECONDS, FIRST_SECONDS * 2**n) for n in range(1, 9)]


def test_failures_of_calls_that_were_out_before_do_not_prolong_the_rest(breakers: Breakers, clock: Clock) -> None:
    break_it(breakers)
    clock.now += 1.0
    assert breakers.failed(*ME, Fault.SERVER) is None
    assert breakers.wait_seconds(*ME) == FIRST_SECONDS - 1.0


def test_a_probe_that_never_went_out_makes_room_for_another(breakers: Breakers, clock: Clock) -> None:
    break_it(breakers)
    clock.now += FIRST_SECONDS
    assert breakers.wait_seconds(*ME) == 0.0
    breakers.unsent(*ME)
    assert breakers.wait_seconds(*ME) == 0.0


def test_a_probe_that_nobody_settles_is_given_up(breakers: Breakers, clock: Clock) -> None:
    break_it(breakers)
    clock.now += FIRST_SECONDS
    assert breakers.wait_seconds(*ME) == 0.0
    clock.now += PROBE_SECONDS
    assert breakers.wait_seconds(*ME) == 0.0


def test_a_429_opens_it_at_once_for_as_long_as_it_says(breakers: Breakers, clock: Clock) -> None:
    assert breakers.throttled(*ME, 30.0) == "throttled: openai/gpt-4.1, tried again in 30 s"
    assert breakers.throttled(*ME, 29.0) is None
    [state] = breakers.states()
    assert (state.status, state.resumes_in, state.why) == ("open", 30.0, "throttled")
    clock.now += 30.0
    assert breakers.wait_seconds(*ME) == 0.0


def test_workers_do_not_come_back_in_step(clock: Clock) -> None:
    first, second = Breakers(clock, jitter=lambda: 0.1), Breakers(clock, jitter=lambda: 0.9)
    for breakers in (first, second):
        breakers.throttled(*ME, 30.0)
    assert 30.0 < first.wait_seconds(*ME) < second.wait_seconds(*ME) < 38.0
