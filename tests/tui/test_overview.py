"""What the overview says about given data, and what its keys do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.filters import TaskFilter
from crewtop.model.snapshot import Health, Percentiles, QueueRow, Snapshot, Throttle
from crewtop.model.task import TaskStatus
from crewtop.tui.actions import View
from crewtop.tui.effects import Effect, Go, Open
from crewtop.tui.manner import Manner
from crewtop.tui.views import header
from crewtop.tui.views.cells import NO_TASK_HERE, left, step_words
from crewtop.tui.views.overview import Overview
from crewtop.tui.views.problems import problems
from tests.tui.fixtures import BUSY, EMPTY, QUEUES, WORKERS


def overview(snapshot: Snapshot = BUSY) -> Overview:
    view = Overview(Manner())
    view.take(snapshot)
    return view


def shown(view: Overview, width: int = 200, height: int = 45) -> list[str]:
    return [line.text for line in view.lines(width, height)]


def only(queue: QueueRow) -> Snapshot:
    return replace(EMPTY, queues=(queue,), redis=Health(True))


def test_the_worst_comes_first() -> None:
    assert [problem.kind for problem in problems(BUSY)] == [
        "dead worker",
        "no worker",
        "late",
        "stuck",
        "draining",
        "paused",
    ]


@pytest.mark.parametrize(
    ("queue", "said", "leads"),
    [
        (QUEUES[0], "only 92.4% start within their service level: 812 ready, oldest 6m", ("support", ())),
        (QUEUES[1], "paused by dana@ops1: provider invoice unclear, 391 ready, oldest 40s", ("research", ())),
        (QUEUES[4], "no live worker has the crew translate: 6 ready, oldest 1m", ("nightly", ())),
        (
            QueueRow("q", ready=3, throttled=(Throttle("support", "openai", 21), Throttle("briefing", "google", 90))),
            "throttled: support by openai, resumes in 30s; briefing by google, resumes in 2m: 3 ready",
            ("q", ()),
        ),
        (
            QueueRow("q", failed=7, error_rate=0.25, run=Percentiles(40, 1, 2, 3)),
            "25.0% of its runs fail: 7 tasks failed for good",
            ("q", (TaskStatus.FAILED,)),
        ),
    ],
)
def test_a_problem_of_a_queue_says_how_much_and_leads_to_its_tasks(
    queue: QueueRow, said: str, leads: tuple[str, tuple[TaskStatus, ...]]
) -> None:
    (problem,) = problems(only(queue))
    assert problem.words == said
    assert problem.opens == Go(View.TASKS, TaskFilter(queues=leads[:1], statuses=leads[1]))
    assert problem.leads == "its tasks"


def test_a_few_failed_runs_are_no_failing_queue() -> None:
    assert problems(only(QueueRow("q", error_rate=0.5, run=Percentiles(4, 1, 2, 3)))) == []


def test_a_clock_that_is_off_is_a_problem_and_one_that_is_nearly_right_is_none() -> None:
    workers = tuple(replace(WORKERS[0], id=f"w{off}", clock_offset=off) for off in (-3.2, 0.4, None))
    (problem,) = problems(replace(EMPTY, workers=workers))
    assert (problem.name, problem.words) == ("w-3.2", "its clock is off by -3s")


def test_a_dead_redis_is_a_problem_that_says_what_it_means() -> None:
    down = replace(BUSY, redis=Health(False, None, "connection refused"))
    assert "by polling" in next(problem.words for problem in problems(down) if problem.kind == "redis")


def test_two_dead_workers_of_one_host_are_two_problems() -> None:
    workers = tuple(replace(WORKERS[3], id=f"batch:7:{boot}") for boot in ("aa", "bb"))
    view = overview(replace(BUSY, workers=workers))
    assert len([line for line in shown(view) if "no heartbeat for 1m, 1 running there" in line]) == 2


def test_a_problem_says_where_enter_leads_where_there_is_room() -> None:
    assert any(line.endswith("⏎ workers ") for line in shown(overview(), 80, 19))
    assert not any("⏎" in line for line in shown(overview(), 60, 15))


def test_dead_workers_count_for_no_slots() -> None:
    top = header.top(BUSY, (0.001, 0.001), True, (), 1.0, 160, Manner()).text
    assert "24/32 slots" in top
    dead = replace(BUSY, workers=WORKERS[3:])
    assert "no worker" in header.top(dead, (0.001, 0.001), True, (), 1.0, 160, Manner()).text


def test_nothing_spent_is_a_dash_and_a_partly_known_sum_a_lower_bound() -> None:
    lines = shown(overview())
    assert "≥ $48.20" in next(line for line in lines if "‖research" in line)
    nightly = next(line for line in lines if line.split()[:2] == ["nightly", "6"])
    assert "?" not in nightly


def test_why_says_what_holds_ready_tasks_and_is_left_out_where_nothing_does() -> None:
    lines = shown(overview())
    assert "paused by dana@ops1" in next(line for line in lines if "‖research" in line)
    assert "no worker for translate" in next(line for line in lines if line.split()[:2] == ["nightly", "6"])
    assert "WHY" not in "".join(shown(overview(replace(BUSY, queues=QUEUES[2:4]))))


@pytest.mark.parametrize(
    ("commands", "effect"),
    [
        (("open",), Go(View.TASKS, TaskFilter(queues=("support",)))),
        (("first", "open"), Go(View.WORKERS)),
        (("first", "down", "down", "down", "open"), Open(48_201)),
        (("last", "log"), Open(48_983, "log")),
        (("act_on_tasks",), NO_TASK_HERE),
    ],
)
def test_what_keys_do(commands: tuple[str, ...], effect: Effect) -> None:
    view = overview()
    assert [view.do(command, 20) for command in commands][-1] == effect


def test_a_click_moves_the_cursor_and_another_one_opens() -> None:
    view = overview()
    y = next(y for y, line in enumerate(shown(view)) if line.startswith("  product "))
    assert view.click(y) is None
    assert shown(view)[y].startswith("▌ product")
    assert view.click(y) == Go(View.TASKS, TaskFilter(queues=("product",)))
    assert view.click(0) is None
    assert view.click(400) is None


def test_the_cursor_is_always_in_sight() -> None:
    for width, height in ((200, 45), (80, 19), (60, 15), (40, 6)):
        view = overview()
        view.do("first", height)
        for _ in range(len(view.selection.keys)):
            assert any(line.startswith("▌") for line in shown(view, width, height)), (width, view.selection.current)
            view.do("down", height)


def test_an_empty_shop_has_no_problem_and_no_false_figure() -> None:
    text = "\n".join(shown(overview(EMPTY), 120, 34))
    assert "No queue has a task yet." in text
    assert "$0" not in text


def test_what_ended_does_nothing_any_more() -> None:
    said = [step_words(1, 2, "Clerk", "gpt-4.1", Manner(), ended=ended).text for ended in (False, True)]
    assert said == ["1/2 Clerk · gpt-4.1", "1/2 Clerk"]


@pytest.mark.parametrize(("seconds", "said"), [(-3, "10s"), (1, "10s"), (21, "30s"), (60, "1m"), (61, "2m")])
def test_what_is_left_goes_in_steps_and_never_promises_too_much(seconds: float, said: str) -> None:
    assert left(seconds) == said
