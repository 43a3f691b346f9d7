"""How much of a provider's limits one worker dares to use: pure, with the seconds of a monotonic clock passed in."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from crewtop.live.allowances import HOLDS_SECONDS, Kept
from crewtop.model.allowance import Limits

LOWERED = 0.8
"""A 429 lowers what may be used to this share of it, once for all calls that were out together."""
LEAST = 0.1
RECOVERS_SECONDS = 10.0
"""What was lowered rises steadily to the whole limit within this time, from the first answer after a pause."""
PAUSE_SECONDS = 1.0
"""For a 429 that does not say how long."""
LONGEST_PAUSE_SECONDS = 3_600.0
STORM_SECONDS = 5.0
"""A pause of at least so long means a provider in trouble, not a limit that was touched."""
PROBES = 4
"""Calls at once after such a pause, or a second 429 in a row, until one is answered: not to storm it again."""
FIRST_AT_ONCE = 10
"""Where nothing is known of limits: calls at once to begin with. Each answer allows one more, until a 429."""
FORGOTTEN_SECONDS = 60.0
"""What others use of a key is forgotten steadily over this time, unless answers go on telling of it."""
TELLING = 0.1
"""The share of a limit that has to be missing before others are taken to use it: calls overtake each other."""
KEPT = 0.05
"""The share of a limit a minute that urgent calls find free, or soon free. It is spread over the minute, not unused:
once it is, others take it in time for the next to be kept."""
NOTHING = Kept(0, 0.0)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer's headers tell of one limit: the limit, and what is left of it; None where they do not."""

    limit: int | None
    remaining: int | None


def told(headers: Mapping[str, str], kind: str) -> Told:
    """Of kind 'requests' or 'tokens', in the words of OpenAI (also Groq, Azure, ...) or Anthropic.

    A limit that takes more than a minute to be whole again is one a day: it is no limit a minute.
    """
    for pattern in (f"x-ratelimit-{{}}-{kind}", f"anthropic-ratelimit-{kind}-{{}}"):
        limit = _count(headers.get(pattern.format("limit")))
        reset = _seconds(headers.get(pattern.format("reset")))
        if limit and (reset is None or reset <= 60.0):
            return Told(limit, _count(headers.get(pattern.format("remaining"))))
    return Told(None, None)


class Pace:
    """The limits of one allowance as they may be used now: lowered by 429s, corrected and learned from headers."""

    def __init__(self, configured: Limits, *, elsewhere: bool = False) -> None:
        """elsewhere: another allowance limits the same calls, so that nothing has to be found out by trying."""
        self._configured, self._elsewhere = configured, elsewhere
        self._learned: dict[str, int] = {}
        self._outside: dict[str, tuple[float, float]] = {}
        self._scale, self._lowered_at, self._rises_from = 1.0, -math.inf, -math.inf
        self._probing = False
        self._at_once = float(FIRST_AT_ONCE)
        self._refused_once = False

    def limits(self, now: float) -> Limits:
        """What may be used at this moment."""
        requests = self._effective("requests", self._configured.requests_per_minute, now)
        tokens = self._effective("tokens", self._configured.tokens_per_minute, now)
        at_once = self._configured.at_once
        if requests is None and tokens is None and at_once is None and not self._elsewhere:
            at_once = int(self._at_once)
        if self._probing:
            at_once = PROBES if at_once is None else min(PROBES, at_once)
        return Limits(requests, tokens, at_once)

    def refused(self, now: float, permitted_at: float, pause: float) -> None:
        """A call that was permitted then came back with 429, to be tried again after a pause."""
        self._probing |= pause >= STORM_SECONDS
        if permitted_at <= self._lowered_at:
            return  # of the same storm
        self._probing |= self._share(now) < 1.0
        self._scale = max(LEAST, self._share(now) * LOWERED)
        self._lowered_at, self._rises_from = now, math.inf
        self._at_once, self._refused_once = max(1.0, self._at_once / 2), True

    def answered(self, now: float, permitted_at: float, flying: int) -> None:
        """A call that was permitted then was answered; with it so many were out.

        Only where all that may be out at once are, it says that more may.
        """
        if permitted_at > self._lowered_at:
            self._probing = False
            if self._rises_from == math.inf:
                self._rises_from = now
        if flying >= int(self._at_once):
            self._at_once += 1 / self._at_once if self._refused_once else 1.0

    def learn(self, headers: Mapping[str, str], free: Mapping[str, float], now: float) -> None:
        """Correct the limits from an answer's headers.

        free: by kind, what was thought to be left of the limit: the smaller of then (its permit) and now.
        """
        for kind in ("requests", "tokens"):
            found = told(headers, kind)
            if found.limit is None:
                continue
            self._learned[kind] = found.limit
            if found.remaining is not None and kind in free:
                missing = free[kind] - found.remaining
                if missing > TELLING * found.limit and missing > self._used_outside(kind, now):
                    self._outside[kind] = (missing, now)

    def reason(self, now: float) -> str | None:
        """Why less may be used than configured, None where nothing is held back."""
        if self._probing:
            return "trying with care after a 429"
        if self._share(now) < 1.0:
            return f"lowered to {self._share(now):.0%} after a 429"
        if any(self._used_outside(kind, now) >= 1 for kind in self._outside):
            return "others use this key too"
        limits = self.limits(now)
        if self._configured == Limits() and limits.at_once is not None:
            return f"limits unknown: {limits.at_once} at once"
        return None

    def _effective(self, kind: str, configured: int | None, now: float) -> int | None:
        known = [limit for limit in (configured, self._learned.get(kind)) if limit is not None]
        if not known:
            return None
        return max(1, int(min(known) * self._share(now) - self._used_outside(kind, now)))

    def _share(self, now: float) -> float:
        risen = max(0.0, now - self._rises_from) / RECOVERS_SECONDS
        return min(1.0, self._scale + (1.0 - self._scale) * risen)

    def _used_outside(self, kind: str, now: float) -> float:
        missing, since = self._outside.get(kind, (0.0, now))
        return missing * max(0.0, 1.0 - (now - since) / FORGOTTEN_SECONDS)


