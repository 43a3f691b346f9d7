"""A recording on the screen: keys in, place and speed out; and what a recording cannot do or tell, it says."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from crewtop.recording.reader import open_recording
from crewtop.recording.writer import Writer
from crewtop.tui.actions import COMMANDS, View
from crewtop.tui.app import build
from crewtop.tui.effects import Refresh
from crewtop.tui.options import ScreenOptions
from crewtop.tui.session import Session
from crewtop.tui.source import Source, Unavailable
from crewtop.tui.tape import ONLY, Replayed, Tape
from crewtop.tui.wants import Spend, ask
from tests.tui.fixtures import BUSY, HELD_BACK, INCIDENT, NOW, keys

SECONDS = 400


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 seconds, of which the last hundred are an incident."""
    file = tmp_path_factory.mktemp("recording") / "incident.crewtop"
    writer = Writer(file, "shop on db1", 1.0, 10**9)
    for second in range(SECONDS):
        base = INCIDENT if second >= 300 else BUSY
        writer.write(replace(base, at=NOW + timedelta(seconds=second), running_total=second))
    writer.close()
    return file


@pytest.fixture
def made(path: Path) -> Session:
    clock = Clock()
    recording = open_recording(path)
    tape = Tape(recording, recording.begin + timedelta(seconds=100), clock)
    session = Session(ScreenOptions(read_only=True, interval=0.25), clock, tape)
    session.take(tape.shown())
    return session


def place(session: Session) -> float:
    assert session.tape is not None
    return (session.tape.at - NOW).total_seconds()


def later(session: Session, seconds: float) -> None:
    cast(Any, session.picture)._clock.now += seconds


@pytest.mark.parametrize(
    ("pressed", "waited", "expected"),
    [
        ((), 10, 100),
        (("space",), 10, 110),
        (("p",), 10, 110),
        (("space", "space"), 10, 100),
        (("]",), 0, 101),
        (("right", "right"), 0, 102),
        (("[",), 0, 99),
        (("left", "left"), 10, 98),
        (("}",), 0, 160),
        (("{",), 0, 40),
        (("{", "{"), 0, 0),
        (("space", "}"), 5, 165),  # it plays on
        (("space", "]"), 5, 101),  # it stands
        (("+", "space"), 10, 120),
        (("+", "+", "space"), 10, 150),
        (("-", "space"), 10, 105),
        (("+",) * 9 + ("space",), 10, SECONDS - 1),  # it ends at the end
        ((".",), 0, 300),
        ((".", "space"), 7, 307),
        ((",",), 0, 0),
        (("@", *"14:04", "enter"), 0, 109),
        (("T", *"14:03:00", "enter"), 0, 49),
        (("4", "]"), 0, 101),  # in every view
        (("2", "space"), 3, 103),
        (("6", "space"), 3, 103),
        (("}", "}", "}", "}", "}", "]"), 0, SECONDS - 1),
        (("}",) * 9 + ("space",), 4, 4),  # from the end it begins anew
    ],
)
def test_keys_move_the_tape(made: Session, pressed: tuple[str, ...], waited: float, expected: float) -> None:
    keys(made, *pressed)
    later(made, waited)
    assert place(made) == expected


def test_every_move_asks_for_the_picture_at_once(made: Session) -> None:
    for key in ("space", "[", "]", "{", "}", "+", "."):
        assert made.press(key) == Refresh()


def test_a_time_outside_is_told_while_it_can_be_mended(made: Session) -> None:
    keys(made, "@", *"19:00", "enter")
    assert "19:00 is not in the recording: it holds" in "\n".join(line.text for line in made.frame(160, 40))
    assert place(made) == 100


@pytest.mark.parametrize(("view", "key"), [("1", "P"), ("2", "R"), ("2", "F"), ("4", "K"), ("4", ">"), ("1", "u")])
def test_acting_keys_say_that_this_is_a_recording(made: Session, view: str, key: str) -> None:
    keys(made, view)
    assert made.press(key) is None
    assert "this is a recording" in made.message[0][0]
    assert made.overlay is None


