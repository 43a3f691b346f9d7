"""A breaker for each provider's each model: what does not answer is left alone, and tried again with care.

Closed: calls go out. Open, after FAILURES in a row or a 429 that says how long: none does until a moment that is
jittered, so that workers do not come back in step. Then one call is let through as a probe: its answer closes the
breaker, its failure opens it for twice as long, up to LONGEST_SECONDS.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from crewtop.llm.asking import Fault

FAILURES = 5
FIRST_SECONDS = 2.0
LONGEST_SECONDS = 60.0
THROTTLED_LIMIT_SECONDS = 3_600.0
LOOK_SECONDS = 0.5
"""How often a call that waits looks whether the probe is back."""

PROBE_SECONDS = 60.0
"""A probe that nobody settled in this time, such as one whose worker's child was stopped, is given up."""

COUNTED = frozenset({Fault.OVERLOADED, Fault.SERVER, Fault.TIMEOUT, Fault.CONNECTION})
"""Faults of the provider and of the way to it; all others say nothing about the next call."""


@dataclass(frozen=True, slots=True)
class BreakerState:
    """A breaker that is not simply closed. resumes_in: seconds until a call is let through.

    half-open: a probe is out; open with nothing to wait for: the next call is the probe. why: throttled, or the fault
    that opened it; failures: in a row.
    """

    provider: str
    model: str
    status: Literal["closed", "open", "half-open"]
    resumes_in: float
    why: str
    failures: int


@dataclass(slots=True)
class _Trouble:
    failures: int = 0
    openings: int = 0
    until: float | None = None
    probe: float | None = None
    why: str = ""

    def probing(self, now: float) -> bool:
        return self.probe is not None and now - self.probe < PROBE_SECONDS


class Breakers:
    """All breakers of a worker. clock counts seconds; jitter answers a number from 0 to 1. Only trouble is kept."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, jitter: Callable[[], float] = random.random
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._troubles: dict[tuple[str, str], _Trouble] = {}

    def wait_seconds(self, provider: str, model: str) -> float:
        """How long a call has to wait: 0 to go out now, and then its end is owed to this breaker.

        After a wait it asks again: one call alone becomes the probe.
        """
        trouble = self._troubles.get((provider, model))
        if trouble is None or trouble.until is None:
            return 0.0
        now = self._clock()
        if trouble.probing(now):
            return LOOK_SECONDS
        if now < trouble.until:
            return trouble.until - now
        trouble.probe = now
        return 0.0

    def answered(self, provider: str, model: str) -> None:
        """A call went well, or was refused for what it was: the provider is there."""
        self._troubles.pop((provider, model), None)

    def unsent(self, provider: str, model: str) -> None:
        """A call that was let through never went out: another may be the probe."""
        if trouble := self._troubles.get((provider, model)):
            trouble.probe = None

    def failed(self, provider: str, model: str, fault: Fault) -> str | None:
        """A call failed. Answers a line for the operator where that opens the breaker, else None."""
        if fault not in COUNTED:
            self.answered(provider, model)
            return None
        trouble = self._troubles.setdefault((provider, model), _Trouble())
        trouble.failures += 1
        probed, trouble.probe = trouble.probe is not None, None
        if not probed and (trouble.failures < FAILURES or trouble.until is not None):
            return None  # too few, or a late one of those that went out before it opened
        seconds = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0**trouble.openings)
        trouble.openings = min(trouble.openings + 1, 30)
        trouble.why = str(fault)
        return self._open(provider, model, trouble, seconds)

    def throttled(self, provider: str, model: str, seconds: float) -> str | None:
        """Every key is rate limited for so long. Answers a line where that opens the breaker anew, else None."""
        trouble = self._troubles.setdefault((provider, model), _Trouble())
        trouble.probe = None
        until = self._clock() + min(seconds, THROTTLED_LIMIT_SECONDS)
        if trouble.until is not None and trouble.until >= until:
            return None
        trouble.why = "throttled"
        return self._open(provider, model, trouble, min(seconds, THROTTLED_LIMIT_SECONDS))

    def states(self) -> tuple[BreakerState, ...]:
        """Those with trouble, the one that resumes first coming first."""
        now = self._clock()
        states = [_state(provider, model, trouble, now) for (provider, model), trouble in self._troubles.items()]
        return tuple(sorted(states, key=lambda state: (state.resumes_in, state.provider, state.model)))

    def _open(self, provider: str, model: str, trouble: _Trouble, seconds: float) -> str:
        trouble.until = self._clock() + seconds * (1.0 + 0.25 * self._jitter())
        return f"{trouble.why}: {provider}/{model}, tried again in {trouble.until - self._clock():.0f} s"


def _state(provider: str, model: str, trouble: _Trouble, now: float) -> BreakerState:
    if trouble.until is None:
        return BreakerState(provider, model, "closed", 0.0, trouble.why, trouble.failures)
    left = max(0.0, trouble.until - now)
    status: Literal["open", "half-open"] = "half-open" if trouble.probing(now) else "open"
    return BreakerState(provider, model, status, left, trouble.why, trouble.failures)
