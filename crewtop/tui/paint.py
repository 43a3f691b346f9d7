"""Lines of words with roles: what every view draws, before a theme gives it colours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    return sum(cell_len(span.text) for span in spans)


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


def changed(old: Line, new: Line, cells: int) -> tuple[int, int] | None:
    """The columns (start, end) in which two lines of so many cells differ, or None.

    Only these go to the terminal: a ticking figure costs its own few bytes, not its line's.
    """
    if old == new:
        return None
    if (old.ground, old.dim) != (new.ground, new.dim):
        return 0, cells
    start = 0
    for before, after in zip(old.spans, new.spans, strict=False):
        if before != after:
            break
        start += cell_len(after.text)
    if width(old.spans) != width(new.spans):
        return start, cells
    end = width(new.spans)
    for before, after in zip(reversed(old.spans), reversed(new.spans), strict=False):
        if before != after or end <= start:
            break
        end -= cell_len(after.text)
    return start, max(start + 1, end)
