"""The histogram: the reference implementation's buckets, the promised error, the database's own formula."""

from __future__ import annotations

import random

import pytest
from ddsketch.mapping import LogarithmicMapping
from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.histogram import RELATIVE_ERROR, bucket, merged, quantile, rank_of, value
from crewtop.store.database import Database

durations = st.floats(min_value=1e-6, max_value=1e7, allow_nan=False)


@given(durations)
def test_buckets_are_those_of_the_reference_implementation(seconds: float) -> None:
    assert bucket(seconds) == LogarithmicMapping(RELATIVE_ERROR).key(seconds)


@given(durations)
def test_a_bucket_stands_for_its_durations_within_one_percent(seconds: float) -> None:
    assert value(bucket(seconds)) == pytest.approx(seconds, rel=RELATIVE_ERROR * 1.0001)


@given(st.lists(st.dictionaries(st.integers(-50, 50), st.integers(1, 9)), max_size=5))
def test_merging_is_addition_in_any_order(histograms: list[dict[int, int]]) -> None:
    assert merged(histograms) == merged(reversed(histograms))
    assert sum(merged(histograms).values()) == sum(sum(h.values()) for h in histograms)


@given(st.lists(durations, min_size=1, max_size=200), st.sampled_from([0.0, 0.5, 0.95, 0.99, 1.0]))
def test_quantiles_are_within_one_percent_of_the_exact_ones(seconds: list[float], q: float) -> None:
    exact = next(x for x in sorted(seconds) if sum(s <= x for s in seconds) >= q * len(seconds) - 1e-6)
    found = quantile(merged([{bucket(s): 1} for s in seconds]), q)
    assert found == pytest.approx(exact, rel=RELATIVE_ERROR * 1.0001)


async def test_quantiles_have_the_rank_that_postgresql_gives_them(database: Database) -> None:
    async with database.connection() as connection:
        for n in range(1, 60):
            for q in (0.0, 0.07, 0.5, 0.95, 0.99, 1.0):
                query = "SELECT percentile_disc($1) WITHIN GROUP (ORDER BY x) - 1 FROM generate_series(1, $2) AS x"
                assert rank_of(q, n) == await connection.fetchval(query, q, n), (q, n)


def test_of_a_few_durations_the_longest_is_the_99th_percentile() -> None:
    assert quantile({bucket(seconds): 1 for seconds in (3.0, 4.0, 59.0)}, 0.99) == pytest.approx(59.0, rel=0.01)


def test_nothing_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None


async def test_the_database_computes_the_same_buckets(database: Database) -> None:
    draw = random.Random(5)
    seconds = [10 ** draw.uniform(-6, 7) for _ in range(2_000)] + [0.0, -1.0]
    async with database.connection() as connection:
        found = await connection.fetchval(
            "SELECT array_agg(crewtop.bucket(s) ORDER BY place) FROM unnest($1::float8[])"
            " WITH ORDINALITY AS x (s, place)",
            seconds,
        )
    assert found == [bucket(s) for s in seconds]
