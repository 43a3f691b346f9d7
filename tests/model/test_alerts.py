"""From what a rule sees to what somebody is told: once for each beginning, once for each end, and no flapping."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.alerts import (
    MOST_STANDING,
    Alert,
    Event,
    Rule,
    Seen,
    Sign,
    Silence,
    advance,
    exactly,
    silence_of,
    storable,
)

START = datetime(2026, 3, 14, 12, tzinfo=UTC)
RULE = Rule("stuck", "stuck tasks", above=5, clear_below=2, for_seconds=60, clear_seconds=120)


def sign(subject: str = "support", *, high: bool = True, rule: str = "stuck") -> Sign:
    return Sign(rule, subject, "stuck tasks", "3 tasks are stuck", "watch", subject, 3.0, high)


HIGH, LOW, OFF, UNKNOWN = Seen((sign(),)), Seen((sign(high=False),)), Seen(()), Seen((), frozenset({"stuck"}))


class Shop:
    """One rule looked at again and again, as a worker does; ended alerts leave the table of those that stand."""

    def __init__(self, rule: Rule | None = RULE) -> None:
        self.rules = {rule.name: rule} if rule is not None else {}
        self.standing: list[Alert] = []
        self.ended: list[Alert] = []
        self.told: list[tuple[float, str, Event]] = []
        self.silences: list[Silence] = []
        self.seconds = 0.0
        self._ids = count(1)

    def look(self, seen: Seen, after: float = 0.0) -> str:
        """Look so many seconds later; answers the state of the only alert, or '-'."""
        self.seconds += after
        now = START + timedelta(seconds=self.seconds)
        step = advance(self.standing, seen, self.rules, self.silences, now, lambda: str(next(self._ids)))
        alerts = {a.id: a for a in self.standing if a.id not in step.dropped} | {a.id: a for a in step.changed}
        self.standing = [a for a in alerts.values() if a.state != "ended"]
        self.ended += [a for a in alerts.values() if a.state == "ended"]
        self.told += [(self.seconds, alert.id, event) for alert, event in step.tell]
        return self.standing[0].state if self.standing else "-"


def silence(until: float | None = None, alert_id: str | None = None, rule: str = "*", subject: str = "*") -> Silence:
    end = START + timedelta(seconds=until) if until is not None else None
    return Silence(1, rule, subject, end, alert_id, "dana@ops1", None, START)


def test_it_fires_once_it_has_lasted_and_ends_once_it_has_been_over_for_long_enough() -> None:
    shop = Shop()
    assert [shop.look(HIGH), shop.look(HIGH, 59), shop.look(HIGH, 1)] == ["pending", "pending", "firing"]
    assert [shop.look(OFF, 5), shop.look(OFF, 119), shop.look(OFF, 1)] == ["clearing", "clearing", "-"]
    assert shop.told == [(60, "1", "fired"), (185, "1", "ended")]


def test_what_passes_by_itself_is_told_nobody() -> None:
    shop = Shop()
    assert [shop.look(HIGH), shop.look(OFF, 59), shop.look(HIGH, 1), shop.look(HIGH, 59)] == [
        "pending", "-", "pending", "pending",
    ]  # fmt: skip
    assert shop.told == []


def test_between_its_bounds_it_neither_begins_nor_ends() -> None:
    shop = Shop()
    assert shop.look(LOW) == "-"
    shop.look(HIGH)
    shop.look(HIGH, 60)
    assert [shop.look(LOW, 500), shop.look(OFF, 1), shop.look(LOW, 100), shop.look(OFF, 100)] == [
        "firing", "clearing", "firing", "clearing",
    ]  # fmt: skip
    assert shop.told == [(60, "1", "fired")]


def test_what_cannot_be_known_does_not_end() -> None:
    shop = Shop()
    shop.look(HIGH)
    shop.look(HIGH, 60)
    assert shop.look(OFF, 5) == "clearing"
    assert [shop.look(UNKNOWN, 500), shop.look(OFF, 1), shop.look(OFF, 119)] == ["firing", "clearing", "clearing"]
    assert Shop().look(UNKNOWN) == "-"


def test_at_once_is_at_once() -> None:
    shop = Shop(replace(RULE, for_seconds=0, clear_seconds=0))
    assert [shop.look(HIGH), shop.look(OFF, 1)] == ["firing", "-"]
    assert [event for _, _, event in shop.told] == ["fired", "ended"]


def test_an_alert_ends_with_its_rule() -> None:
    shop = Shop()
    shop.look(HIGH)
    shop.look(HIGH, 60)
    shop.rules = {}
    assert shop.look(HIGH, 5) == "-"
    assert [event for _, _, event in shop.told] == ["fired", "ended"]


def test_what_is_silenced_is_told_once_the_silence_is_over_and_it_still_fires() -> None:
    shop = Shop()
    shop.silences = [silence(until=300)]
    shop.look(HIGH)
    shop.look(HIGH, 60)
    assert (shop.look(HIGH, 239), shop.told) == ("firing", [])
    shop.look(HIGH, 1)
    assert shop.told == [(300, "1", "fired")]


def test_what_was_silenced_throughout_has_no_end_to_tell_either() -> None:
    shop = Shop()
    shop.look(HIGH)
    shop.silences = [silence(alert_id="1")]
    shop.look(HIGH, 60)
    shop.look(OFF, 1)
    assert (shop.look(OFF, 120), shop.told) == ("-", [])
    shop.look(HIGH, 1)
    shop.look(HIGH, 60)
    assert [event for _, _, event in shop.told] == ["fired"], "the next one is another alert"


def test_a_silence_after_it_was_told_does_not_swallow_its_end() -> None:
    shop = Shop()
    shop.look(HIGH)
    shop.look(HIGH, 60)
    shop.silences = [silence(until=9_999)]
    shop.look(OFF, 1)
    shop.look(OFF, 120)
    assert [event for _, _, event in shop.told] == ["fired", "ended"]


@pytest.mark.parametrize(
    ("rule", "subject", "covers"),
    [("*", "*", True), ("stuck", "sup*", True), ("stuck", "research", False), ("late", "*", False)],
)
def test_a_silence_covers_what_both_its_patterns_fit(rule: str, subject: str, covers: bool) -> None:
    alert = Alert("1", "stuck", "support", "stuck tasks", "watch", "firing", START, "")
    assert (silence_of(alert, [silence(until=60, rule=rule, subject=subject)], START) is not None) == covers
    assert silence_of(alert, [silence(until=0)], START) is None, "it is over"


@given(st.text())
def test_a_name_can_be_silenced_exactly(name: str) -> None:
    alert = Alert("1", "stuck", name, "stuck tasks", "watch", "firing", START, "")
    assert silence(until=60, subject=exactly(name)).covers(alert, START)
    assert not silence(until=60, subject=exactly(name)).covers(replace(alert, subject=name + "x"), START)


@given(st.text(st.characters()))
def test_any_name_can_be_stored(name: str) -> None:
    kept = storable(name + "\ud800\0", 1_000)
    kept.encode()
    assert "\0" not in kept


def test_alerts_do_not_grow_without_bound() -> None:
    shop = Shop()
    shop.look(Seen(tuple(sign(f"q{n}") for n in range(2 * MOST_STANDING))))
    assert len(shop.standing) == MOST_STANDING


LOOKS = st.lists(st.tuples(st.sampled_from([HIGH, LOW, OFF, UNKNOWN]), st.floats(0, 90)), max_size=60)
RULES = st.builds(lambda f, c: replace(RULE, for_seconds=f, clear_seconds=c), st.floats(0, 120), st.floats(0, 120))


@given(LOOKS, RULES)
def test_each_firing_is_told_once_and_has_one_end_and_nothing_flaps(
    looks: list[tuple[Seen, float]], rule: Rule
) -> None:
    shop = Shop(rule)
    for seen, after in looks:
        shop.look(seen, after)
    shop.rules = {}
    shop.look(OFF)
    told = Counter((alert_id, event) for _, alert_id, event in shop.told)
    assert set(told.values()) <= {1}
    assert {alert_id for alert_id, event in told if event == "fired"} == {a.id for a in shop.ended}
    assert {alert_id for alert_id, event in told if event == "ended"} == {a.id for a in shop.ended}
    spans = sorted((a.since, a.fired_at, a.ended_at) for a in shop.ended)
    for since, fired_at, ended_at in spans[:-1]:  # the last may have been ended with its rule
        assert fired_at is not None
        assert ended_at is not None
        assert (fired_at - since).total_seconds() >= rule.for_seconds - 1e-3
        assert (ended_at - fired_at).total_seconds() >= rule.clear_seconds - 1e-3
    assert all(before[2] <= after[0] for before, after in pairwise(spans)), "one at a time"


@given(LOOKS, st.lists(st.floats(0, 3_000), max_size=3))
def test_silences_delay_what_is_told_and_never_double_it(looks: list[tuple[Seen, float]], ends: list[float]) -> None:
    shop = Shop()
    shop.silences = [silence(until=end) for end in ends]
    for seen, after in looks:
        shop.look(seen, after)
    told = Counter((alert_id, event) for _, alert_id, event in shop.told)
    assert set(told.values()) <= {1}
    fired, ended = ({i for i, event in told if event == wanted} for wanted in ("fired", "ended"))
    assert ended <= fired
    assert all(at >= max(ends, default=0) for at, _, event in shop.told if event == "fired")
