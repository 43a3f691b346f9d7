"""The simulated provider's limits: to the letter, for each key and model, and told as OpenAI tells them."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from crewtop.demo.provider import Behaviour, serve
from crewtop.demo.provider.limits import Meter, Meters

QUESTION: list[Any] = [{"role": "user", "content": "Topic: lamps"}]


def test_no_sixty_seconds_hold_more_requests_than_allowed() -> None:
    meter = Meter(Behaviour(requests_per_minute=2))
    assert meter.admit(0.0, 1) is None
    assert meter.admit(30.0, 1) is None
    refused = meter.admit(59.9, 1)
    assert refused is not None
    assert (refused.kind, refused.retry_after) == ("requests", pytest.approx(0.1))
    assert meter.admit(60.0, 1) is None
    assert meter.admit(89.9, 1) is not None


def test_tokens_are_counted_as_they_really_are_and_refusals_cost_none() -> None:
    meter = Meter(Behaviour(tokens_per_minute=100))
    assert meter.admit(0.0, 60) is None
    assert meter.admit(1.0, 41) is not None
    assert meter.admit(2.0, 40) is None
    assert meter.headers(2.0) == {
        "x-ratelimit-limit-tokens": "100",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "60.000s",
    }
    refused = meter.admit(3.0, 70)
    assert refused is not None
    assert refused.retry_after == pytest.approx(59.0)


def test_open_calls_are_limited_and_keys_and_models_apart() -> None:
    meters = Meters(Behaviour(at_once=1))
    assert meters.of("a", "m").admit(0.0, 1) is None
    assert meters.of("a", "m").admit(0.0, 1) is not None
    assert meters.of("b", "m").admit(0.0, 1) is None
    assert meters.of("a", "n").admit(0.0, 1) is None
    meters.of("a", "m").close()
    assert meters.of("a", "m").admit(0.1, 1) is None


async def test_a_client_is_told_what_is_left_and_when_to_come_back() -> None:
    async with (
        serve(Behaviour(requests_per_minute=1)) as provider,
        AsyncOpenAI(base_url=provider.url, api_key="key-1234", max_retries=0) as client,
    ):
        answer = await client.chat.completions.with_raw_response.create(model="gpt-4.1", messages=QUESTION)
        with pytest.raises(openai.RateLimitError) as caught:
            await client.chat.completions.create(model="gpt-4.1", messages=QUESTION)
    assert answer.headers["x-ratelimit-remaining-requests"] == "0"
    refusal = caught.value.response.headers
    assert 0 < int(refusal["retry-after"]) <= 60
    assert 0 < int(refusal["retry-after-ms"]) <= 60_000
    assert [(call.key, call.status) for call in provider.books.calls()] == [("1234", 200), ("1234", 429)]


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="requests_per_minute is 0: it must be 1 or more"):
        Behaviour(requests_per_minute=0)
