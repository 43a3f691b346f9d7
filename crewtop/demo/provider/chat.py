"""The part of a chat completion request that decides the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class BadRequestError(Exception):
    """The request cannot be answered; its text says why."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A checked request: the model's name, the messages and tools as sent, and how to answer."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    stream: bool
    include_usage: bool

    def texts(self, *roles: str) -> list[str]:
        """The text of each message of these roles, oldest first."""
        return [text_of(message) for message in self.messages if message["role"] in roles]


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whether sent as a string, as parts, or (a tool call) not at all."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return str(content or "")


def parse_chat(body: bytes) -> Chat:
    """Read the body of POST /v1/chat/completions.

    Raises BadRequestError if it is not JSON or lacks a model or messages.
    """
    try:
        request = json.loads(body)
    except ValueError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise BadRequestError("the body is not a JSON object")
    model, messages, tools = request.get("model"), request.get("messages"), request.get("tools") or []
    if not isinstance(model, str) or not model:
        raise BadRequestError("'model' must be the name of a model")
    if not isinstance(messages, list) or not messages or not all(map(_is_message, messages)):
        raise BadRequestError("'messages' must be a list of at least one message with a role")
    if not isinstance(tools, list) or not all(map(_names_function, tools)):
        raise BadRequestError("'tools' must be a list of functions with names")
    options = request.get("stream_options") or {}
    include_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return Chat(model, messages, tools, bool(request.get("stream")), include_usage)


def _is_message(item: object) -> bool:
    match item:
        case {"role": str(), "tool_calls": [*calls]}:
            return all(map(_names_function, calls))
        case {"role": str(), "tool_calls": unreadable}:
            return unreadable is None
        case {"role": str()}:
            return True
    return False


def _names_function(item: object) -> bool:
    match item:
        case {"function": {"name": str()}}:
            return True
    return False
