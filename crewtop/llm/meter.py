"""One allowance as one worker sees it: what it may use, what it has out, and what all were last seen to use."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from crewtop.live.allowances import MARGIN_SECONDS, SETTLED_SECONDS, WINDOW_SECONDS, Allowance, Used
from crewtop.llm.allowances import Log, Pace, alone, at_loss, lesser
from crewtop.model.allowance import AllowanceState, Limits

PERMIT_HOLDS = WINDOW_SECONDS + MARGIN_SECONDS
"""Seconds for which a call counts from its permit on."""


@dataclass(eq=False, slots=True)
class Meter:
    """Of an allowance. flying: ids of this worker's calls that are out. paused_until, lost_at: seconds of the clock."""

    allowance: Allowance
    pace: Pace
    log: Log = field(default_factory=Log)
    flying: set[str] = field(default_factory=set)
    used: Used = field(default_factory=lambda: Used(0, 0, 0, 0.0))
    paused_until: float = -math.inf
    lost_at: float | None = None
    back_at: float = -math.inf
    _ceiling: Limits = field(default_factory=Limits)

    def see(self, used: Used, now: float) -> None:
        """Redis answered."""
        if self.lost_at is not None:
            self.lost_at, self.back_at = None, now
        self.used = used
        self.paused_until = now + used.paused if used.paused else -math.inf

    def lose(self, workers: int, now: float) -> None:
        """Redis did not answer; only the first time in a row counts."""
        if self.lost_at is None:
            own = (self.log.requests, self.log.tokens)
            self._ceiling = at_loss(self.pace.limits(now), workers, own, (self.used.requests, self.used.tokens))
            self.lost_at = now

    def alone_limits(self, workers: int, now: float) -> Limits:
        """What may be used without asking anybody."""
        part = alone(self.pace.limits(now), workers)
        if self.lost_at is not None and now < self.lost_at + PERMIT_HOLDS:
            return lesser(part, self._ceiling)
        return part

    def is_back(self, now: float) -> bool:
        """Whether Redis has answered again for so long that no worker's calls of the time without it still count."""
        return now >= self.back_at + PERMIT_HOLDS

    def again_alone(self, workers: int, tokens: int, now: float) -> float:
        """0 where a call of so many tokens may go out without asking anybody, else the seconds until one may."""
        limits = self.alone_limits(workers, now)
        if self.paused_until > now:
            return self.paused_until - now
        if limits.at_once is not None and len(self.flying) >= limits.at_once:
            return math.inf  # until one of our own has ended
        leaves = self.log.again(limits, min(tokens, limits.tokens_per_minute or tokens))
        return 0.0 if leaves is None else max(0.001, leaves - now)

    def room_alone(self, workers: int, now: float) -> float:
        """How many requests may go out without asking anybody."""
        most = self.alone_limits(workers, now).requests_per_minute
        return math.inf if most is None else max(0, most - self.log.requests)

    def permit(self, call: str, tokens: int, now: float) -> None:
        """A call may go out."""
        self.flying.add(call)
        self.log.enter(call, tokens, now + PERMIT_HOLDS)

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
