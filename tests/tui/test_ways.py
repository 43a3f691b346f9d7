"""Where keys lead, and where the way back leads."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from crewtop.model.detail import TaskPage
from crewtop.model.filters import parse
from crewtop.tui.actions import View
from crewtop.tui.effects import CHANGES, Quit, Refresh, Repaint, Suspend
from crewtop.tui.options import ScreenOptions
from crewtop.tui.session import Session
from crewtop.tui.wants import FailureList
from crewtop.tui.ways import MOST_BEHIND
from tests.tui.fixtures import BUSY, FAILURES, NOW, TASKS, keys


def session(**options: object) -> Session:
    made = Session(ScreenOptions(**options), lambda: 0.0)  # type: ignore[arg-type]
    made.take(BUSY)
    made.tasks.answer(made.tasks.request, TaskPage(NOW, TASKS, False))
    return made


def test_from_the_tasks_of_a_failure_one_escape_leads_back_to_the_failures() -> None:
    made = session()
    keys(made, "3")
    made.page.answer(FailureList(24), FAILURES)
    keys(made, "enter")
    assert made.view is View.TASKS
    assert made.tasks.typed.startswith("failure:")
    keys(made, "escape")
    assert made.view is View.FAILURES
    assert made.tasks.typed == ""


def test_a_filter_that_was_typed_there_is_dropped_first() -> None:
    made = session()
    keys(made, "3")
    made.page.answer(FailureList(24), FAILURES)
    keys(made, "enter")
    made.tasks.narrow(parse("status:failed"))
    keys(made, "escape")
    assert made.view is View.TASKS
    keys(made, "escape")
    assert made.view is View.FAILURES


def test_backspace_looks_at_two_views_in_turn() -> None:
    made = session()
    keys(made, "2", "4", "backspace")
    assert made.view is View.TASKS
    keys(made, "backspace")
    assert made.view is View.WORKERS
    keys(made, "q")
    assert made.view is View.OVERVIEW
    assert isinstance(keys(made, "q"), Quit)


def test_the_way_back_does_not_grow_without_end() -> None:
    made = session()
    keys(made, "2")
    for _ in range(3 * MOST_BEHIND):
        keys(made, "#", "1", "enter")
    keys(made, *["escape"] * (MOST_BEHIND + 1))
    assert made.view is View.OVERVIEW


def test_a_screen_that_only_looks_can_still_go_to_a_task() -> None:
    made = session(read_only=True)
    keys(made, "#", "4", "8", "2", "0", "1", "enter")
    assert made.view is View.DETAIL


def test_keys_for_the_terminal_itself() -> None:
    made = session()
    assert keys(made, "ctrl+r") == Refresh()
    assert keys(made, "ctrl+l") == Repaint()
    assert keys(made, "ctrl+z") == Suspend()
    assert not {Refresh, Repaint, Suspend} & set(CHANGES)


def test_more_room_leaves_out_what_is_known_by_heart() -> None:
    made = session()
    full = [line.text for line in made.frame(80, 24)]
    keys(made, "ctrl+e")
    bare = [line.text for line in made.frame(80, 24)]
    assert any("2 Tasks" in text for text in full)
    assert not any("2 Tasks" in text for text in bare)
    assert bare[0] == full[0]


def test_a_filter_that_led_there_does_not_stay_for_the_next_visit() -> None:
    made = session()
    keys(made, "enter")  # a queue, from the overview
    assert made.tasks.typed.startswith("queue:")
    keys(made, "1", "2")
    assert made.tasks.typed == ""


def test_a_list_under_a_picture_of_the_past_says_that_it_is_not() -> None:
    made = session()
    made.take(replace(BUSY, at=NOW + timedelta(seconds=10)))
    keys(made, "[", "2")
    assert "this list is not" in "\n".join(line.text for line in made.frame(120, 40))
