"""Filters, money, stuck judgements, executor events: small rules as tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.events import CallEnded, Raised, Returned, from_line, to_line
from crewtop.model.money import Money, total
from crewtop.model.operations import RULES, Action, Operation, summary
from crewtop.model.stuck import stuck_reason
from crewtop.model.task import TaskStatus
from crewtop.model.transitions import TRANSITIONS, Mover, exists


@given(st.lists(st.builds(Money, st.decimals(0, 10**6, places=9), st.integers(0, 9), st.integers(0, 9))))
def test_sums_of_money_keep_what_is_unknown(amounts: list[Money]) -> None:
    found = total(amounts)
    assert found.known == sum((m.known for m in amounts), Decimal(0))
    assert found.unknown == sum(m.unknown for m in amounts)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ((-5.0, 10.0, 60.0, 2.0, "tool x", 180.0), None),
        ((0.5, 10.0, 60.0, 2.0, None, 180.0), "lease expired, worker gone"),
        ((-5.0, 61.0, 60.0, 2.0, None, 180.0), "over its budget of 60 s"),
        ((-5.0, 500.0, None, 200.0, "LLM call to gpt-4.1", 180.0), "no progress in LLM call to gpt-4.1"),
        ((-5.0, 500.0, None, 200.0, None, 180.0), "no progress"),
    ],
)
def test_a_run_is_stuck_for_a_reason(facts: tuple[float | None, ...], reason: str | None) -> None:
    assert stuck_reason(*facts) == reason  # type: ignore[arg-type]


@given(st.text(), st.text(), st.booleans(), st.none() | st.floats(0, 1e6))
def test_events_survive_the_wire(error: str, trace: str, throttled: bool, after: float | None) -> None:
    for event in (
        Raised(1.0, "x.Y", error, trace, throttled=throttled, retry_after=after),
        Returned(2.0, error),
        CallEnded(3.0, "c", "ok", {"prompt_tokens": 1}, None, error),
    ):
        line = to_line(event)
        assert line.count(b"\n") == 1
        assert from_line(line) == event


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b'{"event": "Nope"}', b'{"event": "Returned"}', b"\xff"])
def test_a_line_that_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_line(line)


def test_every_action_says_what_it_does_and_changes_no_completed_task() -> None:
    assert RULES.keys() == set(Action)
    assert all(rule.effect and rule.past for rule in RULES.values())
    touching = {action for action, rule in RULES.items() if TaskStatus.COMPLETED in rule.eligible}
    assert touching == {Action.RERUN, Action.DELETE, Action.UNDO}


def test_no_transition_leads_away_from_completed() -> None:
    assert {change.new for change in TRANSITIONS} == set(TaskStatus)
    assert all(change.old is not TaskStatus.COMPLETED for change in TRANSITIONS)
    assert exists(frozenset({Mover.WORKER}), TaskStatus.RUNNING, TaskStatus.COMPLETED)
    assert not exists(frozenset({Mover.OPERATOR}), TaskStatus.RUNNING, TaskStatus.COMPLETED)


def test_an_operation_is_summed_up_with_its_refusals_by_reason() -> None:
    operation = Operation(
        1,
        Action.RETRY,
        None,
        "done",
        datetime(2026, 3, 14, tzinfo=UTC),
        None,
        "ann",
        "ops",
        None,
        None,
        500,
        480,
        20,
        None,
    )
    assert summary(operation, {"key already held": 20}) == "480 retried, 20 refused: 20 key already held"
    assert summary(replace(operation, refused=0, total=1_500), {}) == "480 retried, 1,020 left as they were"
