"""What the view of the workers says about given data, and what its keys do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.snapshot import Snapshot, WorkerRow
from crewtop.tui.effects import Copy, Drain, Effect, Kill, Open, Say, SetSlots
from crewtop.tui.manner import Manner
from crewtop.tui.views.cells import NO_TASK_HERE
from crewtop.tui.views.question import Question
from crewtop.tui.views.workers import ASKED_FOR, Workers
from tests.tui.fixtures import BUSY, EMPTY, HOSTILE, WORKERS

DB1, DB2, DB3, BATCH = WORKERS


def workers(snapshot: Snapshot = BUSY) -> Workers:
    view = Workers(Manner(), None)
    view.take(snapshot)
    return view


def shown(view: Workers, width: int = 120, height: int = 35) -> list[str]:
    return [line.text for line in view.lines(width, height)]


def of(*rows: WorkerRow) -> Snapshot:
    return replace(BUSY, workers=rows)


def done(view: Workers, *commands: str) -> Effect | Question | None:
    return [view.do(command, 20) for command in commands][-1]


@pytest.mark.parametrize(
    ("commands", "effect"),
    [
        (("open",), Open(48_977)),  # the longest of those that run on the first worker
        (("other_list", "down", "open"), Open(48_978)),
        (("down", "open"), Open(48_201)),
        (("last", "open"), Say("batch.eu-west-1.internal runs nothing now")),
        (("copy",), Copy(DB1.id)),
        (("other_list", "down", "copy"), Copy("48978")),
        (("more_slots",), SetSlots(DB1.id, 13)),
        (("down", "more_slots", "more_slots"), SetSlots(DB2.id, 16)),
        (("fewer_slots",), SetSlots(DB1.id, 11)),
        (("down", "down", "more_slots"), Say("slots stay: db3 is draining", "watch")),
        (("down", "down", "drain"), Say("not drained: db3 is draining", "watch")),
        (("last", "kill"), Say("not killed: batch.eu-west-1.internal is late", "watch")),
        (("act_on_tasks",), NO_TASK_HERE),
    ],
)
def test_what_keys_do(commands: tuple[str, ...], effect: Effect) -> None:
    assert done(workers(), *commands) == effect


@pytest.mark.parametrize(
    ("commands", "said", "effect"),
    [
        (("drain",), "12 running there may finish first", Drain(DB1.id)),
        (("kill",), "12 running there go back to their queues", Kill(DB1.id)),
        (("down", "down", "kill"), "3 running there go back to their queues", Kill(DB3.id)),
    ],
)
def test_what_ends_a_worker_asks_first(commands: tuple[str, ...], said: str, effect: Effect) -> None:
    question = done(workers(), *commands)
    assert isinstance(question, Question)
    assert said in "".join(line.text for line in question.lines(160, Manner()))
    assert question.press("enter") == effect


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("40", SetSlots(DB1.id, 40)),
        ("0", SetSlots(DB1.id, 0)),
        ("1001", True),
        ("-1", True),
        ("many", True),
        ("", True),
    ],
)
def test_many_slots_are_asked_for_at_once(typed: str, answer: SetSlots | bool) -> None:
    question = done(workers(), "slots")
    assert isinstance(question, Question)
    for key in typed:
        question.press(key)
    assert question.press("enter") == answer
    assert ("use 0 to 1,000" in "".join(line.text for line in question.lines(100, Manner()))) is (answer is True)


def test_slots_that_were_asked_for_are_shown_until_the_worker_has_them() -> None:
    view = workers(of(DB1))
    done(view, "more_slots")
    assert "12/12 → 13" in shown(view)[2]
    view.take(of(replace(DB1, slots=13, desired_slots=13)))
    assert "12/13 " in shown(view)[2]
    assert "→" not in shown(view)[2]


@pytest.mark.parametrize("size", [(200, 45), (120, 35), (80, 19), (60, 15), (40, 6)])
def test_workers_of_one_host_can_be_told_apart_on_every_screen(size: tuple[int, int]) -> None:
    two = (replace(DB1, id="db1:17:5e6f0a1b"), replace(DB1, id="db1:18:c0ffee11"))
    text = "\n".join(shown(workers(of(*two)), *size))
    assert "5e6f0a1b" in text
    assert "c0ffee11" in text


def test_columns_for_clocks_and_versions_are_there_where_they_say_something() -> None:
    assert not {"CLOCK", "VERSION"} & set(shown(workers())[1].split())
    text = "\n".join(shown(workers(of(DB1, replace(DB2, clock_offset=-3.4, version="0.2.0"))), 200))
    assert "CLOCK" in text
    assert "-3s" in text
    assert "0.2.0" in text


def test_a_draining_worker_says_how_long_it_will_wait() -> None:
    assert "3/8 22s left" in "\n".join(shown(workers(of(replace(DB3, drain_seconds_left=22.4)))))


def test_runs_beyond_the_slots_stand_aside() -> None:
    (line,) = [line for line in shown(workers(of(replace(WORKERS[0], slots=6, busy=8)))) if "6/6" in line]
    assert "6/6 +2" in line


def test_a_healthy_heartbeat_does_not_tick() -> None:
    view = workers()
    before = shown(view)
    older = (replace(w, heartbeat_age=w.heartbeat_age + 1) if w.state == "running" else w for w in WORKERS)
    view.take(of(*older))
    assert shown(view) == before


def test_the_cursor_among_runs_stays_on_its_task_and_escape_leads_back() -> None:
    view = workers()
    done(view, "other_list", "down")
    assert not view.at_rest
    view.take(replace(BUSY, running=tuple(task for task in BUSY.running if task.task_id != 48_978)))
    assert done(view, "open") == Say("what was under the cursor has ended: choose again")
    done(view, "back")
    assert view.at_rest
    assert done(view, "open") == Open(48_977)


def test_a_click_moves_the_cursor_and_another_one_opens() -> None:
    view = workers()
    y = next(y for y, line in enumerate(shown(view)) if "db2" in line)
    assert view.click(y) is None
    assert view.click(y) == Open(48_201)
    y = next(y for y, line in enumerate(shown(view)) if "48201" in line)
    view.click(y)
    assert view.in_runs
    assert view.click(y) == Open(48_201)
    assert view.click(0) is None


def test_the_first_time_it_says_what_to_type() -> None:
    text = "\n".join(shown(workers(EMPTY), 80, 19))
    assert "No worker has reported yet." in text
    assert "crewtop worker" in text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_shown_and_not_obeyed(text: str) -> None:
    view = workers(of(replace(DB1, id=text, host=text, version=text, crews=(text,), queues=(text,)), DB2))
    question = done(view, "kill")
    assert isinstance(question, Question)
    asked = [line.text for line in question.lines(100, Manner())]
    assert all(line.isprintable() for line in [*shown(view), *asked])


def test_slots_that_nobody_got_are_not_counted_on_for_long() -> None:
    """As after an order that failed: the next key begins from what is."""
    view = workers()
    done(view, "more_slots")
    view.take(replace(view.snapshot, at=view.snapshot.at + ASKED_FOR))  # type: ignore[type-var,union-attr]
    assert done(view, "more_slots") == SetSlots(DB1.id, 13)
