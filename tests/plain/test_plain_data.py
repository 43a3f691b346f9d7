"""What --json writes of the model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from crewtop.model.detail import Excerpt
from crewtop.model.money import Money
from crewtop.model.snapshot import Health, Percentiles, QueueRow, Snapshot
from crewtop.model.task import Priority, TaskStatus
from crewtop.plain import to_json


def test_each_kind_of_value() -> None:
    assert to_json(Money(Decimal("0.0000001"), 1, 2)) == {"known_usd": "0.0000001", "unknown_calls": 1, "calls": 2}
    assert (
        to_json(datetime(2026, 3, 14, 16, 2, 11, 500_000, timezone(timedelta(hours=2))))
        == "2026-03-14T14:02:11.500000Z"
    )
    assert to_json([TaskStatus.FAILED, Priority.HIGH, None, True, 3, 0.5]) == ["failed", 2, None, True, 3, 0.5]
    assert to_json(Percentiles()) == {"n": 0, "p50_seconds": None, "p95_seconds": None, "p99_seconds": None}


def test_what_is_not_finite_is_unknown() -> None:
    assert to_json([float("nan"), float("-inf"), Decimal("NaN")]) == [None, None, None]


def test_secrets_are_masked() -> None:
    assert to_json(Health(up=False, detail="cannot reach postgres://u:pw@h/db"))["detail"] == (
        "cannot reach postgres://u:••••@h/db"
    )
    inputs = Excerpt('{"credentials": {"user": "bob"}}', 32)
    assert to_json(inputs) == {"text": '{"credentials": {"user": "••••"}}', "size": 32}


def test_a_snapshot_survives_the_way_through_json_in_ascii() -> None:
    queue = QueueRow("\x1b[2J\x9b\u202e\ud800", no_worker=("a", "b"))
    snapshot = Snapshot(
        at=datetime(2026, 3, 14, tzinfo=UTC),
        database="shop",
        postgres=Health(up=True, latency=0.001),
        redis=Health(up=False, detail="refused"),
        window_seconds=900,
        queues=(queue,),
    )
    text = json.dumps(to_json(snapshot), allow_nan=False)
    assert text.isascii()
    assert text.isprintable()
    back = json.loads(text)
    assert back["queues"][0]["name"] == queue.name
    assert back["queues"][0]["no_worker"] == ["a", "b"]
    assert back["queues"][0]["oldest_seconds"] is None
    assert back["at"] == "2026-03-14T00:00:00Z"


@dataclass
class Strange:
    value: object


def test_what_is_not_of_the_model_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes is not part of the model: cannot write it as JSON"):
        to_json(Strange(b"x"))
