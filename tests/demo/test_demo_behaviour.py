"""Faults and latency of the simulated provider: honest in number, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from crewtop.demo.provider.behaviour import Behaviour, Fates, Fault


def faults(behaviour: Behaviour, calls: int) -> list[Fault | None]:
    fates = Fates(behaviour)
    return [fates.deal("gpt-4.1").fault for _ in range(calls)]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_share_of_failing_calls_is_the_sum_of_the_rates(seed: int) -> None:
    behaviour = Behaviour(rate_429=0.02, rate_500=0.02, rate_hang=0.01, seed=seed)

    counts = Counter(faults(behaviour, 100_000))

    # four standard deviations of a binomial draw: 4 * sqrt(n * p * (1 - p))
    assert sum(counts.values()) - counts[None] == pytest.approx(5_000, abs=276)
    assert counts[Fault.RATE_LIMIT] == pytest.approx(2_000, abs=178)
    assert counts[Fault.SERVER_ERROR] == pytest.approx(2_000, abs=178)
    assert counts[Fault.HANG] == pytest.approx(1_000, abs=126)


def test_equal_seeds_give_equal_fates() -> None:
    first, second, other = (Behaviour(rate_500=0.3, jitter=0.5, seed=seed) for seed in (7, 7, 8))

    assert faults(first, 200) == faults(second, 200)
    assert faults(first, 200) != faults(other, 200)


def test_rates_that_add_up_to_one_leave_no_call_unharmed() -> None:
    behaviour = Behaviour(rate_429=0.2, rate_500=0.2, rate_hang=0.2, rate_drip=0.2, rate_no_usage=0.2)

    assert set(faults(behaviour, 1_000)) == set(Fault)


def test_latency_is_the_models_own_and_jitter_only_adds() -> None:
    fates = Fates(Behaviour(latency_seconds=0.3, latency_by_model={"gpt-4.1": 2.0}, jitter=0.1))

    slow = [fates.deal("gpt-4.1").latency_seconds for _ in range(200)]
    others = [fates.deal("gpt-4o-mini").latency_seconds for _ in range(200)]

    assert 2.0 <= min(slow) < max(slow) <= 2.2
    assert 0.3 <= min(others) < max(others) <= 0.33


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"rate_500": 1.5}, "the rate of 500 is 1.5"),
        ({"rate_429": -0.1}, "the rate of 429 is -0.1"),
        ({"rate_hang": float("nan")}, "the rate of hang is nan"),
        ({"rate_429": 0.6, "rate_500": 0.6}, "add up to 1.2"),
        ({"latency_seconds": float("inf")}, "latency_seconds is inf"),
        ({"latency_by_model": {"gpt-4.1": -1}}, "latency of gpt-4.1 is -1"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Behaviour(**settings)
