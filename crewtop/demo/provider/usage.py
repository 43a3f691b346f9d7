"""Token counts of the simulated provider, worked out from the length of what was really sent and answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from crewtop.demo.provider.answers import Reply
from crewtop.demo.provider.chat import Chat, text_of

CHARACTERS_PER_TOKEN = 4
"""OpenAI's rule of thumb for English text."""
TOKENS_PER_MESSAGE = 4
"""Role and separators around each message."""
BLOCK = 64
"""Cached and reasoning tokens come in whole blocks. OpenAI caches from 1,024 tokens on; the shop's prompts
are shorter than that, so the simulation begins at one block."""
PROMPT_TOKENS_PER_REASONING_BLOCK = 256
_REASONING_MODEL = re.compile(r"o\d|gpt-5")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. As with OpenAI, `prompt` includes `cached`, and `completion` `reasoning`."""

    prompt: int
    cached: int
    completion: int
    reasoning: int

    def as_openai(self) -> dict[str, Any]:
        """The `usage` object of a chat completion."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning},
        }


def count_usage(chat: Chat, reply: Reply) -> Usage:
    """Count the tokens of one call, at about 4 characters a token.

    Cached: a follow-up call repeats the tools and messages of the call before it, up to the last assistant
    message; that part counts as cached, in whole blocks of 64. Reasoning: the models that think before they
    answer (o3, gpt-5, ...) use one block for every 256 tokens of prompt, at least one.
    """
    tools = _tokens(json.dumps(chat.tools)) if chat.tools else 0
    prompt = tools + _message_tokens(chat.messages)
    cached = 0
    for position, message in enumerate(chat.messages):
        if message["role"] == "assistant":
            cached = tools + _message_tokens(chat.messages[:position])
    reasoning = 0
    if _REASONING_MODEL.match(chat.model):
        reasoning = BLOCK * max(1, prompt // PROMPT_TOKENS_PER_REASONING_BLOCK)
    answer = _tokens(reply.content)
    if reply.tool_call:
        answer += _tokens(reply.tool_call.name) + _tokens(reply.tool_call.arguments)
    return Usage(prompt, cached - cached % BLOCK, answer + reasoning, reasoning)


def _message_tokens(messages: Iterable[Mapping[str, Any]]) -> int:
    return sum(
        TOKENS_PER_MESSAGE + _tokens(text_of(message)) + _tokens(json.dumps(message.get("tool_calls") or ""))
        for message in messages
    )


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
