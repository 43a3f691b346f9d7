"""What the simulated model says: tool calls while they help, then a short answer marked as simulated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any
from zlib import crc32

from crewtop.demo.provider.chat import Chat

MARK = "(simulated)"
_EARLIER_ANSWER = re.compile(rf"{re.escape(MARK)} ([^\n]+)")
_REMARKS = (
    "Late parcels are the most common complaint, ahead of damage in transit.",
    "Two thirds of the questions are answered by the delivery and return pages alone.",
    "Returns rise in the week after a promotion and fall back within ten days.",
    "Customers who get an answer within a minute write a second time half as often.",
    "Stock of the desk lamps is thin; the next delivery is a week away.",
    "Messages about invoices need a person in about one case of eight.",
    "The knowledge base has no page on gift orders, although people ask for one daily.",
)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for: the tool's name and its arguments as JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model returns: text, or a tool call with empty text."""

    content: str
    tool_call: ToolCall | None = None


def reply_to(chat: Chat) -> Reply:
    """Answer as a model would; equal conversations get equal answers.

    Offered tools are called one at a time, each once, in the order offered, as soon as all its required
    arguments stand in the conversation as lines such as "Order id: A-1004" (for `order_id`). After a tool's
    error no other is called.
    """
    call = None if _failed_tool(chat) else next(_possible_calls(chat), None)
    return Reply("", call) if call else Reply(f"{MARK} {_answer(chat)}")


def _possible_calls(chat: Chat) -> Iterator[ToolCall]:
    done = {call["function"]["name"] for message in chat.messages for call in message.get("tool_calls") or []}
    for tool in chat.tools:
        function = tool["function"]
        if function["name"] in done:
            continue
        arguments = _arguments(chat, function)
        if arguments is not None:
            yield ToolCall(function["name"], json.dumps(arguments))


def _arguments(chat: Chat, function: Mapping[str, Any]) -> dict[str, str] | None:
    """A tool's required arguments as found in the conversation, or None if one is nowhere to be found."""
    match function:
        case {"parameters": {"required": [*names]}}:
            found = {str(name): _labelled(chat, str(name)) for name in names}
        case _:
            found = {}
    known = {name: value for name, value in found.items() if value is not None}
    return known if len(known) == len(found) else None


def _labelled(chat: Chat, name: str) -> str | None:
    """The newest value that a line of the conversation gives for a name, as "Order id: A-1" for order_id."""
    label = re.escape(name).replace("_", "[ _]")
    line = re.compile(rf"^[ \t]*{label}:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
    for text in reversed(chat.texts("user", "tool")):
        if match := line.search(text):
            return match[1].strip()
    return None


def _failed_tool(chat: Chat) -> str | None:
    results = chat.texts("tool")
    return results[-1] if results and results[-1].lower().startswith("error") else None


def _answer(chat: Chat) -> str:
    name = _labelled(chat, "customer")
    greeting = f"Hello {name}. " if name else ""
    if error := _failed_tool(chat):
        return f"{greeting}I could not do this for you. {error.partition(': ')[2]}"
    if results := chat.texts("tool"):
        return greeting + " ".join(result.partition("\n")[0] for result in results)
    return greeting + _report(chat)


def _report(chat: Chat) -> str:
    """A few sentences, or, where the prompt carries earlier answers, those in one."""
    prompt = "\n".join(chat.texts("user"))
    if earlier := _EARLIER_ANSWER.findall(prompt):
        return "All reports in one. " + " ".join(earlier)
    everything = "\n".join(chat.texts("system", "user")).encode(errors="replace")
    remarks = Random(crc32(everything)).sample(_REMARKS, k=3)
    topic = _labelled(chat, "topic")
    return " ".join([f"On {topic}:", *remarks] if topic else remarks)
