"""Providers' limits, shared by all workers through Redis: one script, one round trip for a whole batch of calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from redis.asyncio import Redis

from crewtop.live import keys
from crewtop.live.fast_lane import FastLane
from crewtop.model.allowance import AllowanceState, Limits

WINDOW_SECONDS = 60.0
"""Providers count over a minute."""
SETTLED_SECONDS = WINDOW_SECONDS + 0.05
"""How long a call counts after its answer. The provider had it before; 50 ms are more than two clocks that are
disciplined by NTP (at most 0.05 % apart) diverge in a minute."""
MARGIN_SECONDS = 1.0
"""How much longer than the window a call counts after its permit. Between permit and arrival at the provider lie a
socket, a connection set-up and a busy host: a call that took longer on its way than the one that takes its place
would be seen together with it. A second costs 1.6 % at most, and less where answers take less than a second."""
HOLDS_SECONDS = WINDOW_SECONDS + MARGIN_SECONDS
"""How long a call counts after its permit."""
URGENT = 1
"""Calls of this priority or a higher one (P0 and P1) may have what is kept from the others."""
LEASE_SECONDS = 10.0
"""A worker that was silent for so long no longer has calls in flight."""
GRACE_SECONDS = 2.0
"""After Redis lost everything nothing is granted for so long: every worker tells within a second what it had out."""
FRESH_SECONDS = 1.0
"""Others wait for a waiting worker only if it asked within this time."""
TOLERATED_SECONDS = 0.25
"""At equal priority a worker lets another go first that was not served for so much longer."""
SHOWN_SECONDS = 120.0
"""What no worker has told for so long is no longer shown."""

_EXPIRES_SECONDS = 86_400
_SCRIPT = files("crewtop.live").joinpath("allowances.lua").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is limited: all models (model '*') or one of a provider with a key ('-' where the crew brings its own)."""

    provider: str
    model: str
    key: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What calls that are not urgent leave of a limit a minute: so much is free, or will be within so many seconds."""

    amount: int
    within: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that wants a permit: its id, tokens at most, and priority, 0 first."""

    call: str
    tokens: int
    priority: int


@dataclass(frozen=True, slots=True)
class Told:
    """A call that counts without asking, as Redis may have forgotten it. leaves: seconds until it counts no more."""

    call: str
    allowance: int
    tokens: int
    leaves: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A permitted call that has ended. allowances: the positions of those that it draws on.

    tokens: the real ones, None keeps the estimate. unsent: it never went out and is given back whole. pause: seconds
    for which the provider wants no more calls.
    """

    call: str
    allowances: Sequence[int]
    tokens: int | None = None
    unsent: bool = False
    pause: float | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One worker's news and wishes about one model of a provider.

    allowances, limits, kept, in_flight: side by side; kept of requests and of tokens; in_flight counts this worker's
    own calls that are out. ways: for each key the positions of its allowances. asked: in the order in which they shall
    be served. want: priority, requests and tokens of all that wait here at the highest priority. remembers: whether
    this worker or another may know of calls of which Redis does not, if it knows of none.
    """

    provider: str
    model: str
    allowances: Sequence[Allowance]
    limits: Sequence[Limits]
    kept: Sequence[tuple[Kept, Kept]]
    in_flight: Sequence[int]
    ways: Sequence[Sequence[int]]
    asked: Sequence[Asked] = ()
    told: Sequence[Told] = ()
    ended: Sequence[Ended] = ()
    want: tuple[int, int, int] = (0, 0, 0)
    remembers: bool = False


@dataclass(frozen=True, slots=True)
class Used:
    """Of one allowance: what is used in the window, calls in flight over all workers, seconds that it is paused."""

    requests: int
    tokens: int
    in_flight: int
    paused: float


@dataclass(frozen=True, slots=True)
class Answered:
    """granted: for the first of those asked the position of its way, for the second, and so on; the rest has to wait.

    again: seconds after which asking again may help. workers: how many use this provider. epoch: changes when Redis
    has lost everything.
    """

    granted: Sequence[int]
    again: float
    used: Sequence[Used]
    workers: int
    epoch: str


