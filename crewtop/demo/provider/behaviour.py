"""How the simulated provider behaves: its delays and its faults, drawn so that a run can be repeated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random


class Fault(StrEnum):
    """What can go wrong with a call. A call meets at most one fault."""

    RATE_LIMIT = "429"
    SERVER_ERROR = "500"
    HANG = "hang"
    DRIP = "drip"
    NO_USAGE = "no_usage"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The settings of a simulated provider; a request cannot override any of them.

    latency_seconds, latency_by_model: time to answer, in seconds, and its exceptions by model name.
    jitter: up to this share is added to the latency: 0.2 means 0 to 20 % more, evenly spread.
    rate_429, rate_500: share of calls (0 to 1) refused with that status; 429 carries Retry-After.
    rate_hang: share of calls that are accepted and never answered.
    rate_drip: share of calls that get a header and then one space every drip_seconds, never an answer: the
        client's read timeout does not notice.
    rate_no_usage: share of calls answered without their token usage.
    retry_after_seconds: what Retry-After says, in whole seconds, on 429s of rate_429.
    requests_per_minute, tokens_per_minute, at_once: what each key may use of each model in any 60 s, and at once;
        None is without limit. What goes above it is refused with 429 and the seconds that are really left.
    seed: the n-th call of two providers with equal behaviour meets the same fault and jitter.

    Raises ValueError if a duration is negative or not finite, a rate outside 0 to 1, or their sum above 1.
    """

    latency_seconds: float = 0.0
    latency_by_model: Mapping[str, float] = field(default_factory=dict)
    jitter: float = 0.0
    rate_429: float = 0.0
    retry_after_seconds: int = 1
    rate_500: float = 0.0
    rate_hang: float = 0.0
    rate_drip: float = 0.0
    drip_seconds: float = 20.0
    rate_no_usage: float = 0.0
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    at_once: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        durations = {
            "latency_seconds": self.latency_seconds,
            "jitter": self.jitter,
            "retry_after_seconds": self.retry_after_seconds,
            "drip_seconds": self.drip_seconds,
            **{f"latency of {model}": seconds for model, seconds in self.latency_by_model.items()},
        }
        for name, value in durations.items():
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}: it must be a finite number, 0 or more")
        for name in ("requests_per_minute", "tokens_per_minute", "at_once"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise ValueError(f"{name} is {limit}: it must be 1 or more, or left out for no limit")
        for fault, rate in self.rates().items():
            if not 0 <= rate <= 1:
                raise ValueError(f"the rate of {fault} is {rate}: it must lie between 0 and 1 (0.05 is 5 %)")
        if sum(self.rates().values()) > 1 + 1e-9:
            raise ValueError(f"the rates of all faults add up to {sum(self.rates().values()):.3g}: at most 1")

    def rates(self) -> dict[Fault, float]:
        """The share of calls that meets each fault, from 0 to 1."""
        return {
            Fault.RATE_LIMIT: self.rate_429,
            Fault.SERVER_ERROR: self.rate_500,
            Fault.HANG: self.rate_hang,
            Fault.DRIP: self.rate_drip,
            Fault.NO_USAGE: self.rate_no_usage,
        }


@dataclass(frozen=True, slots=True)
class Fate:
    """What one call meets: a fault, if any, and how long an answer takes, in seconds."""

    fault: Fault | None
    latency_seconds: float


class Fates:
    """Deals each call its fate, in the order of arrival."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._random = Random(behaviour.seed)

    def deal(self, model: str) -> Fate:
        """Return the fate of the next call.

        One draw decides among all faults, so that their shares add up exactly to the sum of the rates, where
        a draw for each fault would lose those calls on which two faults meet.
        """
        fault_draw, jitter_draw = self._random.random(), self._random.random()
        base = self._behaviour.latency_by_model.get(model, self._behaviour.latency_seconds)
        latency = base * (1 + self._behaviour.jitter * jitter_draw)
        for fault, rate in self._behaviour.rates().items():
            if fault_draw < rate:
                return Fate(fault, latency)
            fault_draw -= rate
        return Fate(None, latency)
