"""S on a problem in the overview: nobody is told for a while, or they are told again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from crewtop.model.alerts import Alert, Silence
from crewtop.model.snapshot import Snapshot
from crewtop.plain import snapshot_text
from crewtop.tui.effects import LiftSilence, Say, SilenceAlert
from crewtop.tui.manner import Manner
from crewtop.tui.options import ScreenOptions
from crewtop.tui.session import Session
from crewtop.tui.views.overview import Overview
from crewtop.tui.views.question import Blank, Question
from tests.tui.fixtures import BUSY, NOW

FIRED = Alert(
    "a1", "oldest", "support", "oldest", "wrong", "firing", NOW - timedelta(minutes=13),
    "a task of P1 has waited 6m, its service level is 5m", "support", 1.2, fired_at=NOW - timedelta(minutes=12),
)  # fmt: skip
QUIET = Silence(7, "oldest", "support", NOW + timedelta(hours=1), None, "dana@ops1", "deploy", NOW)
ALERTED = replace(BUSY, alerts=(FIRED,))
SILENCED = replace(ALERTED, silences=(QUIET,))


def on(snapshot: Snapshot, name: str) -> Overview:
    view = Overview(Manner())
    view.take(snapshot)
    view.selection.place([(key.kind, key.name) for key in view.selection.keys].index(("problem", name)))
    return view


def lines(snapshot: Snapshot) -> list[str]:
    return [line.text for line in on(snapshot, "oldest support").lines(200, 45)]


def test_what_fires_stands_at_the_top_with_how_long() -> None:
    assert "support  alert 'oldest' for 12m  a task of P1 has waited 6m" in lines(ALERTED)[1]
    assert "queue support: alert 'oldest' for 12m: a task of P1 has waited 6m" in " ".join(
        snapshot_text(ALERTED).split()
    )


def test_what_is_silenced_stands_last_and_says_so() -> None:
    assert "support  alert 'oldest' for 12m" not in lines(SILENCED)[1]
    assert any("alert 'oldest' for 12m, silenced for 1h by dana@ops1" in line for line in lines(SILENCED))


@pytest.mark.parametrize(
    ("typed", "effect"),
    [("1h", SilenceAlert(FIRED, 3_600)), ("8h", SilenceAlert(FIRED, 28_800)), ("end", SilenceAlert(FIRED, None))],
)
def test_it_asks_for_how_long(typed: str, effect: SilenceAlert) -> None:
    asked = on(ALERTED, "oldest support").do("silence", 20)
    assert isinstance(asked, Blank)
    for key in typed:
        asked.press(key)
    assert asked.press("enter") == effect


@pytest.mark.parametrize("typed", ["", "0s", "soon", "2000d"])
def test_it_takes_no_length_that_is_none(typed: str) -> None:
    asked = on(ALERTED, "oldest support").do("silence", 20)
    assert isinstance(asked, Blank)
    for key in typed:
        asked.press(key)
    assert asked.press("enter") is True
    assert asked.complaint == "use 1h, 8h, 30m, 2d, or end: until it ends"


def test_on_what_is_silenced_it_asks_whether_to_lift_that() -> None:
    asked = on(SILENCED, "oldest support").do("silence", 20)
    assert isinstance(asked, Question)
    assert asked.effect == LiftSilence(QUIET)


def test_what_no_rule_watches_cannot_be_silenced() -> None:
    said = on(BUSY, "paused research").do("silence", 20)
    assert said == Say("nobody is told of this: no rule of [alerts.rules] watches it", "watch")


def test_on_a_queue_it_is_about_the_only_alert_or_says_how_to_get_to_them() -> None:
    def pressed(snapshot: Snapshot) -> object:
        view = Overview(Manner())
        view.take(snapshot)
        assert view.selection.current is not None
        assert view.selection.current.kind == "queue"
        return view.do("silence", 20)

    asked = pressed(ALERTED)
    assert isinstance(asked, Blank)
    assert asked.title == "Silence support for how long?"
    assert pressed(BUSY) == Say("no alert stands: there is nothing to silence")
    other = replace(FIRED, id="a2", subject="nightly")
    both = Say("2 alerts stand: ↑ goes up to them, choose one")
    assert pressed(replace(ALERTED, alerts=(FIRED, other))) == both


def test_the_bell_rings_for_what_fires_and_not_for_what_is_silenced() -> None:
    session = Session(ScreenOptions())
    session.take(BUSY)
    before = session.alarms
    session.take(SILENCED)
    assert session.alarms == before
    session.take(ALERTED)
    assert session.alarms == before + 1
    session.take(ALERTED)
    assert session.alarms == before + 1


def test_a_screen_that_only_looks_silences_nothing() -> None:
    session = Session(ScreenOptions(read_only=True))
    session.take(ALERTED)
    session.press("S")
    assert session.overlay is None
