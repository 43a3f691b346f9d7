"""How many tokens a prompt takes: counted where a tokenizer ships, otherwise an upper bound. Nothing is downloaded.

The bound rests on one property that the tokenizers of today's chat models share: they fall back on bytes. Whatever is
not in the vocabulary is spelt byte by byte, and every merge only makes it fewer, so that no text takes more tokens
than it has UTF-8 bytes (docs/routing.md goes through the providers). English takes about a quarter of that bound,
which is why less is reserved at the gate as soon as the provider has counted some calls itself (reckoning.py).
"""

from __future__ import annotations

import importlib
import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

Count = Callable[[str], int]
"""Tokens that a text takes."""
Message = Mapping[str, Any]
"""A message as CrewAI and OpenAI write it: role, content (a text or parts), tool_calls, tool_call_id."""

MESSAGE_TOKENS = 10
"""Role and separators around a message. OpenAI's chat format takes 3 and one for a name; others do not say."""
IMAGE_TOKENS = 5_000
"""Of a picture, whose size is not looked at: Anthropic's largest take 4,784, gpt-4o's 1,105; gpt-4o-mini bills more."""
REAL_COUNT_LIMIT = 1_000_000
"""Characters up to which a real tokenizer is asked: it would hold up the call for longer than the count is worth."""


KNOWN_COUNTS = 4_096
"""Texts whose count is remembered, for each model."""


def at_most(text: str) -> int:
    """An upper bound of the tokens of any byte-level or byte-fallback tokenizer, whichever way it normalises text.

    One is added for the space that SentencePiece puts before a text.
    """
    if text.isascii():
        return len(text) + 1
    return 1 + max(_size(text), *(_size(unicodedata.normalize(form, text)) for form in ("NFC", "NFKC")))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@cache
def counter(model: str) -> Count:
    """Counts with the model's own tokenizer where tiktoken and its data are installed, else `at_most`.

    What was counted before, such as the earlier messages of a conversation, is not counted again.
    """
    encoding = _shipped(model)
    if encoding is None:
        return at_most
    known: dict[tuple[int, int], int] = {}  # by length and hash: the texts themselves would be kept alive

    def count(text: str) -> int:
        if len(text) > REAL_COUNT_LIMIT:
            return at_most(text)
        place = len(text), hash(text)
        if place not in known:
            if len(known) >= KNOWN_COUNTS:
                known.clear()
            known[place] = len(encoding.encode_ordinary(text))
        return known[place]

    return count


@cache
def _shipped(model: str) -> Any | None:
    """tiktoken's encoding for a model of OpenAI, if all of it is on this machine."""
    try:
        tiktoken = importlib.import_module("tiktoken")
        load: Any = importlib.import_module("tiktoken.load")
    except ImportError:
        return None
    fetch, load.read_file = load.read_file, _refuse  # tiktoken would fetch what is missing, in the middle of a call
    try:
        return tiktoken.encoding_for_model(model)
    except (KeyError, OSError, ValueError):
        return None
    finally:
        load.read_file = fetch


def _refuse(path: str) -> bytes:
    raise OSError(f"{path} is not on this machine")


def count_message(message: Message, count: Count) -> int:
    """Tokens of one message: its text, its pictures, its tool calls as JSON, and what is around it."""
    content, calls = message.get("content"), message.get("tool_calls")
    total = MESSAGE_TOKENS + (count(content) if isinstance(content, str) else 0)
    total += sum(_count_part(part, count) for part in parts(message))
    return total + (count(_json(calls)) if calls else 0)


def _count_part(part: Mapping[str, Any], count: Count) -> int:
    if isinstance(part.get("text"), str):
        return count(part["text"])
    return IMAGE_TOKENS if "image" in str(part.get("type")) else count(_json(part))


def count_prompt(messages: Sequence[Message], count: Count, tools: Sequence[Any] = ()) -> int:
    """Tokens of a whole prompt with the tools that are offered, as JSON."""
    offered = count(_json(tools)) if tools else 0
    return MESSAGE_TOKENS + offered + sum(count_message(message, count) for message in messages)


def texts(message: Message) -> Iterator[str]:
    """The texts of a message, whether its content is a text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for part in parts(message):
        if isinstance(part.get("text"), str):
            yield part["text"]


def parts(message: Message) -> list[dict[str, Any]]:
    """The parts of a multimodal message; none where its content is a plain text."""
    content = message.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
