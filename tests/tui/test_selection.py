"""The cursor belongs to a thing: whatever happens to the list, no key ever hits another one than was seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.snapshot import TaskPage
from crewtop.tui.manner import Manner
from crewtop.tui.selection import Selection
from crewtop.tui.views.tasks import Tasks
from tests.tui.fixtures import NOW, task

LISTS = st.lists(st.integers(1, 30), unique=True, max_size=30)
KEYS = st.sampled_from(["up", "down", "page_up", "page_down", "first", "last", "mark"])


@given(st.lists(LISTS | KEYS, max_size=40), st.integers(1, 12))
def test_cursor_and_marks_never_change_task_but_by_a_key(events: list[list[int] | str], height: int) -> None:
    view = Tasks(Manner())
    marked: set[int] = set()
    for event in events:
        before = view.selection.current
        if isinstance(event, list):
            view.answer(view.request, TaskPage(NOW, tuple(task(i) for i in event), False))
            assert view.selection.current in (before, None) or before is None
            if before is None and view.selection.current is not None and view.selection.cursor is not None:
                assert view.selection.current in event
        else:
            view.do(event, height)
            if event == "mark" and before is not None:
                marked ^= {before}
        current = view.selection.current
        expected = marked or ({current} if current is not None else set())
        assert {row.id for row in view.chosen} == expected
        sight = view.selection.window(height)
        assert current is None or view.selection.position in sight


def test_a_task_that_leaves_takes_the_cursor_with_it() -> None:
    selection: Selection[int] = Selection()
    selection.update([1, 2, 3])
    selection.place(1)
    selection.update([1, 3])
    assert selection.current is None
    assert selection.lost
    selection.move(1)
    assert selection.current == 3


def test_a_task_that_comes_back_has_its_cursor_again() -> None:
    selection: Selection[int] = Selection()
    selection.update([1, 2, 3])
    selection.place(1)
    selection.update([1, 3])
    selection.update([4, 1, 2, 3])
    assert selection.current == 2
    assert selection.position == 2


def test_going_up_from_a_gap_reaches_the_one_above() -> None:
    selection: Selection[int] = Selection()
    selection.update([1, 2, 3])
    selection.place(1)
    selection.update([1, 3])
    selection.move(-1)
    assert selection.current == 1


def test_a_scrolled_list_keeps_the_cursor_on_its_line() -> None:
    selection: Selection[int] = Selection()
    selection.update(list(range(100)))
    selection.place(50)
    line = selection.position - selection.window(10).start
    selection.update([-3, -2, -1, *range(100)])
    assert selection.position - selection.window(10).start == line


def test_at_the_top_new_ones_come_into_sight() -> None:
    selection: Selection[int] = Selection()
    selection.update([1, 2])
    selection.window(10)
    selection.update([3, 1, 2])
    assert selection.window(10).start == 0
    assert selection.current == 1


def test_marks_keep_the_version_that_was_seen_when_the_task_leaves_the_list() -> None:
    view = Tasks(Manner())
    view.answer(view.request, TaskPage(NOW, (task(1, version=7), task(2)), False))
    view.do("mark", 10)
    view.answer(view.request, TaskPage(NOW, (task(2),), False))
    assert [(row.id, row.version) for row in view.chosen] == [(1, 7)]
