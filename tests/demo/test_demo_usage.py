"""The provider's arithmetic: tokens from the length of what was sent and answered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from genai_prices import Usage as PricedUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from crewtop.demo.provider import MODELS
from crewtop.demo.provider.answers import Reply, ToolCall, reply_to
from crewtop.demo.provider.chat import Chat, parse_chat
from crewtop.demo.provider.usage import count_usage

TOOL = {"type": "function", "function": {"name": "look_up_order", "parameters": {"required": ["order_id"]}}}


def chat(*messages: dict[str, Any], model: str = "gpt-4.1", tools: list[dict[str, Any]] | None = None) -> Chat:
    return parse_chat(json.dumps({"model": model, "messages": messages, "tools": tools}).encode())


def test_four_characters_are_a_token_and_each_message_costs_four_more() -> None:
    usage = count_usage(
        chat({"role": "system", "content": "x" * 40}, {"role": "user", "content": "x" * 41}),
        Reply("y" * 81),
    )

    assert (usage.prompt, usage.completion) == (10 + 11 + 2 * (4 + 1), 21)
    assert (usage.cached, usage.reasoning) == (0, 0)


def test_tools_count_as_prompt_and_a_tool_call_as_completion() -> None:
    question = {"role": "user", "content": "x" * 40}
    plain = count_usage(chat(question), Reply("answer"))

    usage = count_usage(chat(question, tools=[TOOL]), Reply("", ToolCall("look_up_order", "{}")))

    assert usage.prompt - plain.prompt == -(-len(json.dumps([TOOL])) // 4)
    assert usage.completion == 4 + 1


def test_a_follow_up_call_finds_what_was_sent_before_in_the_cache_in_blocks_of_64() -> None:
    first = [{"role": "system", "content": "x" * 600}, {"role": "user", "content": "x" * 200}]
    sent_before = count_usage(chat(*first), Reply("")).prompt

    follow_up = count_usage(
        chat(*first, {"role": "assistant", "content": "y" * 50}, {"role": "user", "content": "go on"}),
        Reply("done"),
    )

    assert sent_before == 210
    assert follow_up.cached == 192


@pytest.mark.parametrize(("model", "reasons"), [("o4-mini", True), ("gpt-5-mini", True), ("gpt-4o", False)])
def test_reasoning_models_think_in_blocks_that_are_part_of_the_completion(model: str, reasons: bool) -> None:
    usage = count_usage(chat({"role": "user", "content": "x" * 4 * 600}, model=model), Reply("y" * 40))

    assert usage.reasoning == (128 if reasons else 0)
    assert usage.completion == usage.reasoning + 10


@given(texts=st.lists(st.text(max_size=900), min_size=1, max_size=6), model=st.sampled_from(MODELS))
def test_parts_never_exceed_what_they_are_parts_of(texts: list[str], model: str) -> None:
    roles = ("user", "assistant")
    conversation = chat(*({"role": roles[n % 2], "content": text} for n, text in enumerate(texts)), model=model)

    usage = count_usage(conversation, reply_to(conversation))

    assert 0 <= usage.cached <= usage.prompt
    assert 0 <= usage.reasoning <= usage.completion
    assert usage.as_openai()["total_tokens"] == usage.prompt + usage.completion


@pytest.mark.parametrize("model", MODELS)
def test_every_model_of_the_shop_has_a_price(model: str) -> None:
    price = calc_price(PricedUsage(input_tokens=100, output_tokens=10), model, provider_id="openai")

    assert price.total_price > 0
