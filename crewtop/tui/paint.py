"""Lines of words with roles: what every view draws, before a theme gives it colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from rich.cells import cell_len, set_cell_size

Role = Literal[
    "text", "muted", "faint", "accent", "link", "wrong", "watch", "moving", "waiting", "money", "frame", "badge"
]
"""What a word means. Themes map roles to colours; the glyph and the word carry the meaning without them."""

Ground = Literal["ground", "cursor", "panel"]
"""What lies behind a line."""


class Span(NamedTuple):
    """A piece of a line. text holds no control characters: whatever comes from tasks went through crewtop.text."""

    text: str
    role: Role = "text"
    strong: bool = False


class Line(NamedTuple):
    """One line of the screen. dim is for data that is no longer known to be true."""

    spans: tuple[Span, ...] = ()
    ground: Ground = "ground"
    dim: bool = False

    @property
    def text(self) -> str:
        """The characters alone."""
        return "".join(span.text for span in self.spans)


Spans = tuple[Span, ...]
BLANK = Line()
FILLER = Span(" ")
"""What a line ends in that is shorter than the screen."""

NEAR_CELLS = 8
"""Changes nearer to each other than so many cells are sent as one: to move the cursor costs about as much."""


def line(*parts: Span | str | Spans, ground: Ground = "ground") -> Line:
    """A line of parts; a plain string is ordinary text."""
    return Line(joined(*parts), ground)


def joined(*parts: Span | str | Spans) -> Spans:
    """The spans of all parts, in order."""
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, Span):
            spans.append(part)
        elif isinstance(part, str):
            spans.append(Span(part))
        else:
            spans.extend(part)
    return tuple(spans)


def width(spans: Iterable[Span]) -> int:
    """Terminal cells that the spans take."""
    total = 0
    for text, _, _ in spans:  # asked for hundreds of times a frame, and nearly all text is ASCII
        total += len(text) if text.isascii() else cell_len(text)
    return total


def clip(text: str, cells: int, mark: str = "…") -> str:
    """At most so many cells of text, ending in mark where something was cut off."""
    if cell_len(text) <= cells:
        return text
    room = cells - cell_len(mark)
    if room < 0:
        return ""
    return set_cell_size(text, room).rstrip() + mark


def clip_spans(spans: Spans, cells: int, mark: str = "…") -> Spans:
    """At most so many cells of spans, ending in mark where something was cut off."""
    if width(spans) <= cells:
        return spans
    kept: list[Span] = []
    for index, span in enumerate(spans):
        size = cell_len(span.text)
        following = index + 1 < len(spans)
        if size > cells or (size == cells and following):
            kept.append(span._replace(text=clip(span.text + ("  " if following else ""), cells, mark)))
            break
        kept.append(span)
        cells -= size
    return tuple(kept)


def padded(spans: Spans, cells: int, right: bool = False, mark: str = "…") -> Spans:
    """Exactly so many cells: cut or filled with spaces, on the left for right-aligned content."""
    space = cells - width(spans)
    if space < 0:
        spans = clip_spans(spans, cells, mark)
        space = cells - width(spans)
    if space <= 0:
        return spans
    filler = Span(" " * space)
    return (filler, *spans) if right else (*spans, filler)


def spread(left: Spans, right: Spans, cells: int, mark: str = "…") -> Spans:
    """left at the left edge and right at the right one; the right part gives way where both do not fit."""
    space = cells - width(left) - width(right)
    if space >= 2:
        return (*left, Span(" " * space), *right)
    return clip_spans(left, cells, mark)


class Part(NamedTuple):
    """A piece of a bar that may be left out: importance 0 stays, the highest number goes first."""

    importance: int
    spans: Spans


def fitting(parts: Sequence[Part], cells: int, gap: int) -> list[Part]:
    """The parts that fit into so many cells with gap cells between them, in order, the most important ones."""
    kept = list(parts)
    while kept and sum(width(part.spans) for part in kept) + gap * (len(kept) - 1) > cells:
        last = max(part.importance for part in kept)
        if last == 0:
            break
        index = max(i for i, part in enumerate(kept) if part.importance == last)
        del kept[index]
    return kept


def bar(parts: Sequence[Part], cells: int, gap: int = 3) -> Spans:
    """Those parts in one row."""
    spans: list[Span] = []
    for part in fitting(parts, cells, gap):
        if spans:
            spans.append(Span(" " * gap))
        spans.extend(part.spans)
    return tuple(spans)


def changes(old: Line, new: Line, cells: int) -> list[tuple[int, int]]:
    """The columns (start, end) of each part in which two lines of so many cells differ, from left to right.

    Only these go to the terminal: a ticking figure costs its own few bytes, not its line's.
    """
    if old == new:
        return []
    if (old.ground, old.dim) != (new.ground, new.dim):
        return [(0, cells)]
    found: list[tuple[int, int]] = []
    for start, end, same in _compared(old.spans, new.spans, cells):
        if same:
            continue
        if found and start - found[-1][1] < NEAR_CELLS:
            start = found.pop()[0]
        found.append((start, end))
    return found


def between(spans: Spans, start: int, end: int) -> tuple[int, Spans]:
    """The spans that lie, in whole or in part, in cells start to end, and the cell that they begin at.

    Where a line is shorter it goes on with blanks.
    """
    found: list[Span] = []
    at, first = 0, start
    for span in spans:
        if at >= end:
            break
        following = at + width((span,))
        if following > start:
            first = first if found else at
            found.append(span)
        at = following
    if at < end:
        found.append(FILLER._replace(text=" " * (end - max(at, start))))
    return first, tuple(found)


def _compared(old: Spans, new: Spans, cells: int) -> Iterator[tuple[int, int, bool]]:
    """Two lines cut where spans of both end: where each piece starts and ends, and whether it is the same in both."""
    before, after = iter(old), iter(new)
    at = left = right = 0
    pieces: tuple[list[Span], list[Span]] = [], []
    while True:
        one = next(before, None) if left <= right else None
        other = next(after, None) if right <= left else None
        if one is None and other is None:
            break
        if one is not None:
            pieces[0].append(one)
            left += cell_len(one.text)
        if other is not None:
            pieces[1].append(other)
            right += cell_len(other.text)
        if left == right:
            yield at, left, pieces[0] == pieces[1]
            at, pieces = left, ([], [])
    if left != right:
        yield at, cells, False
