"""Failures by what went wrong: what the view says, and what its keys come to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.failures import Failures
from crewtop.model.filters import parse
from crewtop.model.operations import Action, Matching, Order
from crewtop.tui.actions import View
from crewtop.tui.effects import ActOnAll, Copy, Go, Price, Say
from crewtop.tui.manner import Manner
from crewtop.tui.options import ScreenOptions
from crewtop.tui.paint import width as cells_of
from crewtop.tui.session import Session
from crewtop.tui.views.failures import FailureGroups
from crewtop.tui.views.question import Question
from crewtop.tui.wants import FailureList
from tests.tui.fixtures import BUSY, FAILURES, HOSTILE, NOW, SCOPE, ago, group


def view(failures: Failures = FAILURES, manner: Manner | None = None) -> FailureGroups:
    made = FailureGroups(manner or Manner())
    made.answer(made.want, failures)
    return made


def session(**options: object) -> Session:
    made = Session(ScreenOptions(**options), lambda: 0.0)  # type: ignore[arg-type]
    made.take(BUSY)
    made.press("3")
    made.page.answer(FailureList(24), FAILURES)
    return made


def text(made: FailureGroups, width: int = 120, height: int = 30) -> str:
    return "\n".join(line.text for line in made.lines(width, height))


def test_a_group_is_told_in_a_line_and_in_full() -> None:
    shown = text(view())
    row = next(line for line in shown.split("\n") if "31" in line and "9" in line)
    assert "≥ $1.94" in row
    assert "2m" in row
    assert "RateLimitError: 429 quota" in row
    for said in (
        "FAILURE 5d10c7aa",
        "RateLimitError: 429 quota exhausted for gpt-4.1 in eu-west",
        "9, 31 back off and run again",
        "2026-03-14 13:05:31Z",
        "briefing, support",
        "research, support",
        "≥ $1.94 (2 calls unreported)",
        "47802",
        "R retries the failed ones",
    ):
        assert said in shown


@pytest.mark.parametrize(("width", "error"), [(120, 36), (80, 26), (60, 26), (40, 15)])
def test_the_error_has_the_rest_of_the_line(width: int, error: int) -> None:
    sample = "A" * 500
    made = view(Failures(NOW, (group("5d10c7aa", sample, 9),), 3_600.0, 9, False))
    row = next(line.text for line in made.lines(width, 10) if "AAA" in line.text)
    assert row.count("A") >= error


@pytest.mark.parametrize(
    ("presses", "hours", "said"),
    [((), 24, "last 24 h"), (("w",), 168, "last 7 days"), (("w", "w"), 1, "last hour"), (("w", "w", "w"), 24, "24 h")],
)
def test_w_goes_through_the_windows(presses: tuple[str, ...], hours: int, said: str) -> None:
    made = session()
    for key in presses:
        made.press(key)
    assert made.page.want == FailureList(hours)
    assert said in made.page.lines(80, 20)[0].text


def test_an_answer_of_another_window_is_dropped() -> None:
    made = session()
    made.press("w")
    assert made.page.loading
    made.page.answer(FailureList(24), FAILURES)
    assert made.page.loading
    made.page.answer(FailureList(168), FAILURES)
    assert not made.page.loading


def test_enter_lists_the_tasks_of_the_group() -> None:
    made = session()
    made.press("down")
    assert made.press("enter") is None
    assert made.view is View.TASKS
    assert made.tasks.typed == "failure:0be177f2"
    assert view().do("open", 20) == Go(View.TASKS, parse("failure:5d10c7aa"))


@pytest.mark.parametrize(
    ("key", "action", "typed"),
    [
        ("R", Action.RETRY, "failure:5d10c7aa status:failed"),
        ("F", Action.FAIL, "failure:5d10c7aa"),
        ("U", Action.REQUEUE, "failure:5d10c7aa"),
        ("C", Action.CANCEL, "failure:5d10c7aa"),
        ("N", Action.RERUN, "failure:5d10c7aa"),
        ("X", Action.DELETE, "failure:5d10c7aa"),
    ],
)
def test_an_action_is_for_the_whole_group_as_it_was_seen(key: str, action: Action, typed: str) -> None:
    assert session().press(key) == Price(Order(action), Matching(parse(typed), NOW), typed)


def test_u_is_for_the_last_operation_and_not_for_the_group() -> None:
    made = session()
    assert made.press("u") is None
    assert "undo" in made.message[0][0]
    assert not isinstance(view().own("undo"), Price)


def test_a_retry_is_asked_about_with_its_price() -> None:
    made = session()
    asked = made.press("R")
    assert isinstance(asked, Price)
    made.priced(asked, SCOPE)
    assert isinstance(made.overlay, Question)
    assert "$4.10" in "\n".join(line.text for line in made.frame(100, 30))


@pytest.mark.parametrize(
    ("key", "typed", "order"), [("M", "bulk", Order(Action.MOVE, "bulk")), ("B", "0", Order(Action.PRIORITY, 0))]
)
def test_what_an_action_needs_is_asked_first(key: str, typed: str, order: Order) -> None:
    made = session()
    assert made.press(key) is None
    for character in typed:
        made.press(character)
    asked = made.press("enter")
    assert isinstance(asked, Price)
    assert asked.order == order


def test_acting_keys_refuse_on_a_read_only_screen() -> None:
    made = session(read_only=True)
    assert made.press("R") is None
    assert "read-only" in made.message[0][0]


def test_y_copies_the_whole_error() -> None:
    assert view().do("copy", 20) == Copy("RateLimitError: 429 quota exhausted for gpt-4.1 in eu-west")


def test_the_cursor_stays_with_its_group() -> None:
    made = view()
    made.do("down", 20)
    grown = (replace(FAILURES.groups[1], failed=500), *FAILURES.groups[2:], FAILURES.groups[0])
    made.answer(made.want, replace(FAILURES, groups=grown))
    assert made.do("open", 20) == Go(View.TASKS, parse("failure:0be177f2"))


def test_nothing_else_slides_under_the_cursor() -> None:
    made = view()
    made.answer(made.want, replace(FAILURES, groups=FAILURES.groups[1:]))
    assert made.own("retry") == Say("no failure is under the cursor: choose one")
    assert made.do("open", 20) == Say("no failure is under the cursor: choose one")


def without_the_first(made: Session) -> None:
    made.page.answer(FailureList(24), replace(FAILURES, groups=FAILURES.groups[1:]))


SECOND = Price(Order(Action.FAIL), Matching(parse("failure:0be177f2"), NOW), "failure:0be177f2")


def test_a_group_that_its_own_retry_emptied_makes_room_for_the_next() -> None:
    made = session()
    asked = made.press("R")
    assert isinstance(asked, Price)
    made.priced(asked, SCOPE)
    made.frame(100, 30)
    assert isinstance(made.press("enter"), ActOnAll)
    without_the_first(made)
    assert made.press("F") == SECOND


def test_a_question_that_was_dropped_makes_no_room() -> None:
    made = session()
    asked = made.press("R")
    assert isinstance(asked, Price)
    made.priced(asked, SCOPE)
    made.press("escape")
    without_the_first(made)
    assert made.press("F") is None


@pytest.mark.parametrize("way", [("2", "3"), ("enter", "escape"), ("4", "backspace")])
def test_whoever_comes_back_begins_at_the_first_line_if_the_group_is_gone(way: tuple[str, ...]) -> None:
    made = session()
    for key in way:
        made.press(key)
    assert made.view is View.FAILURES
    without_the_first(made)
    assert made.press("F") == SECOND


def test_whoever_comes_back_finds_the_cursor_where_it_was() -> None:
    made = session()
    for key in ("down", "2", "3"):
        made.press(key)
    without_the_first(made)
    assert made.press("F") == SECOND


def test_a_group_that_is_gone_before_one_leaves_is_no_trap() -> None:
    made = session()
    without_the_first(made)
    assert made.press("F") is None
    made.press("2")
    made.press("3")
    assert made.press("F") == SECOND


def test_after_all_groups_are_gone_the_next_one_has_the_cursor() -> None:
    made = session()
    made.page.answer(FailureList(24), replace(FAILURES, groups=()))
    without_the_first(made)
    assert made.press("F") == SECOND


def test_a_click_goes_to_a_group_and_another_one_opens_it() -> None:
    made = view()
    y = next(i for i, line in enumerate(made.lines(100, 24)) if "timeout after" in line.text)
    assert made.click(y) is None
    assert made.click(y) == Go(View.TASKS, parse("failure:0be177f2"))
    assert made.click(1) is None


@pytest.mark.parametrize(("presses", "said"), [(0, "the last 24 h."), (1, "the last 7 days."), (2, "the last hour.")])
def test_where_nothing_failed_it_says_so(presses: int, said: str) -> None:
    made = FailureGroups(Manner())
    for _ in range(presses):
        made.do("window", 20)
    made.answer(made.want, Failures(NOW, (), 3_600.0, 0, False))
    assert f"Nothing has failed in {said}" in text(made)


def test_what_was_left_out_is_told() -> None:
    assert "of the newest 14 tasks: older ones are left out" in text(view(replace(FAILURES, more=True)))


def test_a_question_without_an_answer_says_why() -> None:
    made = FailureGroups(Manner())
    made.fail("postgres: canceling statement due to statement timeout")
    assert "statement timeout" in text(made)


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_hostile_text_is_a_picture(hostile: str, ascii_only: bool) -> None:
    nasty = group("5d10c7aa", hostile, 3, crews=(hostile,), queues=(hostile,))
    made = view(Failures(NOW, (nasty,), 3_600.0, 3, False), Manner(ascii_only))
    for line in made.lines(160, 30):
        assert line.text.isprintable()
    copied = made.do("copy", 20)
    assert isinstance(copied, Copy)
    assert copied.text.replace("\n", "").replace("\t", "").isprintable()


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("height", [5, 10, 19, 40])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_it_fits(width: int, height: int, ascii_only: bool) -> None:
    groups = tuple(group(f"{i:08x}", "x" * 500, i + 1, first_at=ago(90_000 * i + 9)) for i in range(50))
    made = view(Failures(NOW, groups, 3_600.0, 900, True), Manner(ascii_only))
    lines = made.lines(width, height)
    assert len(lines) <= height
    assert all(cells_of(line.spans) <= width for line in lines)
    assert made.failures is not None
    assert not ascii_only or all(line.text.isascii() for line in lines)
