"""What is told together: a few changes one by one, many that are alike as one."""

from __future__ import annotations

from crewtop.model.live import ALIKE, Change, Changes


def claim(number: int, crew: str = "a") -> Change:
    return Change(number, "q", crew, "pending", "running", "worker:w", run_id=number)


def taken(*changes: Change) -> list[Change]:
    collected = Changes()
    for change in changes:
        collected.add(change)
    return collected.take()


def test_a_few_stay_as_they_are_and_in_order() -> None:
    few = [claim(n, crew) for n in range(ALIKE) for crew in "ab"]
    assert taken(*few) == few


def test_more_that_are_alike_become_one_in_the_place_of_the_first() -> None:
    many = [claim(n) for n in range(1, 1_000)]
    other = claim(7_000, "b")
    assert taken(*many[:10], other, *many[10:]) == [claim(1)._replace(run_id=None, number=999), other]


def test_one_that_counts_many_already_is_added_to() -> None:
    assert taken(claim(1)._replace(number=500), claim(2)) == [claim(1)._replace(run_id=None, number=501)]


def test_taking_begins_anew() -> None:
    collected = Changes()
    for number in range(1, 100):
        collected.add(claim(number))
    assert len(collected.take()) == 1
    collected.add(claim(100))
    assert collected.take() == [claim(100)]
    assert collected.take() == []
