"""The judgement that a running task is stuck, and why."""

from __future__ import annotations

NO_PROGRESS_SECONDS = 180.0
"""A run without a step, call or tool event for this long is stuck, unless configured otherwise."""


CALLABLE = "running a function"
"""What a run does that tells of no progress while it lasts: only its budget and its lease are judged."""


def stuck_reason(
    lease_overdue: float | None,
    age: float | None,
    budget: float | None,
    idle: float | None,
    activity: str | None,
    limit: float = NO_PROGRESS_SECONDS,
) -> str | None:
    """Why a running task is stuck, in words without figures that change each second, or None.

    lease_overdue: seconds since the lease ran out (negative: it still runs); age: of the run; budget: its limit;
    idle: since its last event; activity: what it was doing then.
    """
    if lease_overdue is not None and lease_overdue > 0:
        return "lease expired, worker gone"
    if budget is not None and age is not None and age > budget:
        return f"over its budget of {budget:g} s"
    if idle is not None and idle > limit and activity != CALLABLE:
        return f"no progress in {activity}" if activity else "no progress"
    return None
