"""What is reserved for a call, by what others of its kind took."""

from __future__ import annotations

from crewtop.llm.asking import CallAsk
from crewtop.llm.reckoning import CALLS, ENOUGH, Reckoning


def ask(crew: str = "support", step: int = 1) -> CallAsk:
    return CallAsk("c1", "openai", "gpt-4.1", 1_000, crew, "q", 3, step)


def taught(*tokens: int) -> Reckoning:
    reckoning = Reckoning()
    for each in tokens:
        reckoning.tell(ask(), each)
    return reckoning


def test_the_whole_estimate_is_reserved_until_enough_calls_have_told() -> None:
    assert taught(*[200] * (ENOUGH - 1)).tokens(ask()) == 1_000


def test_then_it_is_the_largest_of_the_last_and_a_quarter_more() -> None:
    assert taught(*[200] * ENOUGH, 240).tokens(ask()) == 300


def test_never_more_than_the_estimate_unless_calls_took_more() -> None:
    assert taught(*[900] * ENOUGH).tokens(ask()) == 1_000
    assert taught(*[900] * ENOUGH, 1_500).tokens(ask()) == 1_500


def test_a_large_call_is_remembered_for_some_time() -> None:
    assert taught(800, *[200] * (CALLS - 1)).tokens(ask()) == 1_000
    assert taught(800, *[200] * CALLS).tokens(ask()) == 250


def test_each_step_of_each_crew_is_learned_apart() -> None:
    reckoning = taught(*[200] * ENOUGH)
    assert reckoning.tokens(ask(step=2)) == 1_000
    assert reckoning.tokens(ask(crew="other")) == 1_000


def test_a_provider_that_counts_nothing_teaches_nothing() -> None:
    assert taught(*[0] * ENOUGH).tokens(ask()) == 1_000
