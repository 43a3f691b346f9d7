"""Keys take turns, rest and retire; what is in them is never told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crewtop.llm.asking import Fault
from crewtop.llm.keys import KeyMissing, KeyPool, Secrets, last_characters, secret
from tests.llm.conftest import Clock

KEYS = {"openai": ("A", "B", "C"), "anthropic": ("X",)}
M = "gpt-4.1"
SECRET = "sk-proj-abcdefghijkl9876"


@pytest.fixture
def pool(clock: Clock) -> KeyPool:
    return KeyPool(KEYS, clock)


def test_a_provider_without_keys_has_none_to_choose(pool: KeyPool) -> None:
    assert (pool.has("mistral"), pool.spent("mistral"), pool.ready("mistral", M)) == (False, False, ())
    assert pool.rest_seconds("mistral", M) is None


def test_a_429_lets_a_key_rest_for_the_model_that_it_came_from(pool: KeyPool) -> None:
    """Providers count the requests and tokens of each model apart."""
    pool.failed("openai", "B", M, Fault.RATE_LIMIT, 30.0)
    assert pool.ready("openai", "other") == ("A", "B", "C")
    assert pool.rest_seconds("openai", "other") == 0.0
    [state] = [state for state in pool.states() if state.name == "B"]
    assert (state.status, state.why) == ("resting", f"rate limit of {M}")
    pool.failed("openai", "B", "other", Fault.RATE_LIMIT, 60.0)
    [state] = [state for state in pool.states() if state.name == "B"]
    assert state.why == "rate limit of 2 models"


def test_a_429_lets_one_key_rest_as_long_as_the_provider_says(pool: KeyPool, clock: Clock) -> None:
    assert pool.failed("openai", "B", M, Fault.RATE_LIMIT, 30.0) is None
    assert set(pool.ready("openai", M)) == {"A", "C"}
    clock.now += 29.9
    assert "B" not in pool.ready("openai", M)
    clock.now += 0.2
    assert "B" in pool.ready("openai", M)


def test_of_two_429s_the_longer_rest_counts(pool: KeyPool, clock: Clock) -> None:
    pool.failed("anthropic", "X", M, Fault.RATE_LIMIT, 30.0)
    pool.failed("anthropic", "X", M, Fault.RATE_LIMIT, 1.0)
    assert pool.rest_seconds("anthropic", M) == 30.0


def test_when_all_rest_the_first_to_be_ready_says_how_long(pool: KeyPool) -> None:
    for name, seconds in (("A", 30.0), ("B", 7.0), ("C", 60.0)):
        pool.failed("openai", name, M, Fault.RATE_LIMIT, seconds)
    assert pool.ready("openai", M) == ()
    assert pool.rest_seconds("openai", M) == 7.0


@pytest.mark.parametrize("fault", [Fault.KEY, Fault.QUOTA])
def test_a_refused_or_empty_key_retires_for_good_with_one_alert(pool: KeyPool, clock: Clock, fault: Fault) -> None:
    alert = pool.failed("openai", "A", M, fault)
    assert alert is not None
    assert "key A of openai is retired" in alert
    assert "2 left" in alert
    assert pool.failed("openai", "A", M, fault) is None
    clock.now += 1e6
    assert set(pool.ready("openai", M)) == {"B", "C"}
    assert pool.rest_seconds("openai", M) == 0.0


def test_a_late_429_does_not_bring_a_retired_key_back(pool: KeyPool, clock: Clock) -> None:
    pool.failed("anthropic", "X", M, Fault.KEY)
    pool.failed("anthropic", "X", M, Fault.RATE_LIMIT, 1.0)
    clock.now += 10
    assert pool.ready("anthropic", M) == ()
    assert pool.rest_seconds("anthropic", M) is None
    assert [state.status for state in pool.states()] == ["ready", "ready", "ready", "retired"]


@pytest.mark.parametrize("fault", [Fault.SERVER, Fault.TIMEOUT, Fault.CONTENT, Fault.CONTEXT, Fault.REQUEST])
def test_other_faults_say_nothing_about_a_key(pool: KeyPool, fault: Fault) -> None:
    assert pool.failed("openai", "A", M, fault) is None
    assert "A" in pool.ready("openai", M)


def test_a_key_is_read_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text(f"{SECRET}\n")
    monkeypatch.setenv("KEY_ONE", SECRET)
    assert secret("KEY_ONE") == secret(str(file)) == SECRET


@pytest.mark.parametrize("name", ["NO_SUCH_KEY", "/no/such/key", "./"])
def test_a_key_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(KeyMissing, match=f"key {name}: "):
        secret(name)


def test_at_most_four_characters_of_a_key_are_shown() -> None:
    assert [last_characters(text) for text in (SECRET, "short-key", "")] == ["…9876", "…", "…"]


def test_keys_are_taken_out_of_text_and_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = 'sk-"quoted"\\and/slashed-1234'
    monkeypatch.setenv("ONE", SECRET)
    monkeypatch.setenv("TWO", odd)
    secrets = Secrets(("ONE", "TWO", "THREE_IS_MISSING"))
    told = secrets.text(f"a {SECRET} b {odd} c")
    assert told == "a …9876 b …1234 c"
    line = secrets.line(json.dumps({"error": f"bad key {odd}", SECRET: 1}).encode())
    assert json.loads(line) == {"error": "bad key …1234", "…9876": 1}


def test_of_a_key_that_begins_like_another_nothing_more_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    longer = f"{SECRET}-and-more-5432"
    monkeypatch.setenv("ONE", SECRET)
    monkeypatch.setenv("TWO", longer)
    secrets = Secrets(("ONE", "TWO"))
    assert secrets.text(f"{longer} {SECRET}") == "…5432 …9876"
    assert json.loads(secrets.line(json.dumps([longer]).encode())) == ["…5432"]


def test_a_key_that_was_exchanged_stays_a_secret(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "key"
    file.write_text(SECRET)
    secrets = Secrets((str(file),), clock)
    assert secrets.text(SECRET) == "…9876"
    file.write_text("sk-proj-newnewnewnew5432")
    clock.now += 2
    assert secrets.text(f"{SECRET} sk-proj-newnewnewnew5432") == "…9876 …5432"
