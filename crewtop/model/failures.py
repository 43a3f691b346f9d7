"""Failures by what went wrong: tasks whose errors are alike but for numbers and names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from crewtop.model.money import Money


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Tasks that have failed, or back off, after like errors.

    key: eight hexadecimal digits, the same for the same error on every day, to filter by (failure:key); sample: the
    newest error, at most 500 characters, and sample_task the task that has it. first_at and last_at: when the oldest
    and the newest of them failed. trend: how many failed in each bucket of Failures.bucket_seconds, oldest first, the
    last bucket ends now. cost: of all attempts at them so far.
    """

    key: str
    sample: str
    sample_task: int
    failed: int
    retrying: int
    crews: tuple[str, ...]
    queues: tuple[str, ...]
    first_at: datetime
    last_at: datetime
    trend: tuple[int, ...]
    cost: Money


@dataclass(frozen=True, slots=True)
class Failures:
    """The groups, the largest first. at: the database's clock.

    looked_at: over how many tasks, the newest; more: there may be others, older or in small groups, that were left out.
    """

    at: datetime
    groups: tuple[FailureGroup, ...]
    bucket_seconds: float
    looked_at: int
    more: bool
