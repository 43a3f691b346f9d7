"""Live output: what is in sight, what is kept, what is said to be lost, and what is found in it."""

from __future__ import annotations

import pytest

from crewtop.tui.follow import LONGEST_LINE, MOST_LINES, Follow
from crewtop.tui.source import LogLines
from tests.tui.fixtures import HOSTILE


def following(*lines: str) -> Follow:
    made = Follow()
    made.take(LogLines(lines))
    made.rows(80, 10)
    return made


def numbers(count: int) -> tuple[str, ...]:
    return tuple(f"line {i}" for i in range(count))


def texts(follow: Follow, cells: int = 80, height: int = 10) -> list[str]:
    return [row.text for row in follow.rows(cells, height)]


def test_output_is_followed_until_the_operator_looks_back() -> None:
    follow = following(*numbers(50))
    assert texts(follow)[-1] == "line 49"
    follow.scroll("up")
    follow.take(LogLines(("line 50",)))
    assert texts(follow)[-1] == "line 48"
    follow.scroll("last")
    assert texts(follow)[-1] == "line 50"


def test_output_beyond_the_limit_is_counted_as_lost() -> None:
    follow = Follow()
    follow.take(LogLines(numbers(MOST_LINES + 10), lost=5))
    assert follow.lost == 15
    assert texts(follow)[-1] == f"line {MOST_LINES + 9}"


def test_lines_that_come_while_the_buffer_is_full_push_old_ones_out() -> None:
    follow = following(*numbers(MOST_LINES))
    follow.take(LogLines(("new",)))
    assert follow.lost == 1
    assert texts(follow)[-1] == "new"
    follow.scroll("first")
    assert texts(follow)[0] == "line 1"


def test_what_one_reads_stays_in_place_while_old_lines_are_pushed_out() -> None:
    follow = following(*numbers(MOST_LINES))
    follow.scroll("page_up")
    before = texts(follow)
    follow.take(LogLines(numbers(100)))
    assert texts(follow) == before


def test_a_line_without_end_is_cut() -> None:
    follow = following("x" * 1_000_000)
    assert sum(map(len, texts(follow, height=1_000))) == LONGEST_LINE


def test_another_width_wraps_all_of_it_anew() -> None:
    follow = following("x" * 100)
    assert [len(text) for text in texts(follow, cells=40)] == [40, 40, 20]


def test_the_newest_rows_are_there_whatever_the_window_shows() -> None:
    follow = following(*numbers(50))
    follow.scroll("first")
    assert [row.text for row in follow.newest(40, 3)] == ["line 47", "line 48", "line 49"]
    assert texts(follow)[0] == "line 0"


def test_a_search_stops_following_and_goes_to_the_match() -> None:
    follow = following(*numbers(50))
    follow.look("line 7")
    assert follow.search.said == "match 1 of 1"
    assert "line 7" in texts(follow)
    assert not follow.following


def test_matches_in_new_lines_are_counted_as_they_come() -> None:
    follow = following("error a")
    follow.look("error")
    follow.take(LogLines(("fine", "error b")))
    assert follow.search.said == "match 1 of 2"
    follow.step(1)
    assert follow.search.said == "match 2 of 2"


def test_matches_in_lines_that_are_gone_are_no_longer_counted() -> None:
    follow = following("error", *numbers(MOST_LINES - 1))
    follow.look("error")
    follow.take(LogLines(("error",)))
    assert follow.search.said == "match 1 of 1"
    follow.step(1)
    assert texts(follow)[-1] == "error"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_lines_are_shown_and_obeyed_nowhere(text: str) -> None:
    follow = following(text)
    assert all(row.isprintable() for row in texts(follow))
    follow.look(texts(follow)[0][:3])
    assert follow.search.found
