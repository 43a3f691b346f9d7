"""The task list: keys in; rows, marks, filters, orders and columns out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from crewtop.model.detail import TaskPage, TaskRow
from crewtop.model.filters import SORTS
from crewtop.model.operations import Action, Order, Target
from crewtop.tui.effects import Act, Copy, CopyText, Open, Say
from crewtop.tui.manner import Manner
from crewtop.tui.options import ScreenOptions
from crewtop.tui.session import Session
from crewtop.tui.views.taskrows import SORTED_BY, TASK_COLUMNS
from crewtop.tui.views.tasks import HISTORY, Tasks
from tests.tui.fixtures import BUSY, NOW, TASKS, ago, many, task
from tests.tui.fixtures import keys as press


def opened(**options: object) -> Session:
    """The task list, open and answered."""
    session = Session(ScreenOptions(**options), clock=lambda: 0.0)  # type: ignore[arg-type]
    session.take(BUSY)
    answer(session.tasks, TASKS)
    session.press("2")
    return session


def answer(view: Tasks, rows: tuple[TaskRow, ...], more: bool = False) -> None:
    view.answer(view.request, TaskPage(NOW, rows, more))


def picture(session: Session, width: int = 160, height: int = 40) -> str:
    return "\n".join(line.text for line in session.frame(width, height))


def heading(session: Session, width: int = 200) -> str:
    return next(line.text for line in session.frame(width, 40) if "ID" in line.text)


# Filter


def test_what_may_come_next_is_shown_while_one_types_and_gone_after() -> None:
    session = opened()
    press(session, "/", *"crew:br")
    assert "briefing" in session.frame(120, 40)[4].text
    press(session, "tab", "enter")
    assert session.tasks.request.task_filter.crews == ("briefing",)
    assert session.frame(120, 40)[4].text.strip() == ""


def test_a_filter_is_opened_again_to_add_a_word() -> None:
    session = opened()
    press(session, "/", *"crew:support", "enter", "/", *"is:stuck", "enter")
    assert session.tasks.typed == "crew:support is:stuck"
    press(session, "/", "enter")
    assert session.tasks.typed == "crew:support is:stuck"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("crew:suport", "No crew suport is known here: did you mean support?"),
        ("queue:resarch", "No queue resarch is known here: did you mean research?"),
        ("queue:zzzz", "No queue zzzz is known here."),
    ],
)
def test_a_name_that_nothing_has_is_pointed_out(typed: str, said: str) -> None:
    session = opened()
    press(session, "/", *typed, "enter")
    answer(session.tasks, ())
    assert said in picture(session)


@pytest.mark.parametrize("typed", ["crew:support", "queue:zz*", "!queue:zzzz", ""])
def test_known_names_and_patterns_are_not(typed: str) -> None:
    session = opened()
    press(session, "/", *typed, "enter")
    answer(session.tasks, ())
    assert "No crew" not in picture(session)
    assert "No queue" not in picture(session)


def test_a_wrong_filter_stays_open_and_says_why() -> None:
    session = opened()
    press(session, "/", *"status:", "enter")
    assert session.tasks.edit is not None
    assert "has no value" in picture(session)
    press(session, "tab", "enter")
    assert session.tasks.typed == "status:waiting"


def test_earlier_filters_come_back_once_each() -> None:
    session = opened()
    for text in ("crew:a", "crew:b", "crew:a"):
        press(session, "/", "ctrl+u", *text, "enter")
    press(session, "/", "ctrl+u", "up")
    assert session.tasks.edit is not None
    assert session.tasks.edit.text == "crew:a"
    press(session, "up", "up", "up")
    assert session.tasks.edit.text == "crew:b"


def test_no_more_than_so_many_filters_are_kept() -> None:
    session = opened()
    for number in range(HISTORY + 10):
        for key in ("/", "ctrl+u", *f"id:{number + 1}", "enter"):
            session.press(key)
    for key in ("/", "ctrl+u", *["up"] * (HISTORY + 10)):
        session.press(key)
    assert session.tasks.edit is not None
    assert session.tasks.edit.text == "id:11"


def test_a_saved_view_is_a_filter_by_name() -> None:
    view = Tasks(Manner(), (), {"mine": "crew:support status:failed"})
    view.do("filter", 20)
    for key in (*"@mi", "tab", "enter"):
        view.press(key)
    assert view.typed == "@mine"
    assert view.request.task_filter.crews == ("support",)


def test_an_unknown_view_is_no_filter() -> None:
    session = opened()
    press(session, "/", *"@what", "enter")
    assert session.tasks.edit is not None
    assert "no view is saved: '@what'" in picture(session)


def test_a_paste_is_completed_like_what_is_typed() -> None:
    session = opened()
    press(session, "/")
    session.paste("crew:sup")
    press(session, "tab")
    assert session.tasks.edit is not None
    assert session.tasks.edit.text == "crew:support"


def test_nothing_found_says_what_to_do() -> None:
    session = opened()
    press(session, "/", *"crew:nobody", "enter")
    answer(session.tasks, ())
    assert "No task matches. / changes the filter, Esc drops it." in picture(session)


def test_a_list_that_takes_too_long_says_so() -> None:
    session = opened()
    session.tasks.fail("too slow: narrow the filter")
    assert "too slow: narrow the filter" in picture(session)
    answer(session.tasks, TASKS)
    assert "too slow" not in picture(session)


# Order


def test_every_order_has_a_column_that_shows_it() -> None:
    titles = {column.title for column in TASK_COLUMNS}
    assert SORTED_BY.keys() == SORTS.keys()
    assert {title for title, _ in SORTED_BY.values()} <= titles


@pytest.mark.parametrize(
    ("keys", "sort", "title"),
    [
        ((), "newest", "AGE▲"),
        (("r",), "-newest", "AGE▼"),
        (("r", "r"), "newest", "AGE▲"),
        (("s", "down", "down", "enter"), "cost", "COST▼"),
        (("s", "down", "down", "enter", "r"), "-cost", "COST▲"),
        (("s", "down", "down", "escape"), "newest", "AGE▲"),
        (("s", *["down"] * 4, "enter"), "priority", "P▲"),
    ],
)
def test_the_order_is_chosen_and_marked_in_the_heading(keys: tuple[str, ...], sort: str, title: str) -> None:
    session = opened()
    press(session, *keys)
    assert session.tasks.request.sort == sort
    assert title in heading(session)


def test_the_column_that_the_list_goes_by_is_never_dropped() -> None:
    session = opened()
    press(session, "s", *["down"] * 3, "enter")
    assert "TOKENS▼" in heading(session, 60)


def test_an_arrow_moves_no_title() -> None:
    session = opened()
    before = heading(session)
    press(session, "s", *["down"] * 2, "enter")
    assert heading(session).replace("▼", " ") == before.replace("▲", " ")


def test_in_ascii_the_arrow_is_ascii() -> None:
    session = opened(ascii=True)
    press(session, "r")
    assert "AGEv" in heading(session)


# Columns


def test_columns_are_chosen_and_put_in_order() -> None:
    session = opened()
    press(session, "v", "down", "space", "end", "space", "home", "J", "enter")
    titles = heading(session, 250).replace("▲", "").split()
    assert titles[:2] == ["ID", "CREW"]
    assert titles[-1] == "FINISHED"
    press(session, "v", "d", "enter")
    assert heading(session, 250).split()[:3] == ["ID", "P", "CREW"]


def test_escape_leaves_the_columns_as_they_were() -> None:
    session = opened()
    before = heading(session)
    press(session, "v", "space", "down", "space", "J", "escape")
    assert heading(session) == before


def test_the_columns_to_begin_with_are_the_configured_ones() -> None:
    session = opened(columns=("status", "ID", "worker", "due", "nonsense"))
    assert heading(session).replace("▲", "").split() == ["STATUS", "ID", "WORKER", "DUE"]
    assert any("▶ running" in line.text and "db3-e5b077" in line.text for line in session.frame(120, 40))


def test_times_are_those_of_the_day_and_else_the_day() -> None:
    session = opened(columns=("id", "due", "finished"))
    rows = (
        task(1, "retry", run_at=ago(-20)),
        task(2, "pending", run_at=ago(-86_400)),
        task(3, "completed", finished_at=ago(96)),
    )
    answer(session.tasks, rows)
    shown = [line.text.split() for line in session.frame(120, 40)]
    assert ["1", "14:02:31Z", "-"] in shown
    assert ["2", "2026-03-15", "-"] in shown
    assert ["▌", "3", "-", "14:00:35Z"] in shown or ["3", "-", "14:00:35Z"] in shown


def test_every_column_says_what_is_in_it() -> None:
    assert all(column.about and column.about.isascii() for column in TASK_COLUMNS)
    session = opened()
    press(session, "v")
    assert "The queue that workers claim it from." in picture(session)


# Marks


@pytest.mark.parametrize(
    ("keys", "marked"),
    [
        (("space",), {48_990}),
        (("space", "space"), {48_990, 48_983}),
        (("space", "up", "space"), set()),
        (("*",), {row.id for row in TASKS}),
        (("*", "\\"), set()),
        (("space", "\\"), {row.id for row in TASKS[1:]}),
        (("*", "escape"), set()),
    ],
)
def test_marks(keys: tuple[str, ...], marked: set[int]) -> None:
    session = opened()
    press(session, *keys)
    assert set(session.tasks.marks.things) == marked


def test_marks_of_tasks_that_left_stay_and_are_counted() -> None:
    session = opened()
    press(session, "*")
    answer(session.tasks, TASKS[3:])
    assert "16 marked, 3 not in sight" in picture(session)
    press(session, "\\")
    assert set(session.tasks.marks.things) == {row.id for row in TASKS[:3]}
    assert "3 marked, 3 not in sight" in picture(session)
    answer(session.tasks, TASKS)
    assert "3 marked   " in picture(session)


def test_a_mark_that_is_not_in_sight_goes_with_escape() -> None:
    session = opened()
    press(session, "space")
    answer(session.tasks, TASKS[1:])
    press(session, "escape")
    assert "marked" not in picture(session)


def test_marking_all_says_that_there_are_more() -> None:
    session = opened()
    answer(session.tasks, many(200), more=True)
    press(session, "*")
    assert "200 marked of those that are loaded: there are more, A is for all that match" in picture(session)


def test_what_is_not_loaded_yet_is_not_marked() -> None:
    session = opened()
    press(session, "/", *"crew:support", "enter", "*", "\\", "space")
    assert session.tasks.chosen == ()
    assert "loading" in picture(session)


class Unread(dict[int, TaskRow]):
    """Fails where somebody goes through all of it."""

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("a frame went through all marks")


def test_a_frame_looks_at_no_marks_but_those_in_sight() -> None:
    session = opened()
    answer(session.tasks, many(5_000))
    press(session, "*")
    session.tasks.marks.things = Unread(session.tasks.marks.things)
    shown = picture(session, 80, 24)
    assert "5,000 marked" in shown
    assert shown.count("◆") == 16


# Acting


def test_an_action_on_marks_takes_them_as_they_were_last_seen() -> None:
    session = opened()
    press(session, *["down"] * 9, "space", "space")
    answer(session.tasks, tuple(replace(row, version=8) for row in TASKS if row.id != 47_802))
    assert press(session, "R", "enter") == Act(Order(Action.RETRY), (Target(47_802, 7), Target(47_801, 8)))


@pytest.mark.parametrize("keys", [("/", *"crew:support", "enter"), ("s", "down", "enter"), ("r",)])
def test_until_another_list_is_here_no_key_hits_a_task_of_the_old_one(keys: tuple[str, ...]) -> None:
    session = opened()
    press(session, "down", "down", *keys)
    for key in ("enter", "l", "y", "space", "R", "down", "R"):
        assert press(session, key) is None
    assert session.overlay is None
    assert "choose one" in picture(session)
    answer(session.tasks, TASKS[4:])
    assert session.tasks.selection.current == TASKS[4].id


@pytest.mark.parametrize(
    ("keys", "effect"),
    [
        (("down", "y"), Copy("48983")),
        (("space", "y"), CopyText("48990", "1 id")),
        (("space", "space", "y"), CopyText("48990\n48983", "2 ids")),
    ],
)
def test_copying_takes_the_marked_ids_or_the_one_under_the_cursor(keys: tuple[str, ...], effect: object) -> None:
    assert press(opened(), *keys) == effect


# Mouse


def test_a_click_goes_to_a_row_and_one_more_opens_it() -> None:
    session = opened()
    lines = session.frame(120, 40)
    y = next(place for place, line in enumerate(lines) if "48977" in line.text)
    session.click(y)
    assert session.tasks.selection.current == 48_977
    view = session.tasks
    assert view.click(y - session.body_top) == Open(48_977)


@pytest.mark.parametrize("y", [0, 1, 2, 3, 4, 5, 30])
def test_a_click_beside_the_rows_does_nothing(y: int) -> None:
    session = opened()
    session.frame(120, 40)
    session.click(y)
    assert session.tasks.selection.current == 48_990


def test_a_click_on_a_scrolled_list_hits_what_is_drawn_there() -> None:
    session = opened()
    answer(session.tasks, many(200))
    press(session, "end")
    lines = session.frame(80, 24)
    rows = [place for place, line in enumerate(lines) if "support" in line.text]
    wanted = int(lines[rows[3]].text.split()[0])
    session.click(rows[3])
    assert session.tasks.selection.current == wanted


# Pictures


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20), (40, 10)])
@pytest.mark.parametrize(
    "keys", [("/",), ("/", *"status:x"), ("/", "tab", "tab"), ("s",), ("v",), ("*", "X"), ("*", "R"), ("M",), ("#",)]
)
def test_nothing_breaks_where_it_is_narrow(size: tuple[int, int], keys: tuple[str, ...]) -> None:
    session = opened()
    press(session, *keys)
    lines = session.frame(*size)
    assert len(lines) == size[1]
    assert all(len(line.text) <= size[0] for line in lines)


def test_an_unchanged_list_is_an_unchanged_picture() -> None:
    session = opened(columns=tuple(column.title for column in TASK_COLUMNS))
    before = session.frame(250, 40)
    answer(session.tasks, TASKS)
    assert session.frame(250, 40) == before


def test_nothing_is_under_the_cursor_of_an_empty_list() -> None:
    session = opened()
    answer(session.tasks, ())
    assert session.tasks.do("open", 20) == Say("no task is under the cursor: choose one")
