"""What is asked before anything is changed, and what counts as an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.detail import TaskRow
from crewtop.model.filters import TaskFilter, parse
from crewtop.model.operations import Action, Matching, Order, Scope, Target
from crewtop.tui.effects import Act, ActOnAll, Open, Price, Say
from crewtop.tui.manner import Manner
from crewtop.tui.views.chooser import Arranger, Choice, Chooser
from crewtop.tui.views.question import Question, about_all, about_argument, about_id, about_tasks, about_undo
from tests.tui.fixtures import NOW, SCOPE, TASKS, ago, operation, task, usd

FAILED = tuple(task(i, "failed", crew=f"crew-{i % 3}", cost=usd("0")) for i in range(100, 112))


def asked(action: Action, tasks: tuple[TaskRow, ...], argument: str | int | None = None) -> Question:
    question = about_tasks(Order(action, argument), tasks, Manner())
    assert isinstance(question, Question)
    return question


def about_scope(scope: Scope, typed: str = "crew:research", action: Action = Action.RETRY) -> Question:
    question = about_all(Price(Order(action), Matching(parse(typed)), typed), scope, Manner())
    assert isinstance(question, Question)
    return question


def text(question: Question, cells: int = 120, most: int = 100) -> str:
    return "\n".join(line.text for line in question.lines(cells, Manner(), most))


def press(question: Question, *keys: str) -> object:
    outcome: object = None
    for key in keys:
        text(question)  # nobody confirms what has not been shown
        outcome = question.press(key)
    return outcome


@pytest.mark.parametrize(
    ("action", "argument", "title"),
    [
        (Action.RETRY, None, "Retry 12 failed tasks"),
        (Action.DELETE, None, "Delete 12 failed tasks"),
        (Action.MOVE, "quick", "Move 1 pending task to quick"),
        (Action.PRIORITY, 1, "Reprioritise 1 pending task to priority 1"),
    ],
)
def test_the_title_says_what_happens_to_how_many(action: Action, argument: str | int | None, title: str) -> None:
    tasks = FAILED if action in (Action.RETRY, Action.DELETE) else (task(7, "pending"),)
    assert asked(action, tasks, argument).title == title


def test_eight_are_named_with_their_crew_and_the_others_counted() -> None:
    shown = text(asked(Action.RETRY, FAILED))
    assert "100 crew-1" in shown
    assert "107 crew-2" in shown
    assert "108 crew-" not in shown
    assert "and 4 more" in shown


def test_who_is_left_out_is_said_with_the_reason() -> None:
    tasks = (*FAILED, *(task(i) for i in range(5)), task(48_000, "running"))
    assert "not included: 5 completed, 1 running (48000)" in text(asked(Action.RETRY, tasks))


def test_tasks_that_stand_differently_are_counted_by_status() -> None:
    question = asked(Action.RETRY, (*FAILED, task(1, "cancelled")))
    assert question.title == "Retry 13 tasks"
    assert "12 failed, 1 cancelled" in text(question)


@pytest.mark.parametrize(("count", "typed"), [(1, ""), (2, "2"), (12, "12")])
def test_a_deletion_of_more_than_one_is_typed(count: int, typed: str) -> None:
    question = asked(Action.DELETE, FAILED[:count])
    assert question.type_in == typed
    effect = Act(Order(Action.DELETE), tuple(Target(row.id, row.version) for row in FAILED[:count]))
    assert press(question, "enter") == (effect if count == 1 else True)
    assert press(question, *typed, "enter") == effect


def test_a_wrong_count_says_so_and_confirms_nothing() -> None:
    question = asked(Action.DELETE, FAILED)
    assert press(question, "1", "3", "enter") is True
    assert "not 12" in text(question)
    assert press(question, "backspace", "2", "enter") == question.effect


@pytest.mark.parametrize("key", ["escape", "q", "ctrl+c"])
def test_leaving_keeps_all_as_it_is(key: str) -> None:
    assert press(asked(Action.RETRY, FAILED), key) is False


def test_letters_are_no_answer() -> None:
    assert press(asked(Action.RETRY, FAILED), "y", "R", "space", "down") is True


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (Action.FAIL, "nothing to fail: 1 completed (1); it has to be pending, retry, running or waiting"),
        (Action.RETRY, "nothing to retry: 1 completed (1); it has to be cancelled, failed or retry"),
    ],
)
def test_where_nothing_fits_it_is_said_what_would(action: Action, said: str) -> None:
    assert about_tasks(Order(action), [task(1)], Manner()) == Say(said, "watch")


def test_an_action_without_a_verb_of_its_own_has_one() -> None:
    said = about_tasks(Order(Action.PRIORITY, 1), [task(1)], Manner())
    assert isinstance(said, Say)
    assert said.words.startswith("nothing to reprioritise: ")


def test_all_that_match_are_asked_about_in_words_as_of_a_moment() -> None:
    """Case C28."""
    shown = text(about_scope(SCOPE))
    for words in (
        "Retry all 96 failed tasks",
        "crew:research   248 other tasks that could be retried stay as they are   as of 14:02:11Z",
        "48000   47999",
        "and 88 more",
        "each runs again now",
        "≥ $4.10",
        "30 that came since the list was drawn are not included",
    ):
        assert words in shown


def test_one_is_not_many() -> None:
    one = replace(SCOPE, count=1, statuses={"failed": 1}, sample=(5,), newcomers=1, others=1)
    shown = text(about_scope(one))
    other = "1 other task that could be retried stays as it is"
    for words in (" Retry 1 failed task ", other, "1 that came since", "is not included"):
        assert words in shown
    assert "each" not in shown
    assert "its last attempt cost about" in shown


def test_a_saved_view_is_asked_about_with_what_it_stands_for() -> None:
    matching = Matching(TaskFilter(crews=("research",)))
    question = about_all(Price(Order(Action.RETRY), matching, "@mine"), SCOPE, Manner())
    assert isinstance(question, Question)
    assert "@mine   crew:research" in text(question)


@pytest.mark.parametrize(("typed", "count", "type_in"), [("", 3, "3"), ("crew:a", 3, ""), ("crew:a", 101, "101")])
def test_no_filter_and_many_tasks_are_typed(typed: str, count: int, type_in: str) -> None:
    scope = replace(SCOPE, count=count, cost=usd("0"))
    question = about_scope(scope, typed)
    assert question.type_in == type_in
    assert isinstance(question.effect, ActOnAll)


def test_what_is_typed_says_that_enter_goes_on() -> None:
    question = about_argument(Action.PRIORITY, lambda order: Say(str(order.argument)))
    assert "⏎ next" in text(question)
    assert press(question, "7", "enter") is True
    assert "use 0 to 4" in text(question)
    assert press(question, "backspace", "1", "enter") == Say("1")


@pytest.mark.parametrize(("keys", "outcome"), [("#48201", Open(48_201)), ("12", Open(12)), ("x", True), ("", True)])
def test_a_task_is_opened_by_its_number(keys: str, outcome: object) -> None:
    assert press(about_id(), *keys, "enter") == outcome


def test_undoing_says_what_is_undone() -> None:
    moved = replace(operation(Action.MOVE, 2_793, "done"), id=4, argument='{"queue": "bulk"}', at=ago(190))
    assert about_undo(moved, NOW).title == "Undo operation 4: move of 2,793 tasks to bulk, 3m ago"
    assert about_undo(operation(Action.RETRY, 1), None).title == "Undo operation 7: retry of 1 task"
    urgent = replace(operation(Action.PRIORITY, 96, "done"), argument='{"priority": 1}')
    assert about_undo(urgent, None).title == "Undo operation 7: change of 96 tasks to priority 1"


def test_a_move_says_where_the_tasks_will_wait() -> None:
    assert "waits in quick from now on" in text(asked(Action.MOVE, (task(7, "pending"),), "quick"))


@pytest.mark.parametrize("cells", [40, 60, 80, 120])
@pytest.mark.parametrize("most", [3, 6, 12])
def test_a_question_fits_and_never_loses_how_to_answer(cells: int, most: int) -> None:
    question = asked(Action.DELETE, (*TASKS, *FAILED))
    lines = question.lines(cells, Manner(), most)
    assert len(lines) <= most
    assert all(len(line.text) == cells for line in lines)
    assert "Delete" in lines[0].text
    assert "type 23 and ⏎" in lines[-2].text


CHOICES = [Choice(name, f"what {name} is") for name in "abcdefghijkl"]


@pytest.mark.parametrize(
    ("keys", "told"),
    [(("enter",), ["c"]), (("down", "enter"), ["d"]), (("home", "up", "enter"), ["a"]), (("end", "escape"), [])],
)
def test_one_of_several_is_chosen(keys: tuple[str, ...], told: list[str]) -> None:
    heard: list[str] = []
    chooser = Chooser("Order", "sort", CHOICES, "c", heard.append)
    assert press(chooser, *keys) is False
    assert heard == told


@pytest.mark.parametrize("most", [4, 6, 30])
@pytest.mark.parametrize("place", [0, 5, 11])
def test_the_cursor_of_a_list_is_in_sight(most: int, place: int) -> None:
    chooser = Chooser("Order", "sort", CHOICES, CHOICES[place].name, lambda name: None)
    shown = [line.text for line in chooser.lines(60, Manner(), most)]
    assert len(shown) <= most
    assert any("▌◆" in line and f"what {CHOICES[place].name} is" in line for line in shown)


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (("enter",), "ab"),
        (("space", "enter"), "b"),
        (("space", "down", "space", "enter"), "b"),  # one has to stay
        (("J", "enter"), "ba"),
        (("down", "<", "enter"), "ba"),
        (("K", "enter"), "ab"),
        (("end", "space", "enter"), "abd"),
        (("end", "space", "K", "K", "K", "enter"), "dab"),
        (("end", "space", "escape"), "ab"),
        (("J", "d", "enter"), "abc"),
    ],
)
def test_some_of_several_are_chosen_in_an_order(keys: tuple[str, ...], names: str) -> None:
    heard: list[str] = []
    arranger = Arranger("Columns", CHOICES[:4], "ab", "abc", lambda chosen: heard.append("".join(chosen)))
    assert press(arranger, *keys) is False
    assert heard[-1] == names


def test_a_question_that_was_never_shown_is_not_confirmed() -> None:
    question = asked(Action.RETRY, FAILED[:1])
    assert question.press("enter") is True
    text(question)
    assert question.press("enter") == question.effect
