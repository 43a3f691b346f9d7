"""A reply as OpenAI words it: one chat completion, a stream of chunks, or an error."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

from crewtop.demo.provider.answers import Reply, ToolCall
from crewtop.demo.provider.books import Call


def completion(call: Call, reply: Reply) -> dict[str, Any]:
    """The body of an answer that is not streamed; without `usage` where the call's is not reported."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.content or None}
    if reply.tool_call:
        message["tool_calls"] = [_tool_call(call, reply.tool_call)]
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply)}
    return {**_envelope(call, "chat.completion"), "choices": [choice], **_usage(call)}


def chunks(call: Call, reply: Reply) -> Iterator[dict[str, Any]]:
    """The events of a streamed answer, a word each; the usage in an event of its own at the end."""
    envelope = _envelope(call, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    yield chunk({"role": "assistant", "content": ""})
    for word in re.findall(r"\s*\S+", reply.content):
        yield chunk({"content": word})
    if reply.tool_call:
        yield chunk({"tool_calls": [{"index": 0, **_tool_call(call, reply.tool_call)}]})
    yield chunk({}, _finish_reason(reply))
    if call.usage_reported:
        yield {**envelope, "choices": [], **_usage(call)}


def error_body(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    """The body of a refusal; `kind` and `code` are OpenAI's words for it."""
    return {"error": {"message": f"{message} (simulated)", "type": kind, "param": None, "code": code}}


def _envelope(call: Call, kind: str) -> dict[str, Any]:
    return {
        "id": call.response_id,
        "object": kind,
        "created": int(time.time()),
        "model": call.model,
        "system_fingerprint": "simulated",
    }


def _usage(call: Call) -> dict[str, Any]:
    return {"usage": call.usage.as_openai()} if call.usage and call.usage_reported else {}


def _finish_reason(reply: Reply) -> str:
    return "tool_calls" if reply.tool_call else "stop"


def _tool_call(call: Call, wanted: ToolCall) -> dict[str, Any]:
    function = {"name": wanted.name, "arguments": wanted.arguments}
    return {"id": f"call_{call.number}", "type": "function", "function": function}