def test_the_bar_tells_place_speed_span_and_problems(made: Session) -> None:
    keys(made, "+")
    shown = [line.text for line in made.frame(120, 40)]
    bar = next(line for line in shown if "2x" in line)
    assert bar.startswith("  ■ 2x 14:03:51Z  14:02:11Z ●─")
    assert bar.rstrip().endswith("14:08:50Z")
    assert bar.index("█") < bar.rindex("●")
    assert "RECORDING" in shown[0]
    keys(made, "space")
    assert any(line.text.startswith("  ▶ 2x") for line in made.frame(120, 40))


@pytest.mark.parametrize("size", [(40, 10), (60, 20), (80, 24), (200, 50)])
def test_the_bar_fits_every_size(made: Session, size: tuple[int, int]) -> None:
    lines = made.frame(*size)
    assert len(lines) == size[1]
    assert all(len(line.text) <= size[0] for line in lines)
    assert any("14:03:51" in line.text for line in lines)


@pytest.mark.parametrize("view", ["2", "3", "5", "6", "7"])
def test_views_that_ask_more_say_that_it_was_not_recorded(made: Session, view: str) -> None:
    keys(made, view)
    if made.page.want is not None:
        made.page.fail(ONLY)  # as the feed does with what a source does not know
    assert sum(ONLY in line.text for line in made.frame(140, 40)) == 1


def test_limits_are_seen_at_any_size_though_spending_is_not_recorded(made: Session) -> None:
    keys(made, "5")
    made.page.take(HELD_BACK)
    made.page.fail(ONLY)
    assert any("LIMIT" in line.text for line in made.frame(80, 24))


def test_help_has_the_keys_of_the_tape_and_none_that_act(made: Session) -> None:
    names = {command.name for command in made.commands}
    assert {"play", "jump", "next_problem", "charts", "help"} <= names
    assert not {"earlier", "slower", "freeze"} & names
    assert not any(command.acting for command in made.commands)
    assert all(View.REPLAY not in c.views or len(c.views) == 1 for c in COMMANDS)


async def test_the_source_knows_snapshots_and_nothing_else(made: Session) -> None:
    assert made.tape is not None
    source = cast(Source, Replayed(made.tape))
    assert (await source.snapshot()).running_total == 100
    with pytest.raises(Unavailable, match="a recording holds snapshots only"):
        await ask(source, Spend(24))


async def test_the_screen_shows_what_the_tape_is_at(path: Path) -> None:
    recording = open_recording(path)
    tape = Tape(recording, recording.begin, Clock())
    source = cast(Source, Replayed(tape))
    app = build(lambda: source, ScreenOptions(read_only=True), clock=Clock(), tape=tape)
    async with app.run_test(size=(120, 40)) as pilot:
        for key, expected in (("]", 1), ("}", 61), (".", 300), ("[", 299)):
            await pilot.press(key)
            for _ in range(200):
                await pilot.pause(0.01)
                shown = app.session.picture.shown
                if shown is not None and shown.running_total == expected:
                    break
            assert shown is not None
            assert shown.running_total == expected


def test_a_step_into_what_is_damaged_is_told_and_stands_still(path: Path, tmp_path: Path) -> None:
    spoiled = tmp_path / "spoiled.crewtop"
    second = open_recording(path).segments[1]
    spoiled.write_bytes(path.read_bytes()[: second.offset] + bytes(40) + path.read_bytes()[second.offset + 40 :])
    recording = open_recording(spoiled)
    tape = Tape(recording, second.begin - timedelta(seconds=1), Clock())
    session = Session(ScreenOptions(read_only=True, interval=0.25), Clock(), tape)
    session.press("]")
    assert "damaged: zstd" in "".join(text for text, _ in session.message)
    assert tape.at == second.begin - timedelta(seconds=1)
