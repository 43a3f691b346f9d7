"""What operators did: what the view says, and what its keys come to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from crewtop.model.operations import Action, ItemOutcome, Operation
from crewtop.tui.actions import View
from crewtop.tui.effects import Copy, Halt, Resume, Undo
from crewtop.tui.manner import Manner
from crewtop.tui.options import ScreenOptions
from crewtop.tui.paint import width as cells_of
from crewtop.tui.session import Session
from crewtop.tui.views.detail import Detail
from crewtop.tui.views.operations import Operations
from crewtop.tui.views.question import Question
from crewtop.tui.wants import OperationList, OutcomeList
from tests.tui.fixtures import BUSY, HOSTILE, ITEMS, OPERATIONS, keys

RUNNING, DONE, MOVED = OPERATIONS


def session(operations: Sequence[Operation] = OPERATIONS) -> Session:
    made = Session(ScreenOptions(), lambda: 0.0)
    made.take(BUSY)
    made.press("7")
    made.page.answer(OperationList(100), operations)
    return made


def picture(made: Session, width: int = 160, height: int = 30) -> str:
    return "\n".join(line.text for line in made.frame(width, height))


def test_an_operation_is_told_in_a_line() -> None:
    shown = picture(session())
    assert "1 under way" in shown
    row = next(line for line in shown.split("\n") if "move to bulk" in line)
    for said in ("6", "✓ done", "90/96", "dana@ops1", "queue:support", "1h"):
        assert said in row
    running = next(line for line in shown.split("\n") if "800/1,240" in line)
    assert "▶ running" in running
    assert "■■■■■···" in running
    assert "failure:5d10c7aa" in running


def test_a_bar_is_full_only_when_nothing_is_left() -> None:
    nearly = replace(RUNNING, total=100_000, done=99_999, refused=0)
    assert "■■■■■■■·" in picture(session([nearly]))


@pytest.mark.parametrize(
    ("operation", "key", "effect", "said"),
    [
        (RUNNING, "H", Halt(9, "pause"), "asked it to pause"),
        (replace(RUNNING, state="paused"), "H", Resume(9), "goes on"),
        (DONE, "H", None, "not paused: operation 7 is done"),
        (DONE, "C", None, "nothing to cancel: operation 7 is done"),
        (RUNNING, "u", None, "not undone: operation 9 is running: C cancels what is left"),
        (replace(DONE, action=Action.DELETE), "u", None, "not undone: operation 7 was to delete, which is for good"),
        (replace(DONE, action=Action.UNDO, undoes=6), "u", None, "was to undo, which is for good"),
        (replace(DONE, done=0, refused=1), "u", None, "has changed no task"),
    ],
)
def test_keys_on_an_operation(operation: Operation, key: str, effect: object, said: str) -> None:
    made = session([operation])
    assert made.press(key) == effect
    assert made.overlay is None
    assert said in picture(made)


def test_what_is_left_is_cancelled_once_it_is_confirmed() -> None:
    made = session()
    assert made.press("C") is None
    assert isinstance(made.overlay, Question)
    assert "436 of its 1,240 tasks stay as they are" in picture(made)
    assert made.press("enter") == Halt(9, "cancel")


def test_u_takes_back_the_operation_under_the_cursor_and_not_the_last_one() -> None:
    made = session()
    assert keys(made, "down", "down", "u") is None
    assert isinstance(made.overlay, Question)
    assert "Undo operation 6: move of 90 tasks to bulk, 1h" in picture(made)
    assert made.press("enter") == Undo(6)


@pytest.mark.parametrize("opened", [False, True])
def test_u_is_for_the_open_one_too(opened: bool) -> None:
    made = session()
    keys(made, "down", *(["enter"] if opened else []), "u")
    assert made.press("enter") == Undo(7)


def test_enter_opens_an_operation_and_escape_leaves_it() -> None:
    made = session()
    made.press("enter")
    assert made.page.want == OutcomeList(9, 1_000)
    assert made.page.loading
    made.page.answer(OutcomeList(9, 1_000), ITEMS)
    shown = picture(made)
    for said in ("OPERATION 9", "800 of 1,240 done", "4 refused", "436 left", "dana@ops1 as ops", "failure:5d10c7aa"):
        assert said in shown
    assert shown.index(ITEMS[0].why) < shown.index("✓ done")
    assert "and 1,237 more" in shown
    made.press("escape")
    assert made.view is View.OPERATIONS
    assert "move to bulk" in picture(made)


def test_opened_by_its_key_it_begins_with_what_is_under_way() -> None:
    first = replace(DONE, id=12)
    made = session([first, *OPERATIONS])
    assert made.page.do("copy", 20) == Copy("9")
    made = session([first, DONE])
    assert made.page.do("copy", 20) == Copy("12")


def test_opened_again_it_begins_anew_and_the_way_back_does_not() -> None:
    made = session()
    keys(made, "down", "down", "2", "backspace")
    assert made.page.do("copy", 20) == Copy("6")
    keys(made, "2", "7")
    assert made.page.do("copy", 20) == Copy("9")
    made.page.answer(OperationList(100), (replace(RUNNING, id=12), *OPERATIONS))
    assert made.page.do("copy", 20) == Copy("9")  # a key was pressed meanwhile: nothing slides under the cursor
    keys(made, "2", "7")
    made.page.answer(OperationList(100), (replace(RUNNING, id=13), *OPERATIONS))
    assert made.page.do("copy", 20) == Copy("13")


def test_its_key_leads_from_an_open_operation_back_to_the_list() -> None:
    made = session()
    keys(made, "down", "enter")
    assert made.page.want == OutcomeList(7, 1_000)
    keys(made, "7")
    assert made.view is View.OPERATIONS
    assert made.page.want == OperationList(100)
    assert made.page.do("copy", 20) == Copy("7")


def test_an_outcome_opens_its_task() -> None:
    made = session()
    made.press("enter")
    made.page.answer(OutcomeList(9, 1_000), ITEMS)
    keys(made, "down", "enter")
    assert isinstance(made.page, Detail)
    assert made.page.task_id == 47_801
    made.press("escape")
    assert made.page.do("copy", 20) == Copy("47801")


def test_what_is_open_keeps_up_with_how_far_it_has_come() -> None:
    made = session()
    made.press("enter")
    made.page.answer(OutcomeList(9, 1_000), ITEMS)
    assert made.page.want == OperationList(100)
    made.page.answer(OperationList(100), (replace(RUNNING, done=1_236, state="done"), DONE))
    assert "1,236 of 1,240 done" in picture(made)
    assert made.page.want == OutcomeList(9, 1_000)


def test_outcomes_of_another_operation_are_dropped() -> None:
    made = session()
    keys(made, "down", "enter")
    made.page.answer(OutcomeList(9, 1_000), ITEMS)
    assert "not retried" not in picture(made)


def test_the_cursor_stays_with_its_operation() -> None:
    made = session()
    made.press("down")
    made.page.answer(OperationList(100), (replace(RUNNING, id=12), replace(RUNNING, id=10), *OPERATIONS))
    assert made.page.do("copy", 20) == Copy("7")


def test_a_click_goes_to_an_operation_and_another_one_opens_it() -> None:
    made = session()
    y = next(i for i, line in enumerate(made.page.lines(120, 20)) if "move to bulk" in line.text)
    made.page.click(y)
    made.page.click(y)
    assert made.page.want == OutcomeList(6, 1_000)


def test_before_anybody_acted_it_says_so() -> None:
    assert "Nobody has acted on a task yet." in picture(session([]))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_a_picture(hostile: str) -> None:
    nasty = replace(
        MOVED, id=7, argument=json.dumps({"queue": hostile}), actor=hostile, reason=hostile, scope=hostile, role=hostile
    )
    made = session([nasty])
    assert picture(made, 200).replace("\n", "").isprintable()
    made.press("enter")
    made.page.answer(OutcomeList(7, 1_000), (ItemOutcome(1, False, hostile),))
    assert picture(made, 200).replace("\n", "").isprintable()
    made.press("u")
    assert picture(made, 200).replace("\n", "").isprintable()


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("height", [5, 10, 19, 40])
@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_it_fits(width: int, height: int, opened: bool, ascii_only: bool) -> None:
    made = Operations(Manner(ascii_only))
    made.take(BUSY)
    made.answer(made.want, [replace(RUNNING, id=200 - i, scope="x" * 300, reason="y" * 300) for i in range(100)])
    if opened:
        made.do("open", height)
        made.answer(made.want, [ItemOutcome(i, None if i % 2 else False, "z" * 300) for i in range(500)])
    lines = made.lines(width, height)
    assert len(lines) <= height
    assert all(cells_of(line.spans) <= width for line in lines)
    assert not ascii_only or all(line.text.isascii() for line in lines)
