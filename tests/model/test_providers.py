"""What all workers say of providers, put together and judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.allowance import AllowanceState
from crewtop.model.durations import countdown
from crewtop.model.providers import (
    Circuit,
    KeyHealth,
    Providers,
    Throttled,
    Told,
    allowance_words,
    fullness,
    keyless,
    throttled,
    together,
)

OPEN = Circuit("openai", "gpt-4.1", "open", 12.0, "timeout", 5)
READY = KeyHealth("openai", "KEY_A", "ready")
RETIRED = KeyHealth("openai", "KEY_A", "retired", why="refused by the provider")


def allowance(model: str, key: str = "KEY_A", resumes_in: float | None = None) -> AllowanceState:
    return AllowanceState("openai", model, key, 3_000, 2_940, None, 0, None, 4, resumes_in, "why")


def test_a_circuit_is_as_bad_as_the_worst_worker_has_it_and_tried_when_the_first_one_tries() -> None:
    half = Circuit("openai", "gpt-4.1", "half-open", 0.0, "server", 7)
    [circuit] = together((), [Told((OPEN,)), Told((half,))]).circuits
    assert circuit == Circuit("openai", "gpt-4.1", "open", 0.0, "timeout", 7, workers=2)


def test_a_key_says_how_many_of_those_that_have_it_say_so() -> None:
    told = together((), [Told(keys=(READY,)), Told(keys=(RETIRED,)), Told(omitted=3)])
    assert told.keys == (replace(RETIRED, workers=1, of=2),)
    assert told.omitted == 3
    assert not told.keys[0].dead


@pytest.mark.parametrize(
    ("keys", "without"),
    [
        ((), []),
        ((RETIRED,), ["openai"]),
        ((replace(RETIRED, of=2),), []),
        ((RETIRED, replace(READY, name="KEY_B")), []),
        ((RETIRED, KeyHealth("google", "G", "resting", 9.0)), ["openai"]),
    ],
)
def test_a_provider_is_without_keys_where_each_is_dead_for_every_worker(
    keys: tuple[KeyHealth, ...], without: list[str]
) -> None:
    assert keyless(Providers(keys=keys)) == without


@pytest.mark.parametrize(
    ("providers", "found"),
    [
        (Providers((allowance("gpt-4.1"),)), []),
        (Providers((allowance("gpt-4.1", resumes_in=27.0),)), [Throttled("openai", ("gpt-4.1",), 27.0)]),
        (Providers((allowance("gpt-4.1", resumes_in=0.4),)), []),
        (Providers((allowance("gpt-4.1", resumes_in=27.0), allowance("gpt-4.1", "KEY_B"))), []),
        (
            Providers((allowance("gpt-4.1", resumes_in=27.0), allowance("gpt-4.1", "KEY_B", 9.0))),
            [Throttled("openai", ("gpt-4.1",), 9.0)],
        ),
        (
            Providers((allowance("*", resumes_in=30.0), allowance("mini"), allowance("gpt-4.1", resumes_in=40.0))),
            [Throttled("openai", ("gpt-4.1", "mini"), 40.0)],
        ),
        (
            Providers((allowance("gpt-4.1"), allowance("gpt-4.1", "KEY_B", 27.0)), keys=(RETIRED,)),
            [Throttled("openai", ("gpt-4.1",), 27.0)],
        ),
        (Providers(circuits=(OPEN,)), []),
        (Providers(circuits=(replace(OPEN, why="throttled"),)), [Throttled("openai", ("gpt-4.1",), 12.0)]),
    ],
    ids=["free", "waits", "a moment", "other key", "both keys", "all models", "dead key", "broken", "circuit"],
)
def test_a_provider_is_throttled_where_no_key_lets_a_model_out(providers: Providers, found: list[Throttled]) -> None:
    assert throttled(providers) == found


def test_while_nobody_can_be_asked_what_was_to_be_waited_for_comes_nearer_and_then_is_over() -> None:
    resting = KeyHealth("openai", "KEY_B", "resting", 20.0, "rate limit")
    told = Providers((allowance("gpt-4.1", resumes_in=15.0),), (OPEN,), (RETIRED, resting))
    soon, later = told.after(10), told.after(10).after(20)
    assert (soon.age, later.age) == (10, 30)
    assert [soon.allowances[0].resumes_in, soon.circuits[0].resumes_in, soon.keys[1].resumes_in] == [5.0, 2.0, 10.0]
    assert later.allowances == (replace(allowance("gpt-4.1"), reason=None),)
    assert later.circuits == (replace(OPEN, resumes_in=0.0),)
    assert later.keys == (RETIRED, KeyHealth("openai", "KEY_B", "ready"))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(27.0, "00:27"), (26.1, "00:27"), (0.2, "00:01"), (0.0, "00:00"), (3_599.5, "1:00:00"), (3_723.0, "1:02:03")],
)
def test_a_wait_is_counted_down_to_the_second(seconds: float, said: str) -> None:
    assert countdown(seconds) == said


@pytest.mark.parametrize(
    ("state", "share", "said"),
    [
        (allowance("gpt-4.1", resumes_in=27.0), 0.98, "resumes 00:27: why"),
        (allowance("gpt-4.1"), 0.98, "why"),
        (replace(allowance("gpt-4.1"), reason=None, at_once=2), 2.0, ""),
        (replace(allowance("gpt-4.1"), requests_per_minute=None), None, "why"),
    ],
)
def test_an_allowance_is_as_full_as_its_fullest_limit(state: AllowanceState, share: float | None, said: str) -> None:
    assert (fullness(state), allowance_words(state)) == (share, said)
