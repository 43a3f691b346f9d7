"""What a terminal sends, as events: pasted text is text, even if it holds what looks like keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key, Paste

from crewtop.tui.pasting import PastingParser

START, END = "\x1b[200~", "\x1b[201~"


def read(*pieces: str) -> list[str]:
    """Keys by name and pastes in <>."""
    parser = PastingParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return [
        f"<{event.text}>" if isinstance(event, Paste) else event.key
        for event in events
        if isinstance(event, Key | Paste)
    ]


@pytest.mark.parametrize(
    "text", ["R\r", "\x1bR\r", "x\x1b\x1bR", "\x1b[A", "\x1b[200~R", "\x1b" * 40 + "R", "\x1b[<0;1;1M", "a" * 9_000, ""]
)
def test_a_paste_presses_no_key(text: str) -> None:
    assert read(f"j{START}{text}{END}k") == ["j", f"<{text}>", "k"]


@given(st.lists(st.integers(0, 40), max_size=6).map(sorted))
def test_it_does_not_matter_in_which_pieces_it_comes(cuts: list[int]) -> None:
    sent = f"j{START}a\x1bR\r{END}k\x1b[A{START}b{END}l"
    pieces = [sent[start:end] for start, end in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    assert read(*pieces) == ["j", "<a\x1bR\r>", "k", "up", "<b>", "l"]
