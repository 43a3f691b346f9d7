"""Arithmetic of tokens and money: a provider's usage into kinds that are priced apart, kinds and rates into dollars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from crewtop.model.errors import Refused

MILLION = Decimal(1_000_000)
MOST_TOKENS = 10**15


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one call by kind, each billed at its own rate. reasoning is a part of output.

    clamped says that the provider's figures contradicted each other (more cached than prompt) and were cut to fit.
    """

    input: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int
    clamped: bool = False

    @property
    def total(self) -> int:
        """All tokens that were billed."""
        return self.input + self.cache_read + self.cache_write + self.output


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars a million tokens, by kind."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal

    def cost(self, tokens: Tokens) -> Decimal:
        """What the tokens cost in US dollars, exactly."""
        return (
            tokens.input * self.input
            + tokens.cache_read * self.cache_read
            + tokens.cache_write * self.cache_write
            + tokens.output * self.output
        ) / MILLION


def tokens(usage: Mapping[str, Any] | None) -> Tokens | None:
    """A provider's usage by kind; None where it reported nothing, which is unknown and not zero.

    Understands OpenAI's shape (prompt_tokens include cached ones, completion_tokens include reasoning) and what CrewAI
    makes of others, which is alike; Anthropic's (input_tokens beside cache_read_input_tokens and
    cache_creation_input_tokens) and Bedrock's, likewise; and Gemini's (candidates beside thoughts).
    """
    if not usage:
        return None
    if "candidates_token_count" in usage:
        return _gemini(usage)
    if "inputTokens" in usage:
        return _beside(usage, "inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "outputTokens")
    if "input_tokens" in usage and not _INCLUDES_CACHED & usage.keys():
        return _beside(usage, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    return _openai(usage)


# Beside input_tokens: they are OpenAI's, or CrewAI has added Anthropic's cached ones to them.
_INCLUDES_CACHED = {"prompt_tokens", "input_tokens_details", "cached_prompt_tokens", "cache_creation_tokens"}


def _openai(usage: Mapping[str, Any]) -> Tokens | None:
    prompt = _first(usage, "prompt_tokens", "input_tokens")
    output = _first(usage, "completion_tokens", "output_tokens")
    if prompt is None or output is None:
        return None
    prompt_details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    output_details = usage.get("completion_tokens_details") or usage.get("output_tokens_details") or {}
    read = _first(usage, "cached_prompt_tokens") or _first(prompt_details, "cached_tokens") or 0
    write = _first(usage, "cache_creation_tokens") or 0
    reasoning = _first(usage, "reasoning_tokens") or _first(output_details, "reasoning_tokens") or 0
    if _first(usage, "total_tokens") == prompt + output + reasoning:
        output += reasoning  # xAI's, for one, stand beside the output: only the total tells
    return _fitted(prompt, read, write, output, reasoning)


def _beside(usage: Mapping[str, Any], uncached: str, read: str, write: str, out: str) -> Tokens | None:
    """Cached input is reported beside the rest of it."""
    plain, output = _first(usage, uncached), _first(usage, out)
    if plain is None or output is None:
        return None
    cached, written = _first(usage, read) or 0, _first(usage, write) or 0
    return _fitted(plain + cached + written, cached, written, output, 0)


def _gemini(usage: Mapping[str, Any]) -> Tokens | None:
    prompt, candidates = _first(usage, "prompt_token_count"), _first(usage, "candidates_token_count")
    if prompt is None or candidates is None:
        return None
    thoughts = _first(usage, "thoughts_token_count", "reasoning_tokens") or 0
    cached = _first(usage, "cached_content_token_count", "cached_prompt_tokens") or 0
    return _fitted(prompt, cached, 0, candidates + thoughts, thoughts)


def _fitted(prompt: int, read: int, write: int, output: int, reasoning: int) -> Tokens:
    """Cut parts to their whole where a provider reports more cached than prompt or more reasoning than output."""
    cut_read = min(read, prompt)
    cut_write = min(write, prompt - cut_read)
    cut_reasoning = min(reasoning, output)
    clamped = (cut_read, cut_write, cut_reasoning) != (read, write, reasoning)
    return Tokens(prompt - cut_read - cut_write, cut_read, cut_write, output, cut_reasoning, clamped)


def _first(usage: Mapping[str, Any], *names: str) -> int | None:
    """The first of these counts that is a whole number that anybody could have used."""
    for name in names:
        count = usage.get(name)
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS:
            return count
    return None


def money(value: object, what: str) -> Decimal:
    """A price from a configuration file. Raises Refused unless it is a finite number of at least 0."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount <= MILLION:
        raise Refused(f"{what} = {value!r}: a price is US dollars a million tokens, from 0 to 1000000")
    return amount
