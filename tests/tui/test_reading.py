"""Long texts: how they are laid out, which rows are in sight, and where words are found in them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from crewtop.text import masked
from crewtop.tui.reading import AT_ONCE_CHARACTERS, Reading, pieces, readable, wrapped
from crewtop.tui.search import MOST_MATCHES

_WRITTEN = (
    "-----BEGIN RSA PRIVATE KEY-----",
    "MIIEpAIBAAKCAQEA7",
    "-----END RSA PRIVATE KEY-----",
    "secrets = [",
    '"hunter2hunter2",',
    "]",
    "password: hunter2hunter2",
    "password:",
    "Cookie: a=b; c=d",
    "see postgres://u:pw@h/d",
    "Authorization: Bearer",
    "one [two] three",
    "",
)
"""Lines that are harmless alone, and secrets together."""


def reading(text: str, height: int = 10, cells: int = 80) -> Reading:
    made = Reading()
    made.set(text, "text")
    if made.rows(cells, height) is None:
        assert made.job is not None
        made.finish(made.job, made.job.rows())
    return made


def texts(made: Reading, height: int = 10, cells: int = 80) -> list[str]:
    rows = made.rows(cells, height)
    assert rows is not None
    return [row.text for row in rows]


@given(st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]), max_size=300), st.integers(2, 40))
def test_wrapping_loses_nothing_and_fits(text: str, cells: int) -> None:
    rows = wrapped(text, cells)
    assert "".join(rows) == text
    assert all(cell_len(row) <= cells for row in rows)


def test_rows_break_at_spaces() -> None:
    assert wrapped("the quick brown fox", 12) == ["the quick ", "brown fox"]


def test_one_line_of_a_megabyte_is_cut_into_rows() -> None:
    assert len(wrapped("x" * 1_000_000, 100)) == 10_000


def test_json_is_laid_out_and_its_secrets_are_masked() -> None:
    shown = readable(json.dumps({"a": [1, 2], "password": "hunter2hunter2"}), "json")
    assert '  "a": [\n    1,\n    2\n  ]' in shown
    assert "hunter2h" not in shown


def test_a_json_string_is_shown_as_the_text_that_it_holds() -> None:
    assert readable(json.dumps("one\ntwo [/] \x1b[2J"), "json") == "one\ntwo [/] ␛[2J"


@given(st.lists(st.sampled_from(_WRITTEN), max_size=12))
def test_masking_piece_by_piece_hides_what_masking_the_whole_hides(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = list(pieces(text, 1))
    assert "".join(found) == text
    assert "".join(map(masked, found)) == masked(text)


def test_what_is_no_json_is_shown_as_it_is() -> None:
    assert readable("{not json", "json") == "{not json"


def test_json_deeper_than_python_can_read_is_shown_as_it_is() -> None:
    assert readable("[" * 100_000, "json").startswith("[[[")


def test_a_short_text_is_there_at_once_and_a_long_one_when_its_job_is_done() -> None:
    assert texts(reading("short")) == ["short"]
    made = Reading()
    made.set("long " * AT_ONCE_CHARACTERS, "text")
    assert made.rows(80, 10) is None
    assert made.job is not None
    made.finish(made.job, made.job.rows())
    assert len(texts(made)) == 10


def test_scrolling_stays_within_the_text() -> None:
    made = reading("\n".join(str(i) for i in range(100)))
    for command, first in (("last", "90"), ("down", "90"), ("page_up", "81"), ("first", "0"), ("up", "0")):
        assert made.scroll(command)
        assert texts(made)[0] == first


def test_a_line_of_many_rows_is_scrolled_through_row_by_row() -> None:
    made = reading("first\n" + "x" * 100 + "\nlast", height=3, cells=10)
    made.scroll("down")
    made.scroll("down")
    assert texts(made, 3, 10) == ["x" * 10] * 3
    made.scroll("last")
    assert texts(made, 3, 10) == ["x" * 10, "x" * 10, "last"]


def test_another_width_keeps_the_line_that_is_at_the_top() -> None:
    made = reading("\n".join(f"{i} " + "word " * 20 for i in range(50)))
    for _ in range(30):
        made.scroll("down")
    line = (made.rows(80, 10) or [])[0].line
    assert (made.rows(40, 10) or [])[0].line == line


def test_words_are_found_whatever_their_case_and_also_across_two_rows() -> None:
    made = reading("aaa bbb Ccc\nnothing\nccc", cells=10)
    made.look("b c")
    assert [(match.line, match.start) for match in made.search.found] == [(0, 6)]
    made.look("ccc")
    assert made.search.said == "match 1 of 2"
    made.step(1)
    assert made.search.said == "match 2 of 2"
    made.step(1)
    assert made.search.said == "match 1 of 2"
    made.step(-1)
    assert made.search.said == "match 2 of 2"


def test_what_looks_like_a_pattern_is_looked_for_as_it_is() -> None:
    made = reading("a.c [x] abc")
    made.look("a.c [")
    assert made.search.said == "match 1 of 1"


def test_going_to_a_match_brings_it_into_sight() -> None:
    made = reading("\n".join(f"line {i}" for i in range(1_000)))
    made.look("line 777")
    assert "line 777" in texts(made)


def test_no_match_is_said() -> None:
    made = reading("abc")
    made.look("x")
    assert made.search.said == "no match for 'x'"
    made.step(1)
    assert made.search.current is None


def test_a_letter_that_is_everywhere_is_not_counted_to_the_end() -> None:
    made = reading("e" * 1_000_000)
    made.look("e")
    assert made.search.said == f"match 1 of {MOST_MATCHES:,}+"


def test_matches_are_marked_in_the_rows_where_they_are() -> None:
    made = reading("say hello hello")
    made.look("hello")
    row = (made.rows(80, 10) or [])[0]
    spans = made.search.spans(row.line, row.offset, row.text)
    assert [(span.text, span.role) for span in spans] == [
        ("say ", "text"),
        ("hello", "badge"),
        (" ", "text"),
        ("hello", "accent"),
    ]


def test_a_match_across_two_rows_is_marked_in_both() -> None:
    made = reading("aaaa bbbb", cells=5)
    made.look("a b")
    marked = [
        "".join(s.text for s in made.search.spans(row.line, row.offset, row.text) if s.role == "badge")
        for row in made.rows(5, 10) or []
    ]
    assert marked == ["a ", "b"]


def test_a_search_goes_on_in_a_text_that_grew() -> None:
    made = reading("error one")
    made.look("error")
    made.set("error one\nerror two", "text")
    made.rows(80, 10)
    assert made.search.said == "match 1 of 2"


def test_another_text_begins_at_its_top_without_the_search() -> None:
    made = reading("\n".join(f"error {i}" for i in range(100)))
    made.look("error 50")
    made.set("something else", "text")
    assert texts(made) == ["something else"]
    assert made.search.said == ""


@given(st.text(max_size=40), st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=3))
def test_every_match_is_where_it_is_said_to_be(text: str, wanted: str) -> None:
    made = reading(text)
    rows = {row.line: row.text for row in made.rows(1_000, 100) or []}
    made.look(wanted)
    for match in made.search.found:
        assert rows[match.line][match.start : match.end].lower() == wanted.lower() or not wanted.isascii()
