"""Holding the picture still, and stepping back through the last hour of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.snapshot import Snapshot
from crewtop.tui.options import ScreenOptions
from crewtop.tui.past import BLOCK, KEPT, Past
from crewtop.tui.session import Session
from tests.tui.fixtures import BUSY, EMPTY, NOW

KINDS = [
    EMPTY,
    BUSY,
    replace(BUSY, queues=(replace(BUSY.queues[0], ready=7), *BUSY.queues[1:])),
    replace(BUSY, queues=BUSY.queues[1:]),
    replace(BUSY, running=(), providers=None),
]


def at(seconds: float, backlog: int = 0) -> object:
    queues = (replace(BUSY.queues[0], ready=backlog), *BUSY.queues[1:])
    return replace(BUSY, at=NOW + timedelta(seconds=seconds), queues=queues)


def session(*seconds: float) -> Session:
    made = Session(ScreenOptions(), lambda: 0.0)
    for second in seconds:
        made.take(at(second, int(second)))  # type: ignore[arg-type]
    return made


def shown(made: Session) -> float:
    assert made.picture.shown is not None
    return (made.picture.shown.at - NOW).total_seconds()


def picture(made: Session) -> str:
    return "\n".join(line.text for line in made.frame(120, 40))


def test_stepping_back_and_forth_ends_at_now() -> None:
    made = session(0, 2, 4, 6, 7)
    made.press("[")
    assert shown(made) == 6
    made.press("[")
    assert shown(made) == 4
    assert "as of 14:02:15" in picture(made)
    made.press("]")
    assert shown(made) == 6
    made.press("]")
    assert shown(made) == 7
    assert not made.picture.frozen


def test_a_minute_at_a_time() -> None:
    made = session(*range(0, 300, 2))
    made.press("{")
    assert shown(made) == 298 - 60
    made.press("}")
    assert shown(made) == 298


def test_what_comes_meanwhile_waits_and_is_shown_by_p() -> None:
    made = session(0, 2, 4)
    made.press("[")
    made.take(at(6))  # type: ignore[arg-type]
    assert shown(made) == 2
    made.press("p")
    assert shown(made) == 6


def test_the_past_cannot_be_acted_on() -> None:
    made = session(0, 2, 4)
    made.press("[")
    assert made.press("P") is None
    assert "this picture is of the past" in picture(made)


def test_the_oldest_and_the_newest_are_said_to_be_so() -> None:
    made = session(0, 2)
    made.press("]")
    assert "this is now" in picture(made)
    made.press("[")
    made.press("[")
    assert shown(made) == 0
    assert "the oldest picture" in picture(made)


def test_an_hour_is_kept_and_no_more() -> None:
    past = Past()
    for second in range(0, 3_800, 2):
        past.keep(replace(EMPTY, at=NOW + timedelta(seconds=second)))
    assert len(past) == 1_801


@given(
    st.lists(st.tuples(st.sampled_from([2, 2, 2, 3, 60, 600]), st.sampled_from(KINDS)), min_size=1, max_size=4 * BLOCK)
)
def test_every_picture_of_the_hour_comes_back_as_it_was(coming: list[tuple[int, Snapshot]]) -> None:
    past, kept, second = Past(), [], 0
    for after, kind in coming:
        second += after
        kept.append(replace(kind, at=NOW + timedelta(seconds=second)))
        past.keep(kept[-1])
    kept = [each for each in kept if kept[-1].at - each.at <= KEPT]
    assert len(past) == len(kept)
    assert [past.step(kept[-1].at, steps) for steps in range(-len(kept) + 1, 0)] == kept[:-1]
    assert [past.step(kept[0].at, steps) for steps in range(1, len(kept))] == kept[1:]
    assert past.step(kept[-1].at, -len(kept)) == kept[0]
    assert past.step(kept[-1].at, 1) is None


def test_another_server_begins_another_hour() -> None:
    past = Past()
    past.keep(at(100))  # type: ignore[arg-type]
    past.keep(at(0))  # type: ignore[arg-type]
    assert len(past) == 1


def test_a_screen_held_still_before_the_first_picture_shows_that_one_and_holds_it() -> None:
    made = session()
    made.press("p")
    made.take(at(0))  # type: ignore[arg-type]
    made.take(at(2))  # type: ignore[arg-type]
    assert shown(made) == 0
