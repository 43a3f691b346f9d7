"""Looking for words in a text, and for the places where they are."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from crewtop import words
from crewtop.tui.paint import Role, Span, Spans

MOST_MATCHES = 10_000
"""Matches that are kept. Who looks for a single letter in a megabyte learns no more from the others."""


class Match(NamedTuple):
    """Where it was found: the number of a line, and the characters of it, end excluded."""

    line: int
    start: int
    end: int


def pattern(wanted: str) -> re.Pattern[str]:
    """What finds these characters, in capitals or not."""
    return re.compile(re.escape(wanted), re.IGNORECASE)


def in_line(line: int, text: str, wanted: re.Pattern[str]) -> Iterator[Match]:
    """The matches in one line."""
    return (Match(line, *found.span()) for found in wanted.finditer(text))


class Search:
    """What is looked for, where it was found, and which of these places the operator stands at."""

    def __init__(self) -> None:
        self.wanted = ""
        self.found: list[Match] = []
        self.current: Match | None = None

    def drop(self) -> None:
        """Look for nothing any more."""
        self.wanted, self.found, self.current = "", [], None

    def take(self, found: Iterable[Match]) -> None:
        """The places, in order; as many as are kept."""
        self.found = list(islice(found, MOST_MATCHES))

    def add(self, found: Iterable[Match], oldest: int) -> None:
        """Places in new lines; those in lines before the oldest one are gone."""
        del self.found[: bisect_left(self.found, (oldest,))]
        self.found += islice(found, MOST_MATCHES - len(self.found))

    def nearest(self, line: int, start: int = 0) -> Match | None:
        """Stand at the first place from here on, or at the first of all."""
        place = bisect_left(self.found, (line, start))
        self.current = self.found[place % len(self.found)] if self.found else None
        return self.current

    def step(self, steps: int) -> Match | None:
        """Stand so many places further (before, if negative); after the last comes the first."""
        if self.current is None or not self.found:
            return self.nearest(0)
        place = bisect_left(self.found, self.current)
        self.current = self.found[(place + steps) % len(self.found)]
        return self.current

    @property
    def said(self) -> str:
        """Which match of how many, or that there is none."""
        if not self.wanted:
            return ""
        if not self.found:
            return f"no match for {self.wanted!r}"
        of = words.count(len(self.found)) + ("+" if len(self.found) == MOST_MATCHES else "")
        place = bisect_left(self.found, self.current) if self.current is not None else 0
        return f"match {words.count(place + 1)} of {of}"

    def spans(self, line: int, offset: int, text: str, role: Role = "text", strong: bool = False) -> Spans:
        """A row of text that begins at an offset of its line, with the matches in it shown."""
        end = offset + len(text)
        spans: list[Span] = []
        done = offset
        for match in self._in_row(line, offset, end):
            start, stop = max(done, match.start), min(end, match.end)
            shown: Role = "badge" if match == self.current else "accent"
            spans += [
                Span(text[done - offset : start - offset], role, strong),
                Span(text[start - offset : stop - offset], shown, True),
            ]
            done = stop
        spans.append(Span(text[done - offset :], role, strong))
        return tuple(span for span in spans if span.text)

    def _in_row(self, line: int, offset: int, end: int) -> Iterator[Match]:
        reach = max(0, offset - len(self.wanted))
        for match in islice(self.found, bisect_left(self.found, (line, reach)), None):
            if match.line != line or match.start >= end:
                return
            if match.end > offset:
                yield match
