"""How figures are said: each table is what an operator reads."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop import words
from crewtop.model.money import Money
from crewtop.model.task import RunOutcome, TaskStatus

# durations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "-"),
        (math.nan, "?"),
        (0, "0s"),
        (0.0004, "0s"),
        (0.003, "3ms"),
        (0.0994, "99ms"),
        (0.0999, "0.1s"),
        (0.2, "0.2s"),
        (2.14, "2.1s"),
        (9, "9s"),
        (9.96, "10s"),
        (59.9, "59s"),
        (60, "1m"),
        (252, "4m12s"),
        (362, "6m02s"),
        (3_600, "1h"),
        (7_500, "2h05m"),
        (273_600, "3d4h"),
        (86_400, "1d"),
        (200 * 86_400, "200d"),
        (5 * 365 * 86_400, "5y"),
        (1e15, ">999y"),
        (math.inf, ">999y"),
        (-0.0001, "0s"),
        (-86_400, "in 1d"),
        (-90, "in 1m30s"),
    ],
)
def test_duration(seconds: float | None, said: str) -> None:
    assert words.duration(seconds) == said


UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "y": 31_536_000}


def in_seconds(said: str) -> float:
    """Reads a duration back, roughly as a person does."""
    total, digits = 0.0, ""
    for part in said.replace("ms", "µ").lstrip(">"):
        if part.isdigit() or part == ".":
            digits += part
        else:
            total += float(digits) * UNITS["ms" if part == "µ" else part]
            digits = ""
    return total


@given(st.floats())
def test_any_duration_is_short_and_has_no_sign(seconds: float) -> None:
    said = words.duration(seconds)
    assert len(said.removeprefix("in ")) <= 6
    assert "-" not in said


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_the_longer_duration_never_reads_as_the_shorter(one: float, other: float) -> None:
    short, long = sorted((one, other))
    assert in_seconds(words.duration(short)) <= in_seconds(words.duration(long))


@pytest.mark.parametrize(
    ("seconds", "n", "said"), [(2.1, 20, "2.1s"), (2.1, 19, "~2.1s"), (None, 0, "-"), (2.1, 2_292, "2.1s")]
)
def test_percentiles_of_few_durations_are_marked(seconds: float | None, n: int, said: str) -> None:
    assert words.percentile(seconds, n) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "-"),
        (0.0004, "0.4 ms"),
        (0.0012, "1.2 ms"),
        (0.0123, "12 ms"),
        (0.9996, "1.0 s"),
        (1.24, "1.2 s"),
        (45.0, "45 s"),
        (math.nan, "?"),
        (-1, "?"),
    ],
)
def test_latency(seconds: float | None, said: str) -> None:
    assert words.latency(seconds) == said


# counts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "whole", "short"),
    [
        (0, "0", "0"),
        (1_204, "1,204", "1,204"),
        (9_999, "9,999", "9,999"),
        (12_449, "12,449", "12.4k"),
        (99_999, "99,999", "99.9k"),
        (999_999, "999,999", "999k"),
        (3_190_000, "3,190,000", "3.1M"),
        (2_000_000_000, "2,000,000,000", "2.0G"),
        (-12_449, "-12,449", "-12.4k"),
    ],
)
def test_count_and_compact(n: int, whole: str, short: str) -> None:
    assert words.count(n) == whole
    assert words.compact(n) == short


@given(st.integers(0))
def test_a_compact_count_never_takes_more_than_six_cells(n: int) -> None:
    assert len(words.compact(n)) <= 6


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (1_024, "1.0 KB"),
        (65_536, "64 KB"),
        (1_000_000, "976 KB"),
        (1_048_576, "1.0 MB"),
        (26_214_400, "25 MB"),
        (3 * 1_024**3, "3.0 GB"),
    ],
)
def test_size(n: int, said: str) -> None:
    assert words.size(n) == said


@given(st.integers(0))
def test_any_size_is_short(n: int) -> None:
    assert len(words.size(n)) <= 7


@pytest.mark.parametrize(
    ("per_minute", "said"),
    [
        (0, "0/m"),
        (840, "840/m"),
        (2_292, "38.2/s"),
        (2.44, "2.4/m"),
        (3, "3/m"),
        (0.05, "3/h"),
        (0.0001, "<0.1/h"),
        (1_200_000, "20.0k/s"),
        (math.nan, "?"),
        (-1, "?"),
    ],
)
def test_rate(per_minute: float, said: str) -> None:
    assert words.rate(per_minute) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (None, "-"),
        (1, "100%"),
        (0.99999, "99.9%"),
        (0.924, "92.4%"),
        (0.57, "57.0%"),
        (0.0004, "<0.1%"),
        (0.0, "0%"),
        (math.nan, "?"),
        (1.2, "?"),
        (-0.1, "?"),
    ],
)
def test_percent(share: float | None, said: str) -> None:
    assert words.percent(share) == said


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_all_and_nothing_are_never_said_of_almost(share: float) -> None:
    assert words.percent(share) not in ("100%", "100.0%", "0%", "0.0%")


# money -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        ("0", "$0.00"),
        ("3.41", "$3.41"),
        ("3.415", "$3.42"),
        ("0.34", "$0.34"),
        ("0.05", "$0.05"),
        ("0.0549", "$0.055"),
        ("0.00170001", "$0.0017"),
        ("0.002", "$0.002"),
        ("0.0996", "$0.10"),
        ("0.000001", "$0.000001"),
        ("0.0000004", "<$0.000001"),
        ("1204.5", "$1,204.50"),
        ("12345.6", "$12,346"),
        ("31234567", "$31.2M"),
        ("1E+50", "$>999T"),
        ("NaN", "?"),
        ("Infinity", "?"),
        ("-1", "?"),
    ],
)
def test_dollars(amount: str, said: str) -> None:
    assert words.dollars(Decimal(amount)) == said


@pytest.mark.parametrize(
    ("amount", "said", "long"),
    [
        (Money(), "-", "-"),
        (Money(Decimal("3.41"), 0, 7), "$3.41", "$3.41"),
        (Money(Decimal(0), 0, 3), "$0.00", "$0.00"),
        (Money(Decimal("1.239"), 1, 9), "≥ $1.23", "≥ $1.23 (1 call unreported)"),
        (Money(Decimal("0.41"), 2, 10), "≥ $0.41", "≥ $0.41 (2 calls unreported)"),
        (Money(Decimal("0.00219"), 1, 2), "≥ $0.0021", "≥ $0.0021 (1 call unreported)"),
        (Money(Decimal(0), 2, 5), "≥ $0.00", "≥ $0.00 (2 calls unreported)"),
        (Money(Decimal(0), 4, 4), "?", "? (4 calls unreported)"),
    ],
)
def test_money(amount: Money, said: str, long: str) -> None:
    assert words.money(amount) == said
    assert words.money(amount, long=True) == long


def test_a_lower_bound_in_ascii() -> None:
    assert words.money(Money(Decimal("1.23"), 1, 2), ascii=True) == ">= $1.23"


@given(st.decimals(min_value=0, allow_nan=False, allow_infinity=False), st.integers(1, 9))
def test_a_lower_bound_is_never_above_what_is_known(known: Decimal, unknown: int) -> None:
    said = words.money(Money(known, unknown, unknown + 1)).removeprefix("≥ $").replace(",", "")
    if said[-1].isdigit():
        assert Decimal(said) <= known


@given(st.decimals())
def test_any_amount_is_short(amount: Decimal) -> None:
    assert len(words.dollars(amount)) <= 10


# time, states ----------------------------------------------------------------------------------------------------


@pytest.fixture
def zone_two_hours_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "XXX-02:00")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone_two_hours_east")
def test_clock_and_stamp_say_their_zone() -> None:
    at = datetime(2026, 1, 31, 23, 2, 11, 999_999, tzinfo=UTC)
    assert words.clock(at) == "23:02:11Z"
    assert words.clock(at, local=True) == "01:02:11+0200"
    assert words.stamp(at) == "2026-01-31 23:02:11Z"
    assert words.stamp(at, local=True) == "2026-02-01 01:02:11+0200"


def test_clock_takes_any_zone() -> None:
    assert words.clock(datetime(2026, 1, 31, 9, 30, tzinfo=timezone(timedelta(hours=-5)))) == "14:30:00Z"


@pytest.mark.parametrize(
    ("state", "said", "in_ascii"),
    [
        ("failed", "✗ failed", "x failed"),
        ("running", "▶ running", "> running"),
        ("completed", "✓ completed", "+ completed"),
        ("pending", "◌ pending", "o pending"),
        ("retry", "↻ retry", "~ retry"),
        ("cancelled", "⊘ cancelled", "- cancelled"),
        ("waiting", "… waiting", ". waiting"),
        ("stuck", "▲ stuck", "! stuck"),
        ("over_budget", "✗ over budget", "x over budget"),
        ("no such", "? no such", "? no such"),
    ],
)
def test_a_state_is_a_glyph_and_a_word(state: str, said: str, in_ascii: str) -> None:
    assert words.status(state) == said
    assert words.status(state, ascii=True) == in_ascii


@pytest.mark.parametrize("state", [*TaskStatus, *RunOutcome])
def test_every_state_has_its_own_sign(state: str) -> None:
    assert words.glyph(state) != "?"
    assert words.glyph(state, ascii=True).isascii()
