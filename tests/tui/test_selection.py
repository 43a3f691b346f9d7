"""The cursor belongs to a thing: whatever happens to the list, no key ever hits another one than was seen."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.detail import TaskPage, TaskRow
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Action, Order, Target
from crewtop.model.task import TaskStatus
from crewtop.tui.acting import Acting
from crewtop.tui.effects import Act, Say
from crewtop.tui.manner import Manner
from crewtop.tui.selection import Selection
from crewtop.tui.views.question import Question
from crewtop.tui.views.tasks import Tasks
from tests.tui.fixtures import NOW, task

LISTS = st.lists(st.integers(1, 30), unique=True, max_size=30)
MOVES = ("up", "down", "page_up", "page_down", "first", "last")
KEYS = st.sampled_from([*MOVES, "mark", "mark_all", "invert", "reverse"])
FILTERS = st.sampled_from([TaskFilter(), TaskFilter(crews=("a",)), TaskFilter(crews=("b",))])


def rows(ids: Sequence[int], version: int) -> tuple[TaskRow, ...]:
    """Failed and running tasks; the later, the higher their versions."""
    return tuple(task(i, "failed" if i % 3 else "running", version=version) for i in ids)


@given(st.lists(LISTS | KEYS | FILTERS, max_size=50), st.integers(1, 12))
def test_cursor_and_marks_never_change_task_but_by_a_key(
    events: list[list[int] | str | TaskFilter], height: int
) -> None:
    """Over inserts, removals, new orders and new filters; answers to what is no longer asked change nothing."""
    view = Tasks(Manner())
    marked: set[int] = set()
    stood: int | None = None  # the task that the operator left the cursor on
    for version, event in enumerate(events):
        before, listed = view.selection.current, view.selection.keys
        match event:
            case list():
                view.answer(view.request, TaskPage(NOW, rows(event, version), False))
                allowed = {stood, None} if stood is not None else {*event[:1], None}
                assert view.selection.current in allowed
            case TaskFilter():
                old = view.request
                view.narrow(event)
                if old.task_filter != event:
                    view.answer(old, TaskPage(NOW, rows([99], version), False))
                assert not view.loading or view.selection.current is None
                assert 99 not in view.selection.keys
            case _:
                loading = view.loading
                view.do(event, height)
                marked = _marked(marked, event, before, listed, loading)
        stood = view.selection.cursor
        current = view.selection.current
        assert set(view.marks.things) == marked
        assert {row.id for row in view.chosen} == (marked or ({current} if current is not None else set()))
        assert current is None or view.selection.position in view.selection.window(height)


def _marked(marked: set[int], key: str, current: int | None, listed: Sequence[int], loading: bool) -> set[int]:
    """The marks after a key."""
    if key == "mark" and current is not None:
        return marked ^ {current}
    if key == "mark_all" and not loading:
        return marked | set(listed)
    if key == "invert" and not loading:
        return marked ^ set(listed)
    return marked


@given(LISTS, st.lists(st.sampled_from([*MOVES, "mark"]), max_size=10), LISTS)
def test_an_action_goes_to_what_was_chosen_when_it_was_pressed(
    first: list[int], keys: list[str], then: list[int]
) -> None:
    """Whatever the list becomes between the key and the confirmation."""
    view = Tasks(Manner())
    view.answer(view.request, TaskPage(NOW, rows(first, 1), False))
    for key in keys:
        view.do(key, 10)
    chosen = view.chosen
    asked = Acting(Manner()).about(Action.RETRY, chosen, view.matching, view.typed)
    view.answer(view.request, TaskPage(NOW, rows(then, 2), False))
    eligible = tuple(Target(row.id, row.version) for row in chosen if row.status is TaskStatus.FAILED)
    if not eligible:
        assert isinstance(asked, Say)
    else:
        assert isinstance(asked, Question)
        asked.lines(120, Manner())
        assert [asked.press(key) for key in (*asked.type_in, "enter")][-1] == Act(Order(Action.RETRY), eligible)


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
