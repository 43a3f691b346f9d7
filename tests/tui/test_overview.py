"""What the overview says about given data, and what its keys do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.filters import TaskFilter
from crewtop.model.problems import problems
from crewtop.model.snapshot import Health, QueueRow, Snapshot
from crewtop.model.task import TaskStatus
from crewtop.tui.actions import COMMANDS, View
from crewtop.tui.effects import Effect, Go, Open, PauseQueue, Say
from crewtop.tui.keymap import Keymap
from crewtop.tui.manner import Manner
from crewtop.tui.views import header
from crewtop.tui.views.cells import NO_TASK_HERE, left, step_words
from crewtop.tui.views.overview import Overview
from crewtop.tui.views.question import Question
from tests.tui.fixtures import BUSY, EMPTY, HELD_BACK, INCIDENT, QUEUES, RUNNING, SERIES, WORKERS, ago


def overview(snapshot: Snapshot = BUSY) -> Overview:
    view = Overview(Manner())
    view.take(snapshot)
    return view


def shown(view: Overview, width: int = 200, height: int = 45) -> list[str]:
    return [line.text for line in view.lines(width, height)]


def only(queue: QueueRow) -> Snapshot:
    return replace(EMPTY, queues=(queue,), redis=Health(True))


HELD = (
    "research stays held: its budget is spent: $44.03 of $40.00; it goes on at 2026-03-15 00:00Z,"
    " or once you raise [llm.budgets] queue.research and restart a worker"
)


def on_research(snapshot: Snapshot) -> Overview:
    view = overview(snapshot)
    view.selection.place([key.name for key in view.selection.keys].index("research"))
    return view


def test_p_on_a_queue_that_a_budget_holds_says_which_and_how_to_lift_it() -> None:
    assert on_research(HELD_BACK).do("pause_queue", 20) == Say(HELD, "watch")


def test_p_on_a_paused_queue_says_beforehand_what_will_hold_it_still() -> None:
    paused = tuple(replace(queue, by_budget=False) for queue in HELD_BACK.queues)
    asked = on_research(replace(HELD_BACK, queues=paused)).do("pause_queue", 20)
    assert isinstance(asked, Question)
    assert [span.text for spans in asked.said for span in spans] == [HELD]
    assert asked.effect == PauseQueue("research", paused=False)
    asked = on_research(BUSY).do("pause_queue", 20)
    assert isinstance(asked, Question)
    assert [span.text for spans in asked.said for span in spans] == ["workers claim from it again: 391 ready"]


@pytest.mark.parametrize(
    ("snapshot", "effect", "said"),
    [
        (only(QUEUES[0]), Go(View.TASKS, TaskFilter(queues=("support",))), "its tasks"),
        (
            only(QueueRow("q", ended=6, error_rate=1.0)),
            Go(View.TASKS, TaskFilter(queues=("q",), statuses=(TaskStatus.FAILED,))),
            "its tasks",
        ),
        (replace(EMPTY, redis=Health(False)), Go(View.WORKERS), "workers"),
        (replace(EMPTY, workers=WORKERS[3:]), Go(View.WORKERS), "workers"),
        (replace(EMPTY, providers=HELD_BACK.providers), Go(View.MODELS), "models"),
        (replace(EMPTY, running=RUNNING), Open(48_201), "the task"),
    ],
)
def test_a_problem_leads_to_what_it_is_about(snapshot: Snapshot, effect: Effect, said: str) -> None:
    view = overview(snapshot)
    view.do("first", 20)
    assert view.do("open", 20) == effect
    assert f"⏎ {said}" in next(line for line in shown(view) if line.startswith("▌"))


def test_stuck_tasks_that_are_not_named_are_among_the_running() -> None:
    view = overview(replace(EMPTY, running=tuple(replace(RUNNING[0], task_id=n) for n in range(9))))
    for command in ("first", *["down"] * 5):
        view.do(command, 20)
    assert view.do("open", 20) == Go(View.TASKS, TaskFilter(statuses=(TaskStatus.RUNNING,)))


def test_a_queue_in_which_all_fails_is_a_red_line() -> None:
    lines = overview(only(QueueRow("q", ended=6, error_rate=1.0))).lines(80, 19)
    (line,) = [line for line in lines if "6 of 6 runs failed" in line.text]
    assert ("● ", "wrong") in [(span.text, span.role) for span in line.spans]


def test_problems_that_do_not_fit_are_counted_and_within_reach() -> None:
    view = overview(INCIDENT)
    assert any("and 11 more: ↑ ↓ go through all" in line for line in shown(view, 80, 19))
    for _ in problems(INCIDENT):
        view.do("up", 19)
    assert shown(view, 80, 19)[1].startswith("▌ ▲ redis")
    for _ in problems(INCIDENT)[1:]:
        view.do("down", 19)
    assert any(line.startswith("▌ ▲ db3-e5b077  draining 3") for line in shown(view, 80, 19))


def test_needy_and_busy_queues_come_first_whatever_a_tick_brings() -> None:
    quiet, busy, late = QueueRow("a"), QueueRow("b", running=1), QueueRow("c", level=0.5)

    def order(*queues: QueueRow) -> list[str]:
        lines = shown(overview(replace(EMPTY, queues=queues)))
        table = lines[next(i for i, line in enumerate(lines) if line.startswith("  QUEUE")) :]
        return [line[2] for line in table[1:4]]

    assert order(quiet, busy, late) == ["c", "b", "a"]
    assert order(quiet, replace(busy, ready=900), replace(late, ready=7)) == ["c", "b", "a"]


def test_queues_that_are_cut_off_are_counted() -> None:
    queues = tuple(QueueRow(f"q{n:02}", running=1) for n in range(20))
    view = overview(replace(INCIDENT, queues=queues))
    for width, height in ((80, 19), (60, 15)):
        lines = shown(view, width, height)
        seen = sum(line[2:].startswith("q") for line in lines)
        assert f"and {20 - seen} more queues" in lines[-1]
    for _ in queues:
        view.do("down", 19)
        assert any(line.startswith("▌") for line in shown(view, 80, 19))


def test_spend_is_a_pace_with_the_last_hour_beside_it() -> None:
    assert any("$2.92/h  $3.41 in 1h" in line for line in shown(overview()))


def test_in_the_first_minute_the_figure_and_the_table_say_the_same() -> None:
    point = replace(SERIES[-1], at=ago(1), arrived=8, done=2)
    still = [replace(point, at=ago(10 * n + 1), arrived=0, done=0, backlog=0, spend=0.0) for n in range(89, 0, -1)]
    first = replace(EMPTY, series=(*still, point), queues=(QueueRow("q", done_per_minute=12.0),))
    lines = shown(overview(first), 140)
    assert any("12/m  in 48/m" in line for line in lines)


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


def test_no_more_slots_are_busy_than_there_are() -> None:
    ahead = replace(BUSY, workers=(replace(WORKERS[0], slots=6, busy=7),))
    assert "6/6 slots" in header.top(ahead, (0.001, 0.001), True, (), 1.0, 160, Manner()).text


@pytest.mark.parametrize("cells", [40, 60, 80, 100, 120, 160])
@pytest.mark.parametrize("view", list(View))
def test_the_key_for_help_is_told_on_every_width(view: View, cells: int) -> None:
    said = header.tabs(view, Keymap(COMMANDS), cells, Manner()).text
    assert said.endswith("? help ")
    assert ("7 Op" in said) == (cells >= 80 or view is View.OPERATIONS)
    assert (": command" in said) or cells < 120


def test_nothing_spent_is_a_dash_and_a_partly_known_sum_a_lower_bound() -> None:
    lines = shown(overview())
    assert "≥ $48.20" in next(line for line in lines if "‖research" in line)
    nightly = next(line for line in lines if line.startswith("▌ nightly "))
    assert "?" not in nightly


def test_why_says_what_holds_ready_tasks_and_is_left_out_where_nothing_does() -> None:
    lines = shown(overview())
    assert "paused by dana@ops1" in next(line for line in lines if "‖research" in line)
    assert "no worker for translate" in next(line for line in lines if line.startswith("▌ nightly "))
    assert "WHY" not in "".join(shown(overview(replace(BUSY, queues=QUEUES[2:4]))))


@pytest.mark.parametrize(
    ("commands", "effect"),
    [
        (("open",), Go(View.TASKS, TaskFilter(queues=("nightly",)))),
        (("first", "open"), Go(View.TASKS, TaskFilter(queues=("support",)))),
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