class SharedAllowances(FastLane):
    """The limits in Redis, over a connection of their own: a long log never holds up a permit.

    url: as for FastLane. worker: this worker's id. now: a test's clock, in seconds; without one Redis's own counts.
    """

    def __init__(
        self, url: str | None, worker: str, now: Callable[[], float] | None = None, why_none: str = "not configured"
    ) -> None:
        super().__init__(url, why_none)
        self._worker, self._now, self._seen_at = worker, now, 0

    async def exchange(self, exchange: Exchange) -> Answered | None:
        """Settle what ended and ask for permits, at once and whole. None where Redis is away.

        A call that is asked for again, as an answer did not arrive, is not counted twice.
        """
        answer = await self.run(_SCRIPT, _names(exchange), [json.dumps(self._request(exchange))])
        if answer is None:
            return None
        found = json.loads(answer)
        self._seen_at = found["now"]
        return _answered(found)

    async def show(self, states: Sequence[AllowanceState]) -> None:
        """Tell whoever watches how these allowances stood at the last exchange."""
        entries: dict[Any, Any] = {
            json.dumps([state.provider, state.model, state.key]): json.dumps({"at": self._seen_at, **asdict(state)})
            for state in states
        }

        async def write(redis: Redis) -> None:
            pipeline = redis.pipeline(transaction=False)
            pipeline.hset(keys.LIMITS, mapping=entries)
            pipeline.expire(keys.LIMITS, _EXPIRES_SECONDS)
            await pipeline.execute()

        if entries and self._seen_at:
            await self._attempt(write)

    async def states(self) -> Sequence[AllowanceState] | None:
        """How all allowances of all workers stand, by name, in one round trip; None where Redis is away."""

        async def ask(redis: Redis) -> tuple[float, list[str]]:
            pipeline = redis.pipeline(transaction=False)
            pipeline.time()
            pipeline.hvals(keys.LIMITS)
            (seconds, microseconds), entries = await pipeline.execute()
            return seconds + microseconds / 1e6, entries

        found = await self._attempt(ask)
        if found is None:
            return None
        now, entries = found
        states = [state for entry in entries if (state := _state(entry, now))]
        return sorted(states, key=lambda state: (state.provider, state.model, state.key))

    def _request(self, exchange: Exchange) -> dict[str, Any]:
        priority, requests, tokens = exchange.want
        request = {
            **_CONSTANTS,
            "worker": self._worker,
            "remembers": exchange.remembers,
            "allowances": [
                _limits(limits, kept, flights)
                for limits, kept, flights in zip(exchange.limits, exchange.kept, exchange.in_flight, strict=True)
            ],
            "ways": [[position + 1 for position in way] for way in exchange.ways],
            "asks": [{"call": a.call, "tokens": a.tokens, "priority": a.priority} for a in exchange.asked],
            "told": [_told(told) for told in exchange.told],
            "settled": [_ended(ended) for ended in exchange.ended],
            "want": {"priority": priority, "requests": requests, "tokens": tokens},
        }
        return request if self._now is None else {**request, "now": _ms(self._now())}


_CONSTANTS = {
    "settled_holds": round(SETTLED_SECONDS * 1000),
    "permit_holds": round(HOLDS_SECONDS * 1000),
    "urgent": URGENT,
    "lease": round(LEASE_SECONDS * 1000),
    "grace": round(GRACE_SECONDS * 1000),
    "fresh": round(FRESH_SECONDS * 1000),
    "tolerated": round(TOLERATED_SECONDS * 1000),
    "expires": _EXPIRES_SECONDS * 1000,
    "expires_log": round(2 * WINDOW_SECONDS * 1000),
}


def _names(exchange: Exchange) -> list[str]:
    base = f"{keys.LIMIT}{{{quote(exchange.provider, safe='')}}}:"
    names = [base + "workers", base + "epoch", f"{base}{quote(exchange.model, safe='')}:waiting"]
    for allowance in exchange.allowances:
        own = f"{base}{quote(allowance.model, safe='*')}:{quote(allowance.key, safe='*')}"
        names += [own, own + ":log", own + ":held", own + ":flights"]
    return names


def _limits(limits: Limits, kept: tuple[Kept, Kept], in_flight: int) -> dict[str, int]:
    requests, tokens = kept
    known = {
        "requests": limits.requests_per_minute,
        "kept_requests": requests.amount,
        "requests_within": _ms(requests.within),
        "tokens": limits.tokens_per_minute,
        "kept_tokens": tokens.amount,
        "tokens_within": _ms(tokens.within),
        "at_once": limits.at_once,
        "flights": in_flight,
    }
    return {name: value for name, value in known.items() if value is not None}


def _told(told: Told) -> dict[str, Any]:
    return {**asdict(told), "allowance": told.allowance + 1, "leaves": _ms(told.leaves)}


def _ended(ended: Ended) -> dict[str, Any]:
    entry: dict[str, Any] = {"call": ended.call, "allowances": [position + 1 for position in ended.allowances]}
    if ended.unsent:
        entry["unsent"] = True
    if ended.tokens is not None:
        entry["tokens"] = ended.tokens
    if ended.pause is not None:
        entry["pause"] = _ms(ended.pause)
    return entry


def _answered(found: dict[str, Any]) -> Answered:
    return Answered(
        [int(way) - 1 for way in found["granted"]],
        found["again"] / 1000,
        [Used(int(used[0]), int(used[1]), int(used[2]), used[3] / 1000) for used in found["used"]],
        int(found["workers"]),
        str(found["epoch"]),
    )


def _state(entry: str, now: float) -> AllowanceState | None:
    """An entry as it stands now; None where it is too old, or where others wrote there."""
    try:
        fields = json.loads(entry)
        age = max(0.0, now - fields.pop("at") / 1000)
        state = AllowanceState(**fields)
    except (ValueError, KeyError, TypeError):
        return None
    if age > SHOWN_SECONDS:
        return None
    if state.resumes_in is None or state.resumes_in > age:
        rest = None if state.resumes_in is None else state.resumes_in - age
        return replace(state, resumes_in=rest)
    return replace(state, resumes_in=None, reason=None)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
