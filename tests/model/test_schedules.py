"""When recurring tasks are due, with the clock in the test's hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.schedules import MOST_MADE_UP, check, due, ticks

BERLIN = "Europe/Berlin"


def local(text: str) -> datetime:
    """A time in Berlin; a repeated hour's second pass ends in '*'."""
    return datetime.fromisoformat(text.rstrip("*")).replace(tzinfo=ZoneInfo(BERLIN), fold=int(text.endswith("*")))


def first(cron: str, after: datetime, count: int = 3) -> list[str]:
    """The next ticks as Berlin's clocks show them, with their distance from UTC."""
    return [t.astimezone(ZoneInfo(BERLIN)).strftime("%d %H:%M%z") for t in islice(ticks(cron, BERLIN, after), count)]


def test_a_tick_is_when_the_zones_clock_shows_it() -> None:
    assert first("30 2 * * MON-FRI", local("2026-07-03 12:00"), 2) == ["06 02:30+0200", "07 02:30+0200"]


def test_what_is_due_in_the_hour_that_spring_skips_runs_when_it_has_been_skipped() -> None:
    assert first("30 2 * * *", local("2026-03-28 12:00"), 2) == ["29 03:00+0200", "30 02:30+0200"]


def test_two_ticks_in_the_skipped_hour_are_one() -> None:
    assert first("0,30 2 * * *", local("2026-03-28 12:00"), 2) == ["29 03:00+0200", "30 02:00+0200"]


def test_what_is_due_in_the_hour_that_autumn_repeats_runs_once() -> None:
    assert first("30 2 * * *", local("2026-10-24 12:00"), 2) == ["25 02:30+0200", "26 02:30+0100"]


def test_in_the_second_pass_of_the_repeated_hour_nothing_comes_again() -> None:
    assert first("30 2 * * *", local("2026-10-25 02:10*"), 1) == ["26 02:30+0100"]


def test_what_is_due_every_half_hour_is_due_in_both_passes() -> None:
    assert first("*/30 * * * *", local("2026-10-25 01:45"), 4) == [
        "25 02:00+0200", "25 02:30+0200", "25 02:00+0100", "25 02:30+0100",
    ]  # fmt: skip


def test_what_comes_to_the_second_is_due() -> None:
    now = local("2026-07-01 06:00")
    assert due("0 6 * * *", BERLIN, "skip", now, now) == [now]


def test_a_tick_that_is_seen_a_minute_late_is_no_miss_and_later_ones_are() -> None:
    tick = local("2026-07-01 06:00")
    assert due("0 6 * * *", BERLIN, "skip", tick, tick + timedelta(seconds=60)) == [tick]
    assert due("0 6 * * *", BERLIN, "skip", tick, tick + timedelta(seconds=61)) == []


def test_missed_ticks_are_skipped_or_made_up_once_or_all() -> None:
    since, now = local("2026-07-01 06:00"), local("2026-07-04 07:00")
    days = [local(f"2026-07-0{day} 06:00") for day in range(1, 5)]
    assert due("0 6 * * *", BERLIN, "skip", since, now) == []
    assert due("0 6 * * *", BERLIN, "once", since, now) == [days[-1]]
    assert due("0 6 * * *", BERLIN, "all", since, now) == days


def test_no_more_than_a_hundred_are_made_up_and_those_are_the_newest() -> None:
    since = local("2026-07-01 06:00")
    made_up = due("* * * * *", "UTC", "all", since, since + timedelta(hours=3))
    assert len(made_up) == MOST_MADE_UP
    assert made_up[-1] == since + timedelta(hours=3)


def test_nothing_is_due_before_its_time() -> None:
    now = local("2026-07-01 06:00")
    for missed in ("skip", "once", "all"):
        assert due("0 6 * * *", BERLIN, missed, now + timedelta(days=1), now) == []


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)),
    st.sampled_from(["30 2 * * *", "*/20 * * * *", "15 1-3 * * *", "0 0 1 * *", "0 3 * * SUN", "59 23 L * *"]),
    st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
)
def test_ticks_come_after_and_in_order_whenever_one_looks(after: datetime, cron: str, zone: str) -> None:
    moment = after.replace(tzinfo=UTC)
    found = [moment, *islice(ticks(cron, zone, moment), 5)]
    assert all(earlier < later for earlier, later in pairwise(found))


@pytest.mark.parametrize(
    ("cron", "zone", "complaint"),
    [
        ("61 * * * *", "UTC", r"cron '61 \* \* \* \*' cannot be used \(Bad minute\): use five fields, minute 0-59"),
        ("* * * *", "UTC", r"\(4 fields\)"),
        ("0 * * * * *", "UTC", r"\(6 fields\)"),
        ("0 0 30 2 *", "UTC", r"\(Bad day-of-month\)"),
        ("0 6 * * *", "Mars/Olympus", r"zone 'Mars/Olympus' is unknown: use an IANA name such as"),
        ("0 6 * * *", "../../etc/passwd", r"zone '../../etc/passwd' is unknown"),
    ],
)
def test_what_cannot_be_used_is_told(cron: str, zone: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        check(cron, zone)
