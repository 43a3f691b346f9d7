"""What is offered where somebody types a filter."""

from __future__ import annotations

from crewtop.model.completion import Completion, Names, complete
from crewtop.model.filter_words import JUDGEMENTS, KEYS
from crewtop.model.filters import parse

NAMES = Names(crews=("support", "research", "my crew"), queues=("bulk",), workers=("db1-1",), views=("mine", "late"))


def offered(typed: str) -> list[str]:
    """What the text would become with each completion."""
    return [typed[: c.start] + c.text + typed[c.end :] for c in complete(typed, len(typed), NAMES)]


def test_an_empty_filter_is_offered_every_key_with_its_help() -> None:
    found = complete("", 0, NAMES)
    assert [completion.text.rstrip(":>") for completion in found] == list(KEYS)
    assert all(completion.help for completion in found)
    assert offered("crew:a ")[0] == "crew:a status:"


def test_a_key_is_completed_where_it_is_negated_too() -> None:
    assert offered("sta") == ["status:"]
    assert offered("crew:a !que") == ["crew:a !queue:"]
    assert offered("ag") == ["age>"]


def test_values_are_completed_one_by_one() -> None:
    assert offered("status:fa") == ["status:failed"]
    assert offered("status:failed,re") == ["status:failed,retry"]
    assert offered("is:") == [f"is:{name}" for name in JUDGEMENTS]
    assert offered("worker:db") == ["worker:db1-1"]
    assert offered("queue:") == ["queue:bulk"]
    assert offered("priority<=") == [f"priority<={n}" for n in range(5)]


def test_what_begins_as_typed_comes_before_what_contains_it() -> None:
    assert offered("crew:r") == ["crew:research", "crew:support", 'crew:"my crew"']


def test_a_name_with_spaces_comes_in_quotes() -> None:
    assert offered("crew:my") == offered('crew:"my') == ['crew:"my crew"']
    assert parse(offered("crew:my")[0]).crews == ("my crew",)


def test_saved_views_are_completed_as_the_first_word_only() -> None:
    assert offered("@m") == ["@mine"]
    assert offered("crew:a @m") == []


def test_what_is_complete_is_not_offered_again() -> None:
    assert offered("status:failed") == []
    assert offered("timeout") == []


def test_the_word_under_the_cursor_is_completed_and_the_rest_stays() -> None:
    assert complete("sta crew:a", 3, NAMES) == [Completion("status:", 0, 3, KEYS["status"].help)]