class Log:
    """The calls of one worker that still count against an allowance, each until a moment of its own."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[int, float]] = {}
        self._leaving: list[tuple[float, str]] = []
        self.tokens = 0

    @property
    def requests(self) -> int:
        """How many they are."""
        return len(self._calls)

    def enter(self, call: str, tokens: int, leaves: float) -> None:
        """Count a call until then, in the place of what was counted for it."""
        self.forget(call)
        self._calls[call] = (tokens, leaves)
        self.tokens += tokens
        heapq.heappush(self._leaving, (leaves, call))

    def settle(self, call: str, tokens: int | None, leaves: float) -> None:
        """Count the real tokens of a call (None: keep the estimate), and it itself no longer than until then."""
        if call in self._calls:
            estimate, until = self._calls[call]
            self.enter(call, estimate if tokens is None else tokens, min(until, leaves))

    def forget(self, call: str) -> None:
        """Count a call no more."""
        if found := self._calls.pop(call, None):
            self.tokens -= found[0]

    def purge(self, now: float) -> None:
        """Forget what has left."""
        while self._leaving and self._leaving[0][0] <= now:
            leaves, call = heapq.heappop(self._leaving)
            if self._calls.get(call, (0, 0.0))[1] == leaves:
                self.forget(call)

    def again(self, limits: Limits, tokens: int, kept: tuple[Kept, Kept] = (NOTHING, NOTHING)) -> float:
        """From when on there is room for a call of so many tokens that leaves so much to others; -inf: always."""
        moments = [-math.inf]
        kinds = (
            (limits.requests_per_minute, self.requests, 1, kept[0], lambda _: 1),
            (limits.tokens_per_minute, self.tokens, tokens, kept[1], lambda held: held),
        )
        for limit, used, size, keep, weight in kinds:
            if limit is not None:
                short = used + size - limit
                moments.append(self._left(short, weight))
                moments.append(self._left(short + min(keep.amount, limit - size), weight) - keep.within)
        return max(moments)

    def _left(self, short: int, weight: Callable[[int], int]) -> float:
        """When so much has left."""
        if short <= 0:
            return -math.inf
        for held, leaves in sorted(self._calls.values(), key=lambda entry: entry[1]):
            short -= weight(held)
            if short <= 0:
                return leaves
        return math.inf

    def calls(self) -> Mapping[str, tuple[int, float]]:
        """Tokens and the end of counting, by call."""
        return self._calls


def alone(limits: Limits, workers: int) -> Limits:
    """What one of so many workers may use while they cannot see each other: an equal part, at least one of each."""
    return Limits(
        *(
            None if limit is None else max(1, limit // max(1, workers))
            for limit in (limits.requests_per_minute, limits.tokens_per_minute, limits.at_once)
        )
    )


def lesser(one: Limits, other: Limits) -> Limits:
    """The lower of each."""
    return Limits(
        _lesser(one.requests_per_minute, other.requests_per_minute),
        _lesser(one.tokens_per_minute, other.tokens_per_minute),
        _lesser(one.at_once, other.at_once),
    )


def at_loss(limits: Limits, workers: int, own: Sequence[int], used: Sequence[int]) -> Limits:
    """What one worker may have in the window for the minute after Redis went away.

    own and used: requests and tokens in the window and calls in flight, of this worker and of all, when they were last
    seen. All workers together then have what all had, and at most what was free: equal parts alone would let the
    others take a part that one of them has used already.
    """
    return Limits(
        *(
            None if limit is None else mine + max(0, limit - all_of_it) // max(1, workers)
            for limit, mine, all_of_it in zip(
                (limits.requests_per_minute, limits.tokens_per_minute, limits.at_once), own, used, strict=True
            )
        )
    )


def kept(limit: int | None, size: int = 1) -> Kept:
    """What is kept for urgent calls of a limit a minute, of which one call takes so much.

    It could be kept all the time only if twice as much left the window meanwhile: hence the seconds. A limit of which
    that would be all keeps nothing.
    """
    amount = 0 if limit is None else max(size, math.ceil(KEPT * limit))
    if limit is None or 2 * amount >= limit:
        return NOTHING
    return Kept(amount, HOLDS_SECONDS * 2 * amount / limit)


def _lesser(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


def _seconds(text: str | None) -> float | None:
    """A duration such as 6m0s, 20ms or 1.5; None where it is none, such as a date."""
    if text is None:
        return None
    if _DURATION.sub("", text) == "" and text:
        return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))
    try:
        return float(text)
    except ValueError:
        return None
