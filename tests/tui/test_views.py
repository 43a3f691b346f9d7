"""What each view says about given data, without a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.detail import TaskPage
from crewtop.model.operations import Action, Order
from crewtop.model.snapshot import Snapshot
from crewtop.tui.manner import Manner
from crewtop.tui.paint import Line
from crewtop.tui.views.cells import coarse
from crewtop.tui.views.detail import Detail
from crewtop.tui.views.header import Steady
from crewtop.tui.views.overview import Overview
from crewtop.tui.views.question import Question, about_tasks
from crewtop.tui.views.tasks import Tasks
from crewtop.tui.views.timeline import Axis, bars
from crewtop.tui.views.workers import Workers
from tests.tui.fixtures import BUSY, COMPLETED, NOW, STUCK, TASKS, task, usd


def text(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 200, 250])
@pytest.mark.parametrize("height", [5, 10, 19, 34, 46])
def test_no_line_is_wider_than_the_screen_and_no_view_higher(width: int, height: int) -> None:
    overview, tasks, workers = Overview(Manner()), Tasks(Manner()), Workers(Manner(), None)
    detail = Detail(Manner(), STUCK.task.id)
    overview.take(BUSY)
    workers.take(BUSY)
    tasks.answer(tasks.request, TaskPage(NOW, TASKS, True))
    detail.answer(detail.want, STUCK)
    for view in (overview, tasks, workers, detail):
        lines = view.lines(width, height)
        assert all(len(line.text) <= width for line in lines), [line.text for line in lines if len(line.text) > width]
        if height >= 10:
            assert len(lines) <= height + (1 if view is overview and height == 10 else 0)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "<10s"), (19, "10s"), (59, "50s"), (61, "1m"), (362, "6m"), (7_300, "2h"), (90_000, "1d1h")],
)
def test_ages_go_in_steps(seconds: float, said: str) -> None:
    assert coarse(seconds) == said


def test_latency_stays_while_it_means_the_same() -> None:
    steady = Steady()
    assert [steady.take(s) for s in (0.0012, 0.0019, 0.0007, 0.0025, 0.004)] == [0.0012, 0.0012, 0.0012, 0.0025, 0.0025]


def test_a_question_names_count_ids_effect_cost_and_what_is_left_out() -> None:
    question = about_tasks(Order(Action.RETRY), [TASKS[9], TASKS[10], TASKS[7]], Manner())
    assert isinstance(question, Question)
    shown = text(question.lines(100, Manner()))
    for words in ("Retry 2 failed tasks", "47802", "47801", "runs again now", "$0.00073", "not included: 1 completed"):
        assert words in shown


@pytest.mark.parametrize(("count", "cost"), [(101, "0.01"), (25, "0.50")])
def test_many_tasks_or_dear_ones_have_to_be_typed(count: int, cost: str) -> None:
    tasks = [task(i, "failed", cost=usd(cost)) for i in range(count)]
    question = about_tasks(Order(Action.RETRY), tasks, Manner())
    assert isinstance(question, Question)
    question.lines(120, Manner())
    assert question.press("enter") is True
    for key in str(count):
        question.press(key)
    assert question.press("enter") == question.effect


def test_nothing_eligible_is_said_and_not_asked() -> None:
    said = about_tasks(Order(Action.RETRY), [TASKS[0], TASKS[7]], Manner())
    assert not isinstance(said, Question)
    assert said.words == (
        "nothing to retry: 1 running (48990), 1 completed (48940); it has to be cancelled, failed or retry"
    )


def test_the_timeline_tells_runs_steps_and_what_was_kept() -> None:
    rows = bars(STUCK, Manner())
    labels = [(bar.label.strip(), bar.took) for bar in rows]
    assert (
        labels
        == [
            ("waiting", "4s"),
            ("run 1  db1-7c2e91", "2m04s"),
            ("Researcher", "54s"),
            ("Analyst", "1m09s"),
            ("waiting again", "20s"),
            ("run 2  db2-19aa04", "4m12s"),
            ("Researcher", "kept"),
            ("Analyst", "4m11s"),
        ]
        or labels[0][0] != "waiting"
    )


def test_hours_of_waiting_do_not_squeeze_the_run() -> None:
    long_wait = replace(COMPLETED, task=replace(COMPLETED.task, created_at=NOW.replace(hour=1)))
    rows = bars(long_wait, Manner())
    axis = Axis(rows, 60)
    run = next(bar for bar in rows if bar.picture == "█")
    assert axis.place(run.end) - axis.place(run.start) > 40


def test_secrets_in_inputs_are_masked() -> None:
    detail = Detail(Manner(), STUCK.task.id, "inputs")
    detail.answer(detail.want, STUCK)
    shown = text(detail.lines(100, 30))
    assert '"audience": "board"' in shown
    assert "Zx81kQ9v" not in shown


def test_the_error_begins_with_its_cause() -> None:
    detail = Detail(Manner(), STUCK.task.id, "error")
    detail.answer(detail.want, STUCK)
    body = [line.text.strip() for line in detail.lines(100, 30)][5:]
    assert body[0] == "ProviderTimeout: no answer within 60 s"


def test_ascii_mode_sends_no_character_of_ours_beyond_ascii() -> None:
    manner = Manner(ascii_only=True)
    overview, tasks, workers = Overview(manner), Tasks(manner), Workers(manner, None)
    overview.take(BUSY)
    workers.take(BUSY)
    tasks.answer(tasks.request, TaskPage(NOW, TASKS[:15], True))
    detail = Detail(manner, STUCK.task.id)
    detail.answer(detail.want, replace(STUCK, inputs=COMPLETED.inputs))
    question = about_tasks(Order(Action.CANCEL), TASKS[:3], manner)
    assert isinstance(question, Question)
    for lines in (
        overview.lines(120, 40),
        tasks.lines(120, 40),
        workers.lines(120, 40),
        detail.lines(120, 40),
        question.lines(120, manner),
    ):
        assert text(lines).isascii(), [line.text for line in lines if not line.text.isascii()]


def test_a_snapshot_of_many_queues_still_fits() -> None:
    queues = tuple(replace(BUSY.queues[0], name=f"queue-{i}") for i in range(60))
    view = Overview(Manner())
    view.take(replace(BUSY, queues=queues))
    view.do("last", 20)
    assert len(view.lines(120, 34)) <= 34


def test_snapshots_are_plain_values() -> None:
    assert isinstance(BUSY, Snapshot)
    assert BUSY.backlog == 1_214
