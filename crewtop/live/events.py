"""The stream of what was changed: how a change becomes an entry of it, and an entry a Transition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from redis.asyncio.client import Pipeline

from crewtop.live import keys
from crewtop.model.live import UNKNOWN, Change, Transition
from crewtop.text import masked, shown

ENTRIES = 10_000
"""The stream keeps its newest entries: history is kept by Postgres."""

EXPIRES_SECONDS = 86_400

MOST_AT_ONCE = 500
"""Changes of one batch that are told; the others are counted as lost."""

YEAR_9999 = 253_370_764_800
"""The seconds at which Python's calendar ends: whoever may write here may write any position."""

REASON_CHARACTERS = 200
REASON_LOOKED_AT = 2_000
"""Characters of a reason that are looked through for secrets before it is cut: errors can be megabytes."""


def add_changes(pipeline: Pipeline, changes: Sequence[Change], lost: int = 0) -> None:
    """Queue what puts these changes into the stream. lost: how many before them were not told."""
    if not changes:
        return
    lost += sum(change.number for change in islice(changes, MOST_AT_ONCE, None))
    for change in islice(changes, MOST_AT_ONCE):
        pipeline.xadd(keys.EVENT, _fields(change, lost), maxlen=ENTRIES, approximate=True)
        lost = 0
    pipeline.expire(keys.EVENT, EXPIRES_SECONDS)


def lost_before(fields: Mapping[str, str]) -> int:
    """How many changes were not told before an entry with these fields."""
    return _number(fields.get("lost"), 0)


def told_at(position: str) -> datetime:
    """When an entry was added, by Redis's clock."""
    return datetime.fromtimestamp(min(int(position.partition("-")[0]) / 1_000, YEAR_9999), UTC)


def transition(position: str, fields: Mapping[str, str]) -> Transition | None:
    """An entry as a Transition; None for what others put there."""
    try:
        return Transition(
            told_at(position),
            int(fields["task"]),
            fields.get("queue", UNKNOWN),
            fields.get("crew", UNKNOWN),
            fields.get("old"),
            fields["new"],
            fields["actor"],
            int(fields["run"]) if "run" in fields else None,
            fields.get("reason"),
            max(1, _number(fields.get("count"), 1)),
        )
    except (KeyError, ValueError):
        return None


def _fields(change: Change, lost: int) -> dict[Any, Any]:
    """Only what there is: Redis packs entries with the same fields tightly."""
    reason = shown(masked(change.reason[:REASON_LOOKED_AT]))[:REASON_CHARACTERS] if change.reason else None
    told = {
        "task": change.task_id,
        "queue": change.queue if change.queue != UNKNOWN else None,
        "crew": change.crew if change.crew != UNKNOWN else None,
        "old": change.old_status,
        "new": change.new_status,
        "actor": change.actor,
        "run": change.run_id,
        "reason": reason,
        "count": change.number if change.number > 1 else None,
        "lost": lost or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else otherwise
