"""State and keys in, state and effects out: what every key does, without a terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crewtop.model.detail import TaskDetail, TaskPage
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Action, ItemOutcome, Matching, OperationResult, Order, Target
from crewtop.model.snapshot import Health
from crewtop.tui.actions import COMMANDS, View
from crewtop.tui.doing import DOES
from crewtop.tui.effects import Act, ActOnAll, Copy, Drain, PauseQueue, Price, Quit, Refresh, SetSlots, Undo
from crewtop.tui.files import Files
from crewtop.tui.options import ScreenOptions
from crewtop.tui.session import FIRST_RUN, Session
from crewtop.tui.source import LogLines
from crewtop.tui.views.detail import Detail
from crewtop.tui.views.question import Question
from crewtop.tui.wants import RunLog, Story
from tests.tui.fixtures import BUSY, HOSTILE, LOG, NOW, SCOPE, STUCK, TASKS, excerpt, keys, operation, task


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def session(**options: object) -> Session:
    made = Session(ScreenOptions(**options), Clock())  # type: ignore[arg-type]
    made.take(BUSY)
    made.tasks.answer(made.tasks.request, TaskPage(NOW, TASKS, False))
    return made


def picture(made: Session, width: int = 120, height: int = 40) -> str:
    return "\n".join(line.text for line in made.frame(width, height))


@pytest.mark.parametrize(
    ("pressed", "view"),
    [
        (("2",), View.TASKS),
        (("4",), View.WORKERS),
        (("2", "1"), View.OVERVIEW),
        (("2", "enter"), View.DETAIL),
        (("2", "enter", "escape"), View.TASKS),
        (("2", "enter", "q", "q"), View.OVERVIEW),
        (("2", "escape"), View.OVERVIEW),
        (("enter",), View.TASKS),  # the first queue is under the cursor
        (("down", "down", "down", "down", "down", "enter"), View.DETAIL),  # the first running task
        (("/",), View.TASKS),
        (("2", "l"), View.DETAIL),
        (("4", "enter"), View.DETAIL),
        (("?", "2"), View.TASKS),  # what help says of a key, the key does
        (("?", "c"), View.CHARTS),
        (("?", "?"), View.OVERVIEW),
        (("?", "enter"), View.OVERVIEW),  # the list is not in sight
        (("?", "q", "2"), View.TASKS),
        ((":", "w", "o", "r", "k", "e", "r", "s", "enter"), View.WORKERS),
    ],
)
def test_ways(pressed: tuple[str, ...], view: View) -> None:
    made = session()
    keys(made, *pressed)
    assert made.view is view


def test_an_acting_key_only_closes_help() -> None:
    made = session()
    keys(made, "4", "?", "K")
    assert made.overlay is None
    keys(made, "2", "?", "R")
    assert made.overlay is None


def test_q_quits_only_at_the_root() -> None:
    made = session()
    assert keys(made, "2", "enter", "q") is None
    assert keys(made, "q") is None
    assert keys(made, "q") == Quit()


def test_a_queue_opens_its_tasks() -> None:
    made = session()
    keys(made, "enter")
    assert made.tasks.request.task_filter.queues == ("nightly",)


def test_an_action_is_fixed_at_the_press_whatever_comes_after() -> None:
    made = session()
    keys(made, "2", *["down"] * 9, "R")
    assert isinstance(made.overlay, Question)
    moved = (*(replace(row, version=99) for row in TASKS[:9]), task(60_000, "failed", version=1))
    made.tasks.answer(made.tasks.request, TaskPage(NOW, moved, False))
    assert keys(made, "enter") == Act(Order(Action.RETRY), (Target(47_802, 7),))


def test_escape_keeps_all_as_it_is() -> None:
    made = session()
    assert keys(made, "2", *["down"] * 9, "R", "escape", "enter") is None
    assert made.overlay is None


def test_marked_tasks_are_acted_on_and_the_cursor_is_not() -> None:
    made = session()
    effect = keys(made, "2", *["down"] * 9, "space", "space", "R", "enter")
    assert effect == Act(Order(Action.RETRY), (Target(47_802, 7), Target(47_801, 7)))


def test_all_that_match_are_another_key_than_the_marked_ones() -> None:
    """Case C28: the scope is that of the list as it was drawn, and stated before anything is done."""
    made = session()
    keys(made, "2", "/", *"crew:research", "enter")
    assert made.tasks.matching is None
    made.tasks.answer(made.tasks.request, TaskPage(NOW, TASKS, False))
    assert keys(made, "space", "A") is None
    assert "for all that match crew:research" in picture(made)
    asked = keys(made, "R")
    assert asked == Price(Order(Action.RETRY), Matching(TaskFilter(crews=("research",)), NOW), "crew:research")
    assert isinstance(asked, Price)
    made.priced(asked, SCOPE)
    shown = picture(made)
    assert "Retry all 96 failed tasks" in shown
    assert "crew:research   248 other tasks that could be retried stay as they are" in shown
    assert "≥ $4.10" in shown
    assert "30 that came since the list was drawn are not included" in shown
    assert keys(made, "enter") == ActOnAll(asked.order, asked.matching, 96)
    keys(made, "R")
    assert "Retry all" not in picture(made)


@pytest.mark.parametrize("between", ["down", "A", "2"])
def test_all_is_forgotten_when_something_else_is_done_first(between: str) -> None:
    made = session()
    keys(made, "2", *["down"] * 9, "A", between, *["up"] * (between == "down"), "R")
    assert isinstance(made.overlay, Question)
    assert made.overlay.title == "Retry 1 failed task"


def test_a_large_action_is_confirmed_by_typing_its_count() -> None:
    made = session()
    asked = keys(made, "2", "A", "R")
    assert isinstance(asked, Price)
    made.priced(asked, replace(SCOPE, count=12_300))
    assert keys(made, "enter") is None
    assert keys(made, *"12300", "enter") == ActOnAll(asked.order, asked.matching, 12_300)
    assert keys(made, "A", "R") == asked
    made.priced(asked, replace(SCOPE, count=0))
    assert "nothing to retry matches no filter" in picture(made)


def test_where_to_is_asked_first() -> None:
    made = session()
    keys(made, "2", *["down"] * 9, "M", "enter")
    assert "name a queue" in picture(made)
    keys(made, *"quick", "enter")
    assert "Move 1 failed task to quick" in picture(made)
    assert keys(made, "enter") == Act(Order(Action.MOVE, "quick"), (Target(47_802, 7),))
    keys(made, "B", "7", "enter")
    assert "use 0 to 4" in picture(made)
    assert keys(made, "backspace", "1", "enter", "enter") == Act(Order(Action.PRIORITY, 1), (Target(47_802, 7),))


def test_the_last_operation_can_be_taken_back_and_a_delete_cannot() -> None:
    made = session()
    keys(made, "u")
    assert "this screen has nothing left to undo: what others did is in 7 Operations" in picture(made)
    made.ended(operation(Action.RETRY, 96, "done"), {})
    assert "96 retried (operation 7); u undoes it" in picture(made)
    assert keys(made, "u", "enter") == Undo(7)
    made.ended(operation(Action.DELETE, 96, "done"), {})
    keys(made, "u")
    assert "a delete cannot be undone" in picture(made)


def test_u_goes_to_the_newest_operation_that_is_not_undone_yet() -> None:
    made = session()
    for number in (3, 4):
        made.ended(replace(operation(Action.RETRY, 96, "done"), id=number), {})
    assert keys(made, "u", "enter") == Undo(4)
    made.ended(replace(operation(Action.UNDO, 96, "done"), id=5, undoes=4), {})
    assert "96 undone (operation 5)" in picture(made)
    assert "undoes it" not in picture(made)
    assert keys(made, "u", "enter") == Undo(3)
    made.ended(replace(operation(Action.UNDO, 96, "done"), id=6, undoes=3), {})
    assert keys(made, "u") is None
    assert "nothing left to undo" in picture(made)


def test_undo_takes_back_that_the_next_action_is_for_all() -> None:
    made = session()
    keys(made, "2", "A", "u")
    assert not made.acting.all_matching


def test_before_a_delete_that_cannot_be_undone_it_is_said_what_was() -> None:
    made = session()
    made.ended(operation(Action.RETRY, 96, "done"), {})
    made.ended(replace(operation(Action.DELETE, 96, "done"), id=8), {})
    assert "undoes it" not in picture(made)
    assert keys(made, "u") is None
    assert "a delete cannot be undone: operation 7 was before it: 7 Operations" in picture(made)


def test_what_changed_nothing_is_nothing_to_undo() -> None:
    made = session()
    made.ended(operation(Action.RETRY, 96, "done"), {})
    made.ended(replace(operation(Action.FAIL, 0, "done"), id=8), {})
    assert "undoes it" not in picture(made)
    assert keys(made, "u", "enter") == Undo(7)


def test_those_that_started_while_the_count_was_typed_are_told() -> None:
    made = session()
    made.ended(operation(Action.RETRY, 96, "done"), {}, 2_889)
    assert "96 retried, 2,793 of the 2,889 have moved on since (operation 7)" in picture(made)
    made.ended(operation(Action.CANCEL, 96, "done"), {}, 97)
    assert "at least 1 of the 97 have moved on since" in picture(made)


def test_sentences_name_the_users_own_keys(tmp_path: Path) -> None:
    made = session()
    keys_file = tmp_path / "keys.toml"
    keys_file.write_text('undo = ["ctrl+t"]\nfreeze = []')
    made.adopt(Files(ScreenOptions(keys_file=keys_file)))
    made.ended(operation(Action.RETRY, 96, "done"), {})
    assert "^T undoes it" in picture(made)


def test_how_far_an_operation_has_come_is_said_in_the_header() -> None:
    made = session()
    made.acting.progress = operation(Action.RETRY, 41)
    assert "retry 41 of 96" in picture(made)


def test_a_queue_is_paused_and_goes_on_from_the_overview() -> None:
    made = session()
    assert keys(made, "down", "P") is None
    assert "nothing more is claimed from it: 812 ready; 20 running go on" in picture(made)
    assert keys(made, "enter") == PauseQueue("support", True)
    assert keys(made, "down", "down", "P", "enter") == PauseQueue("research", False)


def test_the_outcome_is_said_task_by_task() -> None:
    made = session()
    made.acted(
        OperationResult(
            operation(Action.RETRY, 1, "done"),
            (ItemOutcome(5, True, ""), ItemOutcome(7, False, "not retried: completed 0.3s ago")),
        )
    )
    assert "1 retried, 1 refused" in picture(made)
    assert "7 not retried: completed 0.3s ago" in picture(made)


@pytest.mark.parametrize("key", ["R", "F", "U", "C", "N", "M", "B", "X", "A"])
def test_acting_keys_refuse_while_the_database_is_away(key: str) -> None:
    made = session()
    made.fail("postgres: connection refused")
    assert keys(made, "2", key, "enter") is None or made.view is View.DETAIL
    made = session()
    keys(made, "2")
    made.fail("postgres: connection refused")
    keys(made, key)
    assert made.overlay is None
    assert "not done" in picture(made)


def test_a_question_that_was_open_when_the_database_went_away_is_not_carried_out() -> None:
    made = session()
    keys(made, "2", *["down"] * 9, "R")
    made.fail("postgres: connection refused")
    assert keys(made, "enter") is None
    assert "not done" in picture(made)


def test_a_read_only_screen_refuses_and_says_so() -> None:
    made = session(read_only=True)
    keys(made, "2", "R")
    assert made.overlay is None
    assert "read-only" in picture(made)


def test_a_role_that_may_only_look_makes_the_screen_read_only() -> None:
    made = session()
    made.take(replace(BUSY, read_only=True))
    keys(made, "2", "R")
    assert made.overlay is None
    assert "read-only: the database lets this role only look" in picture(made)


def test_silence_is_stale_even_if_nobody_complains() -> None:
    made = session()
    made.picture._clock.now = 20.0  # type: ignore[attr-defined]
    assert made.stale
    assert "20s old" in picture(made)


def test_a_dead_redis_is_said_in_the_header() -> None:
    made = session()
    made.take(replace(BUSY, redis=Health(False)))
    assert "redis down · polling" in picture(made)
    made.take(replace(BUSY, redis=Health(False), pooled=True))
    assert "pooled · redis down · polling" in picture(made)


def test_frozen_pictures_wait() -> None:
    made = session()
    keys(made, "p")
    before = made.frame(120, 40)
    made.take(replace(BUSY, database="other"))
    assert made.frame(120, 40) == before
    keys(made, "p")
    assert "other" in picture(made)


def test_slots_add_up_before_the_worker_answers() -> None:
    made = session()
    assert keys(made, "4", ">") == SetSlots("db1-7c2e91", 13)
    assert keys(made, ">") == SetSlots("db1-7c2e91", 14)
    assert keys(made, "<") == SetSlots("db1-7c2e91", 13)


def test_drain_asks_first() -> None:
    made = session()
    assert keys(made, "4", "D") is None
    assert keys(made, "enter") == Drain("db1-7c2e91")


def test_copy_takes_the_id() -> None:
    made = session()
    assert keys(made, "2", "down", "y") == Copy("48983")


def test_pasted_text_is_typed_and_never_a_key() -> None:
    made = session()
    keys(made, "2")
    made.paste("RRRq")
    assert made.overlay is None
    keys(made, "/")
    made.paste("status:failed\ncrew:support")
    keys(made, "enter")
    assert made.tasks.request.task_filter.crews == ("support",)


def test_a_wrong_filter_is_explained_and_not_applied() -> None:
    made = session()
    keys(made, "2", "/", *"status:faild")
    assert "'faild' is unknown" in picture(made)
    keys(made, "enter")
    assert made.tasks.edit is not None
    keys(made, "escape")
    assert made.tasks.request.task_filter.statuses == ()


def test_escape_drops_marks_then_filter_then_the_view() -> None:
    made = session()
    keys(made, "2", "/", *"crew:support", "enter")
    made.tasks.answer(made.tasks.request, TaskPage(NOW, TASKS, False))
    keys(made, "space")
    keys(made, "escape")
    assert made.tasks.typed == "crew:support"
    keys(made, "escape")
    assert made.tasks.typed == ""
    keys(made, "escape")
    assert made.view is View.OVERVIEW


def test_the_list_grows_when_the_cursor_nears_its_end() -> None:
    made = session()
    keys(made, "2")
    made.tasks.answer(made.tasks.request, TaskPage(NOW, tuple(task(i) for i in range(1, 201)), True))
    keys(made, "end")
    assert made.tasks.request.limit == 400


def test_an_answer_to_an_older_filter_is_dropped() -> None:
    made = session()
    old = made.tasks.request
    keys(made, "2", "/", *"crew:support", "enter")
    made.tasks.answer(old, TaskPage(NOW, (task(1),), False))
    assert made.tasks.loading


def test_every_command_has_a_key_of_its_own_in_each_view() -> None:
    for view in View:
        used = [key for command in COMMANDS if view in command.views for key in command.keys]
        assert len(used) == len(set(used)), view


def test_help_and_palette_know_every_command() -> None:
    made = session()
    keys(made, "2", "?")
    shown = picture(made, 200, 60)
    for command in COMMANDS:
        if View.TASKS in command.views:
            assert command.name.replace("_", " ")[:10].strip() in shown


def test_acting_keys_are_capitals_or_far_from_reading_keys() -> None:
    acting = {key for command in COMMANDS if command.acting for key in command.keys}
    assert acting == {*"RFUCNMBXAPSuDHK<>="}


@pytest.mark.parametrize("view", ["1", "4", "5", "c"])
@pytest.mark.parametrize("key", ["R", "F", "U", "C", "N", "M", "B", "X"])
def test_keys_that_act_on_tasks_say_where_they_do_so(view: str, key: str) -> None:
    made = session()
    keys(made, view, key)
    assert made.overlay is None
    assert "that key acts on tasks: open a list or a task first" in picture(made)


@given(st.lists(st.sampled_from(sorted({k for c in COMMANDS for k in c.keys} | set("abz:/ 0"))), max_size=30))
@settings(max_examples=60, deadline=None)
def test_no_key_in_no_order_breaks_the_picture(pressed: list[str]) -> None:
    made = session()
    for key in pressed:
        made.press(key)
        if isinstance(made.page, Detail):
            made.page.answer(Story(STUCK.task.id), STUCK)
        for size in ((80, 24), (40, 10)):
            assert len(made.frame(*size)) == size[1]


def hostile_detail(text: str) -> TaskDetail:
    row = task(48_201, "failed", crew=text, queue=text, agent=text, activity=text, error=text, worker_id=text)
    run = replace(STUCK.runs[1], worker_id=text, error_type=text, error=excerpt(text), traceback=excerpt(text))
    call = replace(STUCK.calls[0], model=text, agent=text, error=text)
    step = replace(STUCK.steps[0], agent=text, name=text)
    change = replace(STUCK.history[0], actor=text, reason=text)
    return replace(STUCK, task=row, inputs=excerpt(text), runs=(run,), steps=(step,), calls=(call,), history=(change,))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_it_is_and_obeyed_nowhere(text: str) -> None:
    made = session()
    queues = (
        replace(
            BUSY.queues[0], name=text, paused=True, paused_by=text, paused_reason=text, oldest=60.0, no_worker=(text,)
        ),
    )
    workers = (replace(BUSY.workers[0], id=text, host=text, crews=(text,), queues=(text,)),)
    running = (replace(BUSY.running[0], crew=text, queue=text, agent=text, worker_id=text, stuck=text, activity=text),)
    made.take(
        replace(BUSY, database=text, queues=queues, workers=workers, running=running, redis=Health(False, None, text))
    )
    made.tasks.answer(made.tasks.request, TaskPage(NOW, (hostile_detail(text).task,), False))
    frames = [picture(made, 200, 50)]
    for key in ("enter", "/"):
        made.press(key)
    made.paste(text)
    frames.append(picture(made))
    for key in ("enter", "escape", "4"):
        made.press(key)
    frames.append(picture(made))
    made.press("2")
    made.tasks.narrow(TaskFilter())
    made.tasks.answer(made.tasks.request, TaskPage(NOW, (hostile_detail(text).task,), False))
    made.press("down")
    made.press("R")
    frames.append(picture(made))
    for key in ("escape", "enter"):
        made.press(key)
    made.page.answer(Story(48_201), hostile_detail(text))
    made.page.told(RunLog(9_044), LogLines((text, *LOG)))
    for key in ("s", "i", "o", "e", "l", "h"):
        made.press(key)
        frames.append(picture(made))
    made.fail(text)
    frames.append(picture(made))
    made.say(text)
    frames.append(picture(made))
    for frame in frames:
        bad = [c for c in frame.replace("\n", "") if not c.isprintable()]
        assert bad == []
    if text.isprintable():
        assert text in frames[0]


def test_output_that_is_told_from_its_beginning_again_is_shown_once() -> None:
    """As after a look at another view, or a stream that broke."""
    made = session()
    keys(made, "2", "enter", "l")
    made.page.answer(made.page.want, STUCK)
    stream = made.page.stream
    assert stream is not None
    for _ in range(2):
        made.page.begin(stream)
        made.page.told(stream, LogLines(("the only line",)))
    assert picture(made).count("the only line") == 1


def test_a_slow_database_is_not_a_dead_one() -> None:
    """It is asked less often: what it said last is true until it is asked again, and can be acted on."""
    made = session()
    made.pause = 18.0
    made.picture._clock.now = 17.0  # type: ignore[attr-defined]
    assert not made.stale
    assert made.refusal() is None
    assert " 18s " in picture(made).splitlines()[0]


@pytest.mark.parametrize("interval", [0.5, 1.0, 30.0])
def test_a_database_that_is_quick_enough_leaves_the_header_alone(interval: float) -> None:
    made = session(interval=interval)
    before = picture(made)
    made.pause = interval * 1.9
    assert picture(made) == before


@pytest.mark.parametrize("between", ["enter", "/", "down", "1"])
def test_a_question_that_comes_late_does_not_take_the_keys_of_what_is_done_since(between: str) -> None:
    """Counting takes seconds; Enter was meant for something else by then."""
    made = session()
    effect = keys(made, "2", "A", "R")
    assert isinstance(effect, Price)
    keys(made, between)
    made.priced(effect, SCOPE)
    assert made.overlay is None
    assert "not asked: a key was pressed meanwhile" in picture(made)


def test_that_something_is_being_counted_is_said() -> None:
    made = session()
    keys(made, "2", "A", "R")
    assert "counting" in picture(made)


def test_marks_made_meanwhile_outlive_the_outcome_of_something_else() -> None:
    made = session()
    keys(made, "2", *["down"] * 9, "space", "space")
    done = ItemOutcome(47_802, True, "retried")
    made.acted(OperationResult(operation(Action.RETRY, 1, "done"), (done,)))
    assert list(made.tasks.marks.things) == [47_801]
    made.ended(operation(Action.RETRY, 96, "done"), {})
    assert list(made.tasks.marks.things) == [47_801]


def test_what_is_wrong_in_files_is_said_until_it_is_mended(tmp_path: Path) -> None:
    made = session(first_run=True)
    keys_file = tmp_path / "keys.toml"
    for wrong in ("retri = []", "retry = 1", "retry = 2"):
        keys_file.write_text(wrong)
        made.adopt(Files(ScreenOptions(keys_file=keys_file)))
        assert len(made.message) == 2
    keys_file.unlink()
    made.adopt(Files(ScreenOptions(keys_file=keys_file)))
    assert [text for text, _ in made.message] == [FIRST_RUN]


def test_updating_more_often_begins_at_once() -> None:
    assert keys(session(interval=30.0), "-") == Refresh()


def test_that_there_is_no_live_output_is_said() -> None:
    made = session()
    keys(made, "#", *"48201", "enter", "l")
    made.page.answer(made.page.want, STUCK)
    assert made.page.stream is not None
    made.page.told(made.page.stream, LogLines((), note="no live log: redis is away"))
    assert "no live log: redis is away" in picture(made)
    made.page.told(made.page.stream, LogLines(("here again",)))
    assert "no live log" not in picture(made)


def test_what_the_screen_itself_does_is_in_the_registry() -> None:
    assert set(DOES) <= {command.name for command in COMMANDS}
