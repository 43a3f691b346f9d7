"""Under which names the model's figures are published: stable, and with their unit, as no machine reads docstrings."""

from __future__ import annotations

from collections.abc import Mapping

from crewtop.model.allowance import AllowanceState
from crewtop.model.budgets import BudgetRow
from crewtop.model.money import Money
from crewtop.model.providers import Circuit, KeyHealth, Providers
from crewtop.model.snapshot import (
    Health,
    Percentiles,
    Point,
    QueueRow,
    RunningRow,
    Snapshot,
    Standby,
    Throttle,
    WorkerRow,
)
from crewtop.model.statistics import Durations

_RESUMES = {"resumes_in": "resumes_in_seconds"}

PUBLISHED: Mapping[type, Mapping[str, str]] = {
    AllowanceState: _RESUMES,
    BudgetRow: {
        "limit": "limit_usd", "spent": "spent_usd", "projected": "projected_usd", "unknown": "unknown_calls",
    },
    Circuit: _RESUMES,
    Durations: {"mean": "mean_seconds", "p50": "p50_seconds", "p95": "p95_seconds", "p99": "p99_seconds"},
    Health: {"latency": "latency_seconds"},
    KeyHealth: _RESUMES,
    Money: {"known": "known_usd", "unknown": "unknown_calls"},
    Percentiles: {"p50": "p50_seconds", "p95": "p95_seconds", "p99": "p99_seconds"},
    Point: {
        "spend": "spend_usd", "oldest": "oldest_seconds",
        **{f"{of}_{rank}": f"{of}_{rank}_seconds" for of in ("wait", "run") for rank in ("p50", "p95", "p99")},
    },
    Providers: {"age": "age_seconds"},
    QueueRow: {
        "oldest": "oldest_seconds", "waits": "waits_seconds", "service_levels": "service_levels_seconds",
    },
    RunningRow: {"age": "age_seconds", "idle": "idle_seconds"},
    Standby: {"lag": "lag_seconds"},
    Snapshot: {"replica_lag": "replica_lag_seconds"},
    Throttle: {"seconds_left": "left_seconds"},
    WorkerRow: {
        "heartbeat_age": "heartbeat_age_seconds", "drain_seconds_left": "drain_left_seconds",
        "clock_offset": "clock_offset_seconds",
    },
}  # fmt: skip
"""What is not named here is published under its own name."""

_AS_THEY_ARE: Mapping[str, str] = {}


def published(kind: type, field: str) -> str:
    """The published name of a field of one of the model's dataclasses."""
    return PUBLISHED.get(kind, _AS_THEY_ARE).get(field, field)


def is_money(name: str) -> bool:
    """Whether a published figure is an amount of money, which is written as a string: no digit of it is lost."""
    return name.endswith("_usd")
