"""Filters, money, stuck judgements, executor events: small rules as tables."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewtop.model.events import CallEnded, Raised, Returned, from_line, to_line
from crewtop.model.filters import FilterError, TaskFilter, parse, words
from crewtop.model.money import Money, total
from crewtop.model.operations import RULES, Action
from crewtop.model.stuck import stuck_reason
from crewtop.model.task import TaskStatus


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", TaskFilter()),
        ("status:failed,retry", TaskFilter((TaskStatus.FAILED, TaskStatus.RETRY))),
        ("crew:a crew:b queue:q", TaskFilter(crews=("a", "b"), queues=("q",))),
        ("priority:P1 quota exceeded", TaskFilter(priority=1, text="quota exceeded")),
        ("http://x [/] status:", TaskFilter(text="http://x [/] status:")),
    ],
)
def test_a_filter_means_what_is_typed(typed: str, meant: TaskFilter) -> None:
    assert parse(typed) == meant
    assert parse(words(meant)) == meant


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("status:done", "status 'done' is unknown: use one of waiting, pending, running"),
        ("priority:9", "priority '9' is out of range: use 0 to 4"),
    ],
)
def test_a_wrong_filter_says_what_is_allowed(typed: str, complaint: str) -> None:
    with pytest.raises(FilterError, match=complaint):
        parse(typed)


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


def test_every_action_says_what_it_does_and_leaves_completed_tasks_alone() -> None:
    assert RULES.keys() == set(Action)
    assert all(rule.effect and TaskStatus.COMPLETED not in rule.eligible for rule in RULES.values())
