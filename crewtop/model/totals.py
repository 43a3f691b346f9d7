"""What has ever ended, as counters that only grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

RUNS = ("completed", "failed", "retried", "met", "missed")
"""What is counted of runs; met and missed are first starts within the service level of their priority, and others."""

TOKENS = ("input", "cache_read", "cache_write", "output", "reasoning")
CALLS = ("calls", "errors", "rate_limited", "unpriced", *TOKENS, "cost")
"""What is counted of LLM calls; cost in US dollars, as far as it is known, unpriced counts the calls whose is not."""


@dataclass(frozen=True, slots=True)
class Totals:
    """runs: by queue, crew and one of RUNS; calls: by provider, model and one of CALLS."""

    runs: Mapping[tuple[str, str, str], Decimal] = field(default_factory=dict)
    calls: Mapping[tuple[str, str, str], Decimal] = field(default_factory=dict)
