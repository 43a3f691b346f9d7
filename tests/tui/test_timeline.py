"""A task's life as bars: what each row says, and where its pieces lie on the axis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.detail import TaskDetail, ToolRow
from crewtop.tui.manner import Manner
from crewtop.tui.paint import width
from crewtop.tui.views.bars import CALLS_APART, bars
from crewtop.tui.views.story import Story
from crewtop.tui.views.timeline import Axis, rows
from tests.tui.fixtures import COMPLETED, HOSTILE, NOW, STUCK, ago, call, usd


def told(detail: TaskDetail, calls: bool = False) -> list[tuple[str, str]]:
    return [(bar.label.strip(), bar.took) for bar in bars(detail, Manner(), calls=calls)]


def drawn(detail: TaskDetail, cells: int, calls: bool = True, manner: Manner | None = None) -> list[str]:
    return [draw().text for _, draw in rows(detail, cells, manner or Manner(), calls=calls)]


def with_calls(*calls: object) -> TaskDetail:
    """One finished run of 32 s with a single step and these calls."""
    return replace(COMPLETED, calls=calls)


def test_the_timeline_tells_runs_waits_steps_and_what_was_kept() -> None:
    assert told(STUCK) == [
        ("run 1  db1-7c2e91", "2m04s"),
        ("Researcher", "54s"),
        ("Analyst", "1m09s"),
        ("backing off", "20s"),
        ("run 2  db2-19aa04", "4m12s"),
        ("Researcher", "kept"),
        ("Analyst", "4m11s"),
        ("now", ""),
    ]


def test_calls_stand_inside_their_step() -> None:
    assert told(STUCK, calls=True)[:7] == [
        ("run 1  db1-7c2e91", "2m04s"),
        ("Researcher", "54s"),
        ("gpt-4.1", "9.2s"),
        ("tool search_knowledge_base", "8.5s"),
        ("gpt-4.1", "14s"),
        ("Analyst", "1m09s"),
        ("gpt-4.1", "1m"),
    ]


def test_a_call_that_waits_says_for_how_long_and_has_an_open_end() -> None:
    last = drawn(STUCK, 100)[-1]
    assert "▶     gpt-4.1" in last
    assert "─▶" in last
    assert "4m10s" in last


def test_calls_of_no_step_stand_before_the_steps() -> None:
    detail = with_calls(call(9_190, 0, "Order clerk", 120, 4.0, step_position=None))
    assert [label for label, _ in told(detail, calls=True)][1:] == ["run 1  db1-7c2e91", "gpt-4.1", "Order clerk"]


def test_many_calls_of_a_step_share_one_row_with_their_sum() -> None:
    calls = [call(9_190, 1, "Order clerk", 126 - 2 * i, 1.0) for i in range(CALLS_APART + 6)]
    detail = with_calls(*calls)
    assert told(detail, calls=True)[-1] == ("12 calls", "12s")
    row = drawn(detail, 120)[-1]
    assert row.count("─") >= 12
    assert "─ ─" in row
    assert row.rstrip().endswith("$0.18")


def test_the_time_until_a_failed_call_was_tried_again_is_a_wait() -> None:
    detail = with_calls(
        call(9_190, 1, "Order clerk", 126, 2.0, outcome="rate_limited", error="429", cost=usd("0", calls=1)),
        call(9_190, 1, "Order clerk", 108, 4.0),
    )
    first, second = drawn(detail, 120)[-2:]
    assert "░" not in first
    assert "░─" in second


@pytest.mark.parametrize(("status", "label"), [("retry", "backing off"), ("waiting", "for others")])
def test_what_does_not_run_now_says_what_it_waits_for(status: str, label: str) -> None:
    run = replace(STUCK.runs[1])
    detail = replace(STUCK, task=replace(STUCK.task, status=status, stuck=None), runs=(run,), steps=(), calls=())
    assert told(detail)[-1][0] == label


def used(number: int, at: float, seconds: float | None = 1.0, **changes: object) -> ToolRow:
    return replace(ToolRow(9_190, number, 1, "look_up_order", "ok", None, ago(at), seconds), **changes)  # type: ignore[arg-type]


def test_tools_stand_among_the_calls_as_they_followed_each_other() -> None:
    calls = (call(9_190, 1, "Order clerk", 126, 2.0), call(9_190, 1, "Order clerk", 110, 4.0))
    detail = replace(COMPLETED, calls=calls, tools=(used(1, 120), used(2, 119, outcome="error", error="no such order")))
    assert [label for label, _ in told(detail, calls=True)][-4:] == [
        "gpt-4.1", "tool look_up_order", "tool look_up_order", "gpt-4.1",
    ]  # fmt: skip
    assert "╌" in drawn(detail, 120)[-2]
    assert "tool" not in "".join(drawn(detail, 120, calls=False))


def test_many_uses_of_tools_share_one_row() -> None:
    detail = replace(COMPLETED, tools=tuple(used(n, 126 - 2 * n) for n in range(1, CALLS_APART + 2)))
    assert ("7 uses of tools", "7s") in told(detail, calls=True)


def test_a_tool_that_is_used_now_has_an_open_end_and_needs_no_line_of_its_own() -> None:
    tool = ToolRow(9_120, 1, 2, "read_page", "started", None, ago(20), None)
    detail = replace(STUCK, task=replace(STUCK.task, activity="tool read_page"), calls=(), tools=(tool,))
    assert told(detail, calls=True)[-1] == ("tool read_page", "20s")
    assert "now" not in "".join(drawn(detail, 120))


def test_the_tool_that_is_used_now_is_told_as_far_as_it_is_known() -> None:
    detail = replace(STUCK, task=replace(STUCK.task, activity="tool lookup_order"), calls=(), tools=())
    row = drawn(detail, 80)[-1]
    assert "now" in row
    assert "tool lookup_order" in row
    assert "tool" not in "".join(drawn(COMPLETED, 80))


def test_hours_of_waiting_do_not_squeeze_the_run() -> None:
    long_wait = replace(COMPLETED, task=replace(COMPLETED.task, created_at=NOW.replace(hour=1)))
    found = bars(long_wait, Manner())
    axis = Axis(found, 60)
    run = next(bar for bar in found if bar.picture == "█")
    assert axis.place(run.end) - axis.place(run.start) > 40


@pytest.mark.parametrize("cells", [40, 60, 80, 120, 200])
def test_every_row_is_as_wide_as_the_others(cells: int) -> None:
    widths = {width(draw().spans) for _, draw in rows(STUCK, cells, Manner(), calls=True)}
    assert len(widths) == 1
    assert widths.pop() < cells - 2


def test_cost_and_time_stand_at_the_right_at_80_columns() -> None:
    assert drawn(STUCK, 80)[1].endswith("2m04s     ≥ $0.037")


def test_ascii_terminals_get_ascii() -> None:
    assert all(row.isascii() for row in drawn(STUCK, 80, manner=Manner(ascii_only=True)))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_shown_and_obeyed_nowhere(text: str) -> None:
    detail = replace(
        STUCK,
        task=replace(STUCK.task, activity=text),
        runs=tuple(replace(run, worker_id=text) for run in STUCK.runs),
        steps=tuple(replace(step, agent=text) for step in STUCK.steps),
        calls=tuple(replace(call, model=text) for call in STUCK.calls[:3]),
    )
    assert all(row.isprintable() for row in drawn(detail, 200))


def lines(story: Story, detail: TaskDetail, room: int) -> list[str]:
    return [line.text for line in story.lines(detail, 100, room)]


def test_calls_are_in_the_timeline_where_there_is_room_and_a_key_says_otherwise() -> None:
    story = Story(Manner())
    assert any("─" in line for line in lines(story, STUCK, 40))
    assert not any("─" in line for line in lines(story, STUCK, 15))
    story.expand()
    assert any("─" in line for line in lines(story, STUCK, 15))
    story.expand()
    assert not any("─" in line for line in lines(story, STUCK, 40))


def test_the_cursor_goes_from_run_to_run_and_on_to_the_calls_and_stays_in_sight() -> None:
    story = Story(Manner())
    story.lines(STUCK, 100, 10)
    seen = []
    for _ in range(20):
        assert sum(line.ground == "cursor" for line in story.lines(STUCK, 100, 10)) == 1
        assert story.under is not None
        seen.append(story.under.kind)
        story.scroll("down")
    assert seen[:6] == ["run", "step", "step", "run", "step", "step"]
    assert seen[-1] == "call"
    story.scroll("first")
    assert lines(story, STUCK, 10)[0].strip().startswith("TIMELINE")


def test_the_cursor_stays_where_it_is_when_a_call_is_added() -> None:
    story = Story(Manner())
    story.lines(COMPLETED, 100, 30)
    story.scroll("last")
    before = story.under
    more = replace(COMPLETED, calls=(*COMPLETED.calls, call(9_190, 1, "Order clerk", 100, 2.0)))
    story.lines(more, 100, 30)
    assert story.under == before


def test_calls_that_were_left_out_are_counted() -> None:
    text = "\n".join(lines(Story(Manner()), replace(STUCK, calls_total=2_400), 40))
    assert "the newest 4 of 2,400 calls" in text


def test_a_thousand_calls_fit() -> None:
    calls = tuple(call(9_044, 1 + i % 2, "Researcher", 390 - i / 10, 0.05, call_id=f"call {i}") for i in range(1_000))
    detail = replace(STUCK, calls=calls, calls_total=1_000)
    story = Story(Manner())
    assert len(story.lines(detail, 80, 20)) == 20
    story.scroll("last")
    assert story.lines(detail, 80, 20)[-1].ground == "cursor"


def test_a_run_that_no_worker_has_claimed_says_so() -> None:
    detail = replace(COMPLETED, runs=(), steps=(), calls=(), task=replace(COMPLETED.task, created_at=ago(0)))
    assert "No worker has claimed this task yet." in lines(Story(Manner()), detail, 20)[0]
