"""Long texts and live output: what is in sight, what is kept, what is said to be lost."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from crewtop.tui.follow import LONGEST_LINE, MOST_LINES, Follow
from crewtop.tui.reading import AT_ONCE_CHARACTERS, Reading, readable, wrapped
from crewtop.tui.source import LogLines


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


def test_what_is_no_json_is_shown_as_it_is() -> None:
    assert readable("{not json", "json") == "{not json"


def test_json_deeper_than_python_can_read_is_shown_as_it_is() -> None:
    assert readable("[" * 100_000, "json").startswith("[[[")


def test_a_short_text_is_there_at_once_and_a_long_one_when_its_job_is_done() -> None:
    reading = Reading()
    reading.set("short", "text")
    assert reading.rows(80, 10) == ["short"]
    reading = Reading()
    reading.set("long " * AT_ONCE_CHARACTERS, "text")
    assert reading.rows(80, 10) is None
    assert reading.job is not None
    reading.finish(reading.job, reading.job.rows())
    rows = reading.rows(80, 10)
    assert rows is not None
    assert len(rows) == 10


def test_scrolling_stays_within_the_text() -> None:
    reading = Reading()
    reading.set("\n".join(str(i) for i in range(100)), "text")
    reading.rows(80, 10)
    for command, first in (("last", "90"), ("down", "90"), ("page_up", "81"), ("first", "0"), ("up", "0")):
        assert reading.scroll(command)
        rows = reading.rows(80, 10)
        assert rows is not None
        assert rows[0] == first


def test_output_is_followed_until_the_operator_looks_back() -> None:
    follow = Follow()
    follow.take(LogLines(tuple(str(i) for i in range(50))))
    assert follow.rows(80, 10)[-1] == "49"
    follow.scroll("up")
    follow.take(LogLines(("50",)))
    assert follow.rows(80, 10)[-1] == "48"
    follow.scroll("last")
    assert follow.rows(80, 10)[-1] == "50"


def test_output_beyond_the_limit_is_counted_as_lost() -> None:
    follow = Follow()
    follow.take(LogLines(tuple(str(i) for i in range(MOST_LINES + 10)), lost=5))
    assert follow.lost == 15
    assert follow.rows(80, 10)[-1] == str(MOST_LINES + 9)


def test_lines_that_come_while_the_buffer_is_full_push_old_ones_out() -> None:
    follow = Follow()
    follow.take(LogLines(tuple("x" for _ in range(MOST_LINES))))
    follow.rows(80, 10)
    follow.take(LogLines(("new",)))
    assert follow.lost == 1
    assert follow.rows(80, 10)[-1] == "new"


def test_a_line_without_end_is_cut() -> None:
    follow = Follow()
    follow.take(LogLines(("x" * 1_000_000,)))
    assert sum(len(row) for row in follow.rows(80, 1_000)) == LONGEST_LINE
