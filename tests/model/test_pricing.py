"""Case C22: each provider's usage into kinds that are priced apart, and money to the last digit."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.llm.prices import price
from crewtop.model.errors import Refused
from crewtop.model.pricing import Rates, Tokens, money, tokens

counts = st.integers(0, 10**9)


def rates(given_input: str, cache_read: str, cache_write: str, output: str) -> Rates:
    return Rates(Decimal(given_input), Decimal(output), Decimal(cache_read), Decimal(cache_write))


def test_cached_tokens_inside_the_prompt_are_not_paid_twice() -> None:
    usage = {"prompt_tokens": 262_960, "prompt_tokens_details": {"cached_tokens": 257_955}, "completion_tokens": 1_744}
    found = tokens(usage)
    assert found == Tokens(5_005, 257_955, 0, 1_744, 0)
    assert rates("1.25", "0.625", "0", "10").cost(found) == Decimal("0.184918125")


def test_cache_writes_beside_the_input_are_added() -> None:
    found = tokens({"input_tokens": 3, "cache_creation_input_tokens": 12_304, "output_tokens": 550})
    assert found == Tokens(3, 0, 12_304, 550, 0)
    assert rates("3", "0.30", "3.75", "15").cost(found) == Decimal("0.054399")
    assert price("anthropic", "claude-sonnet-4-0", found, {}).cost == Decimal("0.054399")


def test_reasoning_is_a_part_of_the_output() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1_000, "completion_tokens_details": {"reasoning_tokens": 800}}
    assert tokens(usage) == Tokens(1, 0, 0, 1_000, 800)


def test_thoughts_beside_the_candidates_are_output() -> None:
    usage = {"prompt_token_count": 1, "candidates_token_count": 200, "thoughts_token_count": 800}
    assert tokens(usage) == Tokens(1, 0, 0, 1_000, 800)


def test_what_crewai_makes_of_a_providers_usage_comes_to_the_same() -> None:
    """Its classes for Anthropic and Gemini add up what the providers report apart, under names of their own."""
    anthropic = {
        "input_tokens": 12_307, "output_tokens": 550, "total_tokens": 12_857, "cached_prompt_tokens": 0,
        "cache_creation_tokens": 12_304,
    }  # fmt: skip
    assert tokens(anthropic) == Tokens(3, 0, 12_304, 550, 0)
    gemini = {
        "prompt_token_count": 10, "candidates_token_count": 200, "completion_tokens": 1_000, "total_tokens": 1_010,
        "cached_prompt_tokens": 4, "reasoning_tokens": 800,
    }  # fmt: skip
    assert tokens(gemini) == Tokens(6, 4, 0, 1_000, 800)


def test_bedrocks_cached_tokens_stand_beside_the_input() -> None:
    usage = {"inputTokens": 3, "outputTokens": 5, "totalTokens": 20, "cacheReadInputTokens": 2}
    assert tokens(usage | {"cacheWriteInputTokens": 10}) == Tokens(3, 2, 10, 5, 0)


def test_reasoning_beside_the_output_is_told_by_the_total() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 200, "total_tokens": 1_010, "reasoning_tokens": 800}
    assert tokens(usage) == Tokens(10, 0, 0, 1_000, 800)
    assert tokens(usage | {"total_tokens": 210, "reasoning_tokens": 0}) == Tokens(10, 0, 0, 200, 0)


def test_more_cached_than_prompt_is_cut_and_flagged() -> None:
    found = tokens({"prompt_tokens": 10, "cached_prompt_tokens": 30, "completion_tokens": 1})
    assert found == Tokens(0, 10, 0, 1, 0, clamped=True)


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"total_tokens": 0}, {"prompt_tokens": 5}, {"prompt_tokens": -1, "completion_tokens": 1},
     {"prompt_tokens": float("nan"), "completion_tokens": 1}, {"prompt_tokens": True, "completion_tokens": 1}],
)  # fmt: skip
def test_what_was_not_reported_is_unknown_and_not_zero(usage: dict[str, object] | None) -> None:
    assert tokens(usage) is None
    unknown = price("openai", "gpt-4.1", None, {})
    assert unknown.cost is None
    assert unknown.source.startswith("unknown: ")


def test_a_model_that_nobody_lists_is_unknown() -> None:
    unknown = price("openai", "no-such-model", Tokens(1, 0, 0, 1, 0), {})
    assert unknown.cost is None
    assert "lists no openai/no-such-model" in unknown.source


def test_the_users_own_price_wins() -> None:
    own = {"openai/gpt-4.1": rates("1", "1", "1", "1"), "house-model": rates("2", "2", "2", "2")}
    assert price("openai", "gpt-4.1", Tokens(1_000_000, 0, 0, 0, 0), own).cost == 1
    assert price("anyone", "house-model", Tokens(0, 0, 0, 500_000, 0), own).cost == 1


@pytest.mark.parametrize("bad", ["nan", "1e999", "-0.01", "inf", "", "abc", None, float("inf"), 10**7])
def test_impossible_prices_are_refused(bad: object) -> None:
    """Case C06."""
    with pytest.raises(Refused, match="a price is US dollars a million tokens, from 0 to 1000000"):
        money(bad, "price")


@given(counts, counts, counts, counts, counts)
def test_kinds_never_exceed_what_was_reported(prompt: int, cached: int, written: int, out: int, thought: int) -> None:
    usage = {
        "prompt_tokens": prompt, "cached_prompt_tokens": cached, "cache_creation_tokens": written,
        "completion_tokens": out, "reasoning_tokens": thought,
    }  # fmt: skip
    found = tokens(usage)
    assert found is not None
    assert min(found.input, found.cache_read, found.cache_write, found.output, found.reasoning) >= 0
    assert found.total == prompt + out
    assert found.reasoning <= found.output
    assert found.clamped == (cached + written > prompt or thought > out)


@given(counts, counts, st.decimals(0, 1_000, places=6), st.decimals(0, 1_000, places=6))
def test_money_adds_up_exactly(one: int, two: int, rate_in: Decimal, rate_out: Decimal) -> None:
    card = Rates(rate_in, rate_out, rate_in, rate_in)
    apart = card.cost(Tokens(one, 0, 0, 0, 0)) + card.cost(Tokens(0, 0, 0, two, 0))
    assert card.cost(Tokens(one, 0, 0, two, 0)) == apart
