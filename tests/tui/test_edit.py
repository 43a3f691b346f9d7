"""Typing: the line itself, what a filter line offers, and the filters that come back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from crewtop.model.completion import Names
from crewtop.tui.edit import LONGEST, LineEdit
from crewtop.tui.filterline import OFFERED, FilterLine, names_known
from crewtop.tui.manner import Manner
from tests.tui.fixtures import BUSY, HOSTILE, task

NAMES = Names(crews=("support", "briefing"), queues=("support", "my queue"), views=("mine", "stuck"))
VIEWS = {"mine": "crew:support status:failed", "stuck": "is:stuck"}


def typed(edit: LineEdit, *keys: str) -> LineEdit:
    for key in keys:
        edit.type(key)
    return edit


def filter_line(text: str = "", history: Sequence[str] = ()) -> FilterLine:
    return FilterLine(text, NAMES, VIEWS, history)


@pytest.mark.parametrize(
    ("keys", "text", "at"),
    [
        (("a", "space", "b"), "a b", 3),
        (("a", "b", "left", "x"), "axb", 2),
        (("a", "b", "home", "delete"), "b", 0),
        (("a", "b", "ctrl+a", "x", "ctrl+e", "y"), "xaby", 4),
        (("a", "b", "backspace", "backspace", "backspace"), "", 0),
        ((*"crew:a stat", "ctrl+w"), "crew:a ", 7),
        ((*"crew:a stat", "ctrl+w", "ctrl+w"), "", 0),
        ((*"abc", "left", "ctrl+u"), "c", 0),
        ((*"abc", "left", "ctrl+k"), "ab", 2),
        (("f5", "ctrl+x", "a"), "a", 1),
    ],
)
def test_editing_keys(keys: tuple[str, ...], text: str, at: int) -> None:
    edit = typed(LineEdit(), *keys)
    assert (edit.text, edit.at) == (text, at)


def test_a_line_takes_no_more_than_it_can_hold() -> None:
    edit = LineEdit()
    edit.insert("x" * (LONGEST + 100))
    edit.insert("y")
    assert edit.text == "x" * LONGEST


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((*"stat", "tab"), "status:"),  # the only key that begins so, or has it in it
        ((*"stat", "tab", *"fa", "tab"), "status:failed"),
        ((*"crew:", "tab"), "crew:support"),
        ((*"crew:", "tab", "tab"), "crew:briefing"),
        ((*"crew:", "tab", "tab", "tab"), "crew:support"),  # round and round
        ((*"crew:", "shift+tab"), "crew:briefing"),
        ((*"crew:", "down", "down", "up"), "crew:support"),
        ((*"crew:", "down", "up"), "crew:"),  # above the first one is what was typed
        ((*"crew:", "tab", "space", *"is:st", "tab"), "crew:support is:stuck"),
        ((*"queue:my", "tab"), 'queue:"my queue"'),
        ((*"@mi", "tab"), "@mine"),
        ((*"nothing:has:this", "tab"), "nothing:has:this"),
    ],
)
def test_tab_and_arrows_go_through_what_may_come_next(keys: tuple[str, ...], text: str) -> None:
    line = typed(filter_line(), *keys)
    assert line.text == text
    assert line.at == len(text)


def test_what_is_offered_hangs_below_with_its_meaning() -> None:
    rows = [row.text.rstrip() for row in filter_line().below(80, Manner())]
    assert len(rows) == OFFERED
    assert rows[0].split(maxsplit=1) == ["status:", "waiting, pending, running, retry, completed, failed, cancelled"]


def test_the_chosen_offer_stays_in_sight() -> None:
    line = typed(filter_line(), *["tab"] * 12)
    rows = line.below(80, Manner())
    assert [row.ground for row in rows] == ["panel"] * (OFFERED - 1) + ["cursor"]
    assert line.text.rstrip("<>=:") in rows[-1].text


def test_half_a_word_is_no_mistake_until_enter_says_so() -> None:
    line = typed(filter_line(), *"status:")
    assert "has no value" not in line.below(120, Manner())[0].text
    line.refuse()
    assert "has no value" in line.below(120, Manner())[0].text
    typed(line, "f")
    assert "failed" in line.below(120, Manner())[0].text


def test_what_cannot_become_right_is_a_mistake_at_once() -> None:
    line = typed(filter_line(), *"status:faild")
    assert "'faild' is unknown" in line.below(120, Manner())[0].text


def test_a_saved_view_stands_for_its_filter() -> None:
    assert typed(filter_line(), *"@mine age>1h").parsed() == typed(filter_line(), *f"{VIEWS['mine']} age>1h").parsed()


@pytest.mark.parametrize(
    ("opened", "keys", "text"),
    [
        ("", ("up",), "crew:b"),
        ("", ("up", "up"), "crew:a"),
        ("", ("up", "up", "up", "down"), "crew:b"),
        ("", ("up", "down"), ""),
        ("is:stuck", ("up",), "crew:b"),  # as it was opened counts as nothing typed
        ("is:stuck", ("up", "up", "down", "down"), "is:stuck"),
        ("", ("a", "down"), "age>"),  # once something is typed, arrows choose among what may come next
        ("", ("up", "backspace", "tab"), "crew:support"),
        ("", ("up", "ctrl+u", "up"), "crew:b"),
    ],
)
def test_up_brings_earlier_filters_back(opened: str, keys: tuple[str, ...], text: str) -> None:
    assert typed(filter_line(opened, ["crew:a", "crew:b"]), *keys).text == text


def test_names_come_from_the_picture_and_from_the_rows() -> None:
    names = names_known(BUSY, [task(1, crew="once", queue="spare", worker_id="w-1")], ("mine",))
    assert {"once", "briefing", "sync_stock"} <= set(names.crews)
    assert {"spare", "nightly"} <= set(names.queues)
    assert {"w-1", "db1-7c2e91"} <= set(names.workers)
    assert names.views == ("mine",)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_that_a_terminal_would_obey_is_not_offered(text: str) -> None:
    names = names_known(None, [task(1, crew=text, queue=text, worker_id=text)], ())
    assert all(name.isprintable() for name in (*names.crews, *names.queues, *names.workers))
