"""The provider's own books: every call that reached it, independent of what its clients believe."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from crewtop.demo.provider.behaviour import Fault
from crewtop.demo.provider.usage import Usage

MOST_CALLS_KEPT = 50_000


@dataclass(slots=True)
class Call:
    """One call, entered on arrival and completed when it ends.

    run: the X-Crewtop-Run header, None without one; client_id: the X-Client-Request-Id header, likewise. arrived: when,
    in seconds of time.time(). key: the last four characters of the key that it came with.
    status: the HTTP status sent, None as long as none was. usage: what the provider counted for its answer, None if it
    gave none. usage_reported: whether the client was told. tool: the tool that the answer asks for. seconds: from
    arrival to end, None while it is open.
    """

    number: int
    run: str | None
    client_id: str | None
    arrived: float
    key: str
    model: str
    streamed: bool
    fault: Fault | None
    response_id: str
    status: int | None = None
    usage: Usage | None = None
    usage_reported: bool = False
    tool: str | None = None
    seconds: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The call as JSON values; the usage in OpenAI's words."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {**values, "usage": self.usage.as_openai() if self.usage else None}


class Books:
    """All calls, newest last. The oldest are dropped, and counted, above MOST_CALLS_KEPT."""

    def __init__(self) -> None:
        self._calls: deque[Call] = deque(maxlen=MOST_CALLS_KEPT)
        self._entered = 0

    def enter(
        self, *, run: str | None, client_id: str | None, key: str, model: str, streamed: bool, fault: Fault | None
    ) -> Call:
        """Open the entry of a call that just arrived; its numbers count from 1."""
        self._entered += 1
        identity = f"chatcmpl-simulated-{self._entered:08d}"
        call = Call(self._entered, run, client_id, time.time(), key[-4:], model, streamed, fault, identity)
        self._calls.append(call)
        return call

    def calls(self, run: str | None = None) -> list[Call]:
        """The calls of one run, or of all, in the order of arrival."""
        return [call for call in self._calls if run is None or call.run == run]

    def as_json(self, run: str | None = None) -> dict[str, Any]:
        """What GET /__books returns: `calls`, and `dropped`, the number of old calls no longer kept."""
        return {
            "calls": [call.as_json() for call in self.calls(run)],
            "dropped": self._entered - len(self._calls),
        }
