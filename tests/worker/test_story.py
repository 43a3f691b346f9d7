"""What a worker makes of a run's events, and how it judges a run's end. Pure: tables of facts."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from crewtop.model.events import (
    CallEnded,
    CallStarted,
    Event,
    Loaded,
    Raised,
    Returned,
    StepEnded,
    StepStarted,
    ToolUsed,
)
from crewtop.model.ledger import CallEntry, Progress, StepEntry, ToolEntry
from crewtop.model.task import Claim, RunOutcome
from crewtop.worker.story import MOST_TOOLS, Story
from crewtop.worker.verdict import Backoff, Ending, verdict

CLAIM = Claim(7, 70, "default", "order", "{}")
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "cached_prompt_tokens": 40}


def entries(*events: Event) -> list[Any]:
    story = Story(CLAIM, {})
    return [entry for event in events for entry in story.tell(event)]


def calls(*events: Event) -> list[CallEntry]:
    return [entry for entry in entries(*events) if isinstance(entry, CallEntry)]


def started(call_id: str = "c", model: str = "gpt-4.1") -> CallStarted:
    return CallStarted(10.0, call_id, "openai", model, "clerk", 1)


def test_a_call_is_written_as_it_starts_and_priced_as_it_ends() -> None:
    first, last = calls(started(), CallEnded(12.5, "c", "ok", USAGE, "stop"))
    assert (first.outcome, first.cost, first.tokens) == ("started", None, None)
    assert last.cost == Decimal("0.0003")  # 60 at $2, 40 cached at $0.50, 20 at $8 a million
    assert (last.seconds, last.finish_reason, json.loads(last.usage or "")) == (2.5, "stop", USAGE)
    assert last.price_source.startswith("genai-prices ")


@pytest.mark.parametrize(
    ("outcome", "cost"), [("rate_limited", Decimal(0)), ("refused", Decimal(0)), ("error", None), ("timeout", None)]
)
def test_a_refused_call_is_free_and_a_broken_one_unknown(outcome: str, cost: Decimal | None) -> None:
    [_, last] = calls(started(), CallEnded(11.0, "c", outcome, error="why"))
    assert (last.cost, last.tokens, last.error) == (cost, None, "why")


def test_a_failed_call_that_was_billed_all_the_same_has_its_price() -> None:
    [_, last] = calls(started(), CallEnded(12.5, "c", "error", USAGE, error="content filter"))
    assert (last.outcome, last.cost) == ("error", Decimal("0.0003"))


def test_an_answer_without_usage_is_unknown() -> None:
    [_, last] = calls(started(), CallEnded(11.0, "c", "ok", None))
    assert (last.cost, last.tokens) == (None, None)
    assert last.price_source == "unknown: the provider reported no usage"


def test_an_end_without_a_start_and_a_second_end_change_nothing() -> None:
    assert calls(CallEnded(11.0, "c", "ok", USAGE)) == []
    assert len(calls(started(), CallEnded(11.0, "c", "ok", USAGE), CallEnded(12.0, "c", "error"))) == 2


def test_a_call_without_an_end_is_remembered() -> None:
    story = Story(CLAIM, {})
    story.tell(started("a"))
    story.tell(started("b"))
    story.tell(CallEnded(11.0, "a", "ok", USAGE))
    assert story.unanswered
    story.tell(CallEnded(11.0, "b", "ok", USAGE))
    assert not story.unanswered


@pytest.mark.parametrize("usage", [{"prompt_tokens": float("nan"), "completion_tokens": 1}, {"x": {1, 2}}])
def test_usage_that_is_no_json_is_kept_in_quotes_and_unknown(usage: dict[str, Any]) -> None:
    """Case C06."""
    [_, last] = calls(started(), CallEnded(11.0, "c", "ok", usage))
    assert last.cost is None
    assert "unreadable" in json.loads(last.usage or "")


def test_steps_and_tools_move_the_progress_clock() -> None:
    told = entries(
        Loaded(1.0, "crew", 2),
        StepStarted(2.0, 1, "research", "Researcher", "find it"),
        ToolUsed(3.0, "search", None),
        started(),
        StepEnded(20.0, 1, "found", None),
    )
    steps = [entry for entry in told if isinstance(entry, StepEntry)]
    progress = [entry for entry in told if isinstance(entry, Progress)]
    assert [(step.status, step.output, step.seconds) for step in steps] == [
        ("running", None, None),
        ("completed", "found", 18.0),
    ]
    assert [entry.activity for entry in progress] == [
        "starting", "thinking", "tool search", "LLM call to gpt-4.1", None,
    ]  # fmt: skip
    assert all(entry.step_count == 2 for entry in progress)


def test_uses_of_tools_are_told_as_they_begin_and_end() -> None:
    told = entries(
        ToolUsed(1.0, "search", None, use_id="a", position=1),
        ToolUsed(2.0, "search", None, use_id="b", position=1),
        ToolUsed(5.0, "search", "error", "no such page", use_id="a", position=1),
        ToolUsed(6.0, "search", "ok", use_id="another event's id"),
        ToolUsed(7.0, "never begun", "ok", use_id="c"),
    )
    assert [(e.number, e.tool, e.outcome, e.error, e.seconds) for e in told if isinstance(e, ToolEntry)] == [
        (1, "search", "started", None, None),
        (2, "search", "started", None, None),
        (1, "search", "error", "no such page", 4.0),
        (2, "search", "ok", None, 4.0),
    ]


def test_of_a_run_that_goes_round_in_circles_the_first_uses_of_tools_are_kept() -> None:
    told = entries(*(ToolUsed(float(n), "search", None, use_id=str(n)) for n in range(MOST_TOOLS + 50)))
    assert len([entry for entry in told if isinstance(entry, ToolEntry)]) == MOST_TOOLS


def test_texts_that_postgres_cannot_hold_are_replaced_on_the_way() -> None:
    [step, _] = entries(StepStarted(1.0, 1, "a\x00b", "\ud800", "x" * 100_000))
    assert (step.name, step.agent) == ("a\ufffdb", "\ufffd")
    assert len(step.description) < 100_000


def ending(**facts: Any) -> Ending:
    plain: dict[str, Any] = {
        "last": None, "exit_status": 0, "killed_for": None, "why": None, "seconds": 1.0, "log_tail": None,
    }  # fmt: skip
    return Ending(**{**plain, **facts})


def raised(**facts: Any) -> Raised:
    return Raised(1.0, "x.Error", "why", "trace", **facts)


@pytest.mark.parametrize(
    ("facts", "outcome", "error"),
    [
        ({"last": Returned(1.0, "1")}, RunOutcome.COMPLETED, None),
        (
            {"last": Returned(1.0, "1"), "exit_status": -9, "killed_for": RunOutcome.CANCELLED},
            RunOutcome.COMPLETED,
            None,
        ),
        ({"last": raised()}, RunOutcome.FAILED, "why"),
        ({"last": raised(throttled=True)}, RunOutcome.THROTTLED, "why"),
        ({"last": raised(), "killed_for": RunOutcome.CANCELLED, "why": "by op"}, RunOutcome.CANCELLED, "by op"),
        ({"exit_status": -15, "killed_for": RunOutcome.OVER_BUDGET, "why": "slow"}, RunOutcome.OVER_BUDGET, "slow"),
        ({"exit_status": -9}, RunOutcome.CRASHED, "killed by signal 9 (SIGKILL), as when memory runs out"),
        ({"exit_status": -11}, RunOutcome.CRASHED, "killed by signal 11 (SIGSEGV)"),
        ({"exit_status": 3}, RunOutcome.CRASHED, "exited with status 3 and no result"),
        ({"exit_status": None}, RunOutcome.INTERRUPTED, "its executor vanished"),
    ],
)
def test_the_facts_of_an_end_have_one_verdict(facts: dict[str, Any], outcome: RunOutcome, error: str | None) -> None:
    report = verdict(CLAIM, ending(**facts), Backoff(1, 10), 1_000)
    assert report.outcome is outcome
    assert error is None or error in (report.error or "")


def test_a_429_rests_at_least_as_long_as_the_provider_asked() -> None:
    report = verdict(CLAIM, ending(last=raised(throttled=True, retry_after=30.0)), Backoff(1, 10), 1_000)
    assert 30 <= report.delay_seconds <= 37.5


def test_a_provider_that_asks_for_a_time_of_day_is_asked_again_in_an_hour() -> None:
    report = verdict(CLAIM, ending(last=raised(throttled=True, retry_after=1.8e9)), Backoff(1, 10), 1_000)
    assert 3_600 <= report.delay_seconds <= 4_500


def test_rests_grow_with_jitter_up_to_their_limit() -> None:
    backoff = Backoff(2, 60)
    assert all(1 <= backoff.delay(0) <= 3 for _ in range(50))
    assert all(8 <= backoff.delay(3) <= 24 for _ in range(50))
    assert all(30 <= backoff.delay(99) <= 90 for _ in range(50))


def test_a_result_that_is_too_large_is_not_paid_for_again() -> None:
    report = verdict(CLAIM, ending(last=Returned(1.0, '"' + "x" * 2_000 + '"')), Backoff(1, 10), 1_000)
    assert (report.outcome, report.terminal, report.result) == (RunOutcome.FAILED, True, None)


def test_results_and_errors_are_made_storable_and_flagged() -> None:
    report = verdict(CLAIM, ending(last=Returned(1.0, '"a\\u0000b"')), Backoff(1, 10), 1_000)
    assert (json.loads(report.result or ""), report.replaced) == ("a\ufffdb", 1)
    report = verdict(CLAIM, ending(last=Raised(1.0, "E", "a\x00", "b\ud800")), Backoff(1, 10), 1_000)
    assert (report.error, report.traceback, report.replaced) == ("a\ufffd", "b\ufffd", 2)
