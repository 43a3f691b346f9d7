"""What of a line goes to the terminal: enough to make the new line of the old one, and little more."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from crewtop.tui.paint import NEAR_CELLS, Line, Span, between, changes

CELLS = 60
SPANS = st.builds(
    Span, st.sampled_from(["", "a", "bc", "status ", "日本", " " * 12]), st.sampled_from(["text", "muted"])
)
LINES = st.builds(Line, st.lists(SPANS, max_size=12).map(tuple), st.sampled_from(["ground", "cursor"]))


def painted(line: Line) -> list[tuple[str, str]]:
    """Each cell of a line: its character, '' for the second half of a wide one, and its role; blank to the end."""
    cells = [
        (char if half == 0 else "", span.role)
        for span in line.spans
        for char in span.text
        for half in range(cell_len(char))
    ]
    return [*cells, *[(" ", "text")] * (CELLS - len(cells))][:CELLS]


@given(LINES, LINES)
def test_the_changed_parts_make_the_new_line_of_the_old(old: Line, new: Line) -> None:
    cells, wanted = painted(old), painted(new)
    parts = changes(old, new, CELLS)
    for start, end in parts:
        cells[start:end] = wanted[start:end]
    assert cells[:CELLS] == wanted
    assert all(before[1] + NEAR_CELLS <= after[0] for before, after in itertools.pairwise(parts))


@given(LINES, LINES)
def test_the_changed_pieces_laid_over_the_old_line_make_the_new_one(old: Line, new: Line) -> None:
    cells = painted(old)
    for start, end in changes(old, new, CELLS):
        at, spans = between(new.spans, start, min(end, CELLS))
        laid = painted(Line(spans))[: cell_len("".join(span.text for span in spans))]
        assert at <= start
        assert at + len(laid) >= min(end, CELLS)
        cells[at : at + len(laid)] = laid
    assert cells[:CELLS] == painted(new)


def test_two_figures_far_apart_are_sent_without_what_stands_between() -> None:
    old = Line((Span("48977  "), Span("running", "moving"), Span(" " * 20), Span("1,902", "muted"), Span("  ok")))
    new = Line((Span("48977  "), Span("failed ", "wrong"), Span(" " * 20), Span("1,955", "muted"), Span("  ok")))
    assert changes(old, new, 80) == [(7, 14), (34, 39)]
    assert changes(new, new, 80) == []


def test_another_ground_is_another_line() -> None:
    assert changes(Line((Span("x"),)), Line((Span("x"),), "cursor"), 80) == [(0, 80)]
