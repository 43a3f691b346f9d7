"""The window forgets what is too old, and adds today's spend up before it does."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from crewtop.model.money import Money
from crewtop.monitor.window import Window

MIDNIGHT = 1_795_910_400


def spend(second: int, cost: str) -> dict[str, Any]:
    return {"bin": second // 10 * 10, "queue": "q", "calls": 1, "unpriced": 0, "cost": cost}


def stats(second: int, completed: int) -> dict[str, Any]:
    return {
        "bin": second // 10 * 10, "queue": "q", "completed": completed, "failed": 0, "retried": 0, "met": 0,
        "missed": 0, "wait": {}, "run_ok": {"5": completed}, "run_bad": {},
    }  # fmt: skip


def test_what_is_fetched_again_replaces_what_was_there() -> None:
    window = Window(900)
    now = MIDNIGHT + 7_200
    window.update(now, [stats(now - 5, 3)], [spend(now - 5, "1")], Money())
    window.update(now + 1, [stats(now - 5, 4), stats(now, 2)], [spend(now - 5, "2")], Money())
    assert sum(bucket.completed for bucket in window.of_queue("q", 0)) == 6
    assert window.spent("q", 0) == Money(Decimal(2), 0, 1)


def test_spend_is_added_up_as_it_leaves_the_hour_and_gone_at_midnight() -> None:
    window = Window(900)
    start = MIDNIGHT + 7_200
    window.update(start, [], [spend(start - 5, "1")], Money(Decimal(10), 1, 5))
    assert window.spent_today() == Money(Decimal(11), 1, 6)
    window.update(start + 4_000, [], [spend(start - 5, "1"), spend(start + 3_995, "2")], Money(Decimal(99)))
    assert window.spent(None, 0) == Money(Decimal(2), 0, 1)
    assert window.spent_today() == Money(Decimal(13), 1, 7)
    tomorrow = MIDNIGHT + 86_400
    window.update(tomorrow + 5, [], [spend(tomorrow - 20, "4"), spend(tomorrow + 1, "5")], Money(Decimal(99)))
    assert window.spent(None, 0) == Money(Decimal(9), 0, 2)
    assert window.spent_today() == Money(Decimal(5), 0, 1)
    assert len(window.spend) == 2


def test_old_buckets_are_let_go() -> None:
    window = Window(900)
    for hour in range(5):
        now = MIDNIGHT + hour * 3_600
        window.update(now, [stats(now - 5, 1)], [], Money())
    assert len(window.buckets) == 1
