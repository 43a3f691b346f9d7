"""One allowance as one worker sees it: what it may use, what it has out, and what all were last seen to use."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from crewtop.live.allowances import HOLDS_SECONDS, SETTLED_SECONDS, Allowance, Kept, Used
from crewtop.llm.allowances import NOTHING, Log, Pace, alone, at_loss, kept, lesser
from crewtop.model.allowance import AllowanceState, Limits

HARDLY = 200
"""A call hardly counts where the limit is so many times what it would take of it if every worker made one."""


@dataclass(eq=False, slots=True)
class Meter:
    """Of an allowance. flying: ids of this worker's calls that are out. paused_until, lost_at, back_at: seconds of the
    clock; lost_at None: Redis answers.

    From the moment Redis is lost until a minute after it is back the worker is on its own: it keeps to its part, as
    others may have used theirs unseen. In the first minute of that it also keeps below a ceiling, as what was used
    before was not used in equal parts.
    """

    allowance: Allowance
    pace: Pace
    log: Log = field(default_factory=Log)
    flying: set[str] = field(default_factory=set)
    used: Used = field(default_factory=lambda: Used(0, 0, 0, 0.0))
    paused_until: float = -math.inf
    lost_at: float | None = None
    back_at: float = -math.inf
    _ceiling: Limits = field(default_factory=Limits)
    _ceiling_until: float = -math.inf

    def see(self, used: Used, now: float) -> None:
        """Redis answered."""
        if self.lost_at is not None:
            self.lost_at, self.back_at = None, now
        self.used = used
        self.paused_until = now + used.paused if used.paused else -math.inf

    def lose(self, workers: int, now: float, *, seen: bool) -> None:
        """Redis did not answer; only the first time in a row counts. seen: there is one, and others were seen by it.

        What it said while not all had told it what they did without it is no ground for a new ceiling.
        """
        if self.lost_at is not None:
            return
        if seen and not self.on_its_own(now):
            own = (self.log.requests, self.log.tokens, len(self.flying))
            used = (self.used.requests, self.used.tokens, self.used.in_flight)
            self._ceiling = at_loss(self.pace.limits(now), workers, own, used)
            self._ceiling_until = now + HOLDS_SECONDS
        self.lost_at = now

    def on_its_own(self, now: float) -> bool:
        """Whether calls of a time without Redis may count of which it does not know."""
        return self.lost_at is not None or now < self.back_at + HOLDS_SECONDS

    def alone_limits(self, workers: int, now: float) -> Limits:
        """What may be used without asking anybody."""
        part = alone(self.pace.limits(now), workers)
        return lesser(part, self._ceiling) if now < self._ceiling_until else part

    def again_alone(self, workers: int, tokens: int, now: float, *, urgent: bool) -> float:
        """0 where a call of so many tokens may go out without asking anybody, else the seconds until one may."""
        limits = self.alone_limits(workers, now)
        if self.paused_until > now:
            return self.paused_until - now
        if limits.at_once is not None and len(self.flying) >= limits.at_once:
            return math.inf  # until one of our own has ended
        keep = (NOTHING, NOTHING) if urgent else _kept(limits, self.log.requests, self.log.tokens)
        leaves = self.log.again(limits, min(tokens, limits.tokens_per_minute or tokens), keep)
        return 0.0 if leaves <= now else max(0.001, leaves - now)

    def room_alone(self, workers: int, now: float) -> tuple[float, float, float]:
        """How many requests and tokens may go out without asking anybody, and as how many a larger call counts."""
        limits = self.alone_limits(workers, now)
        requests = _free(limits.requests_per_minute, self.log.requests)
        tokens = _free(limits.tokens_per_minute, self.log.tokens)
        return min(requests, _free(limits.at_once, len(self.flying))), tokens, _free(limits.tokens_per_minute, 0)

    def plenty(self, workers: int, tokens: int, now: float) -> float:
        """The share that is free, where that is more than half and a call of so many tokens hardly counts; else 0.

        A limit is 200 times what all workers would take of it with such a call: they stay below a sixtieth of it, which
        is free always, since calls count for MARGIN_SECONDS longer than the provider's minute.
        """
        limits = self.pace.limits(now)
        if self.on_its_own(now) or self.paused_until > now:
            return 0.0
        draws = (
            (limits.requests_per_minute, self.used.requests, 1),
            (limits.tokens_per_minute, self.used.tokens, tokens),
            (limits.at_once, self.used.in_flight, 1),
        )
        free = [
            1 - used / limit if size * workers * HARDLY <= limit else 0.0
            for limit, used, size in draws
            if limit is not None
        ]
        share = min(free, default=1.0)
        return share if share > 0.5 else 0.0

    def kept(self, now: float) -> tuple[Kept, Kept]:
        """What is kept for urgent calls, of requests and tokens."""
        return _kept(self.pace.limits(now), self.used.requests, self.used.tokens)

    def permit(self, call: str, tokens: int, now: float) -> None:
        """A call may go out."""
        self.flying.add(call)
        self.log.enter(call, tokens, now + HOLDS_SECONDS)

    def land(self, call: str, tokens: int | None, now: float) -> None:
        """It has ended. tokens: the real ones, None keeps the estimate."""
        self.flying.discard(call)
        self.log.settle(call, tokens, now + SETTLED_SECONDS)

    def take_back(self, call: str) -> None:
        """It never went out."""
        self.flying.discard(call)
        self.log.forget(call)

    def free(self, now: float) -> dict[str, float]:
        """By kind, what all workers together have left of a limit."""
        limits = self.pace.limits(now)
        left = {
            "requests": (limits.requests_per_minute, self.used.requests),
            "tokens": (limits.tokens_per_minute, self.used.tokens),
        }
        return {kind: float(limit - used) for kind, (limit, used) in left.items() if limit is not None}

    def state(self, resumes_in: float | None, workers: int, now: float) -> AllowanceState:
        """The allowance as plain data. resumes_in: seconds until the first that waits may go out, None: none waits."""
        limits, reason = self.pace.limits(now), self.pace.reason(now)
        used = self.used
        if self.lost_at is not None:
            limits = self.alone_limits(workers, now)
            used = Used(self.log.requests, self.log.tokens, len(self.flying), 0.0)
            reason = f"no Redis: one worker's part of {workers}"
        if self.paused_until > now:
            resumes_in, reason = self.paused_until - now, "the provider asked to wait"
        elif resumes_in is not None:
            reason = reason or "limit reached"
        return AllowanceState(
            self.allowance.provider,
            self.allowance.model,
            self.allowance.key,
            limits.requests_per_minute,
            used.requests,
            limits.tokens_per_minute,
            used.tokens,
            limits.at_once,
            used.in_flight,
            resumes_in,
            reason,
        )


def _kept(limits: Limits, requests: int, tokens: int) -> tuple[Kept, Kept]:
    """requests and tokens: of the calls in the window, which tell how large one is."""
    size = math.ceil(tokens / requests) if requests else 1
    return kept(limits.requests_per_minute), kept(limits.tokens_per_minute, size)


def _free(limit: int | None, used: int) -> float:
    return math.inf if limit is None else max(0, limit - used)
