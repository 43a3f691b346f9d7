"""Limits that the simulated provider enforces to the letter: over any 60 seconds, for each key and model."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from crewtop.demo.provider.behaviour import Behaviour

WINDOW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Refused:
    """A call above a limit. kind: 'requests', 'tokens' or 'concurrent requests'. retry_after: in seconds."""

    kind: str
    retry_after: float


class Meter:
    """What one key has used of one model: every call of the last minute with its tokens, and those that are open.

    A call is charged when it arrives, with the tokens that its answer will really take. What is refused is not charged.
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._calls: deque[tuple[float, int]] = deque()
        self._tokens = 0
        self._open = 0

    def admit(self, now: float, tokens: int) -> Refused | None:
        """Charge a call and open it, or say why not."""
        self._forget(now)
        limits = self._behaviour
        if limits.at_once is not None and self._open >= limits.at_once:
            return Refused("concurrent requests", 1.0)
        if limits.requests_per_minute is not None and len(self._calls) >= limits.requests_per_minute:
            return Refused("requests", self._until(now, requests=1))
        if limits.tokens_per_minute is not None and self._tokens + tokens > limits.tokens_per_minute:
            return Refused("tokens", self._until(now, tokens=self._tokens + tokens - limits.tokens_per_minute))
        self._calls.append((now, tokens))
        self._tokens += tokens
        self._open += 1
        return None

    def close(self) -> None:
        """An admitted call has ended."""
        self._open -= 1

    def headers(self, now: float) -> dict[str, str]:
        """What is left, in OpenAI's words; reset: until all of it is free again."""
        self._forget(now)
        reset = f"{self._calls[-1][0] + WINDOW_SECONDS - now:.3f}s" if self._calls else "0s"
        figures = {
            "requests": (self._behaviour.requests_per_minute, len(self._calls)),
            "tokens": (self._behaviour.tokens_per_minute, self._tokens),
        }
        found = {}
        for kind, (limit, used) in figures.items():
            if limit is not None:
                found[f"x-ratelimit-limit-{kind}"] = str(limit)
                found[f"x-ratelimit-remaining-{kind}"] = str(limit - used)
                found[f"x-ratelimit-reset-{kind}"] = reset
        return found

    def _forget(self, now: float) -> None:
        while self._calls and self._calls[0][0] <= now - WINDOW_SECONDS:
            self._tokens -= self._calls.popleft()[1]

    def _until(self, now: float, requests: int = 0, tokens: int = 0) -> float:
        """Seconds until so many requests and tokens are free that are not now."""
        for at, used in self._calls:
            requests, tokens = requests - 1, tokens - used
            if requests <= 0 and tokens <= 0:
                return at + WINDOW_SECONDS - now
        return WINDOW_SECONDS  # more tokens than any window holds


class Meters:
    """The meters of all keys and models."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._meters: dict[tuple[str, str], Meter] = {}

    def of(self, key: str, model: str) -> Meter:
        """The meter of a key and a model."""
        return self._meters.setdefault((key, model), Meter(self._behaviour))


def retry_headers(seconds: float) -> dict[str, str]:
    """Retry-After in whole seconds, and beside it in milliseconds as OpenAI adds it."""
    return {"retry-after": str(max(1, math.ceil(seconds))), "retry-after-ms": str(max(1, math.ceil(seconds * 1000)))}
