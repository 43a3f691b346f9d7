"""A recording as it is played: where in it the screen is, how fast it goes on, and the bar that shows it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NoReturn

from crewtop.model.snapshot import Snapshot
from crewtop.recording.file import RecordingError
from crewtop.recording.instants import InstantError, instant_of
from crewtop.recording.reader import Recording
from crewtop.tui.effects import Effect, Refresh, Say
from crewtop.tui.manner import Manner
from crewtop.tui.paint import Line, Role, Span, Spans, clip_spans, joined, width
from crewtop.tui.source import Unavailable
from crewtop.tui.views.question import Blank, Question

SPEEDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds of the recording that pass in one second."""

ONLY = "a recording holds snapshots only: what this view shows was asked of the database, and is not in it"


class Tape:
    """The place in a recording. clock is monotonic seconds; only: what a view says that would ask for more."""

    only = ONLY

    def __init__(self, recording: Recording, at: datetime, clock: Callable[[], float]) -> None:
        self.recording = recording
        self.speed = 1.0
        self.playing = False
        self._clock = clock
        self._at, self._since = at, clock()

    @property
    def at(self) -> datetime:
        """The instant that is shown now; at the end it stays."""
        passed = (self._clock() - self._since) * self.speed if self.playing else 0.0
        return min(self._at + timedelta(seconds=passed), self.recording.end)

    def shown(self) -> Snapshot:
        """The snapshot of that instant. Raises RecordingError where the file is damaged there."""
        at = self.at
        if at >= self.recording.end:
            self._stand(at)
        return self.recording.at(at).snapshot

    def play(self) -> Effect:
        """Go on, or stand still; from the end on again from the beginning."""
        at = self.at
        if self.playing:
            return self._stand(at)
        self._go(self.recording.begin if at >= self.recording.end else at)
        self.playing = True
        return Refresh()

    def step(self, pictures: int) -> Effect:
        """Stand still, so many snapshots on, or back if negative; where the file is damaged there, say so."""
        try:
            return self._stand(self.recording.step(self.at, pictures).at)
        except RecordingError as error:
            return Say(str(error))

    def move(self, seconds: float) -> Effect:
        """So many seconds on, or back if negative, without standing still."""
        return self._go(self.at + timedelta(seconds=seconds))

    def next_mark(self, direction: int) -> Effect:
        """Stand still where the next problem begins, or the one before if negative."""
        at = self.at
        times = [mark.at for mark in self.recording.marks]
        found = [when for when in times if when > at] if direction > 0 else [when for when in times if when < at]
        if not found:
            return Say("no problem begins after this" if direction > 0 else "no problem began before this")
        return self._stand(found[0] if direction > 0 else found[-1])

    def jump(self, typed: str, *, utc: bool) -> Effect | str:
        """To an instant as typed, or what is wrong with it."""
        try:
            return self._go(instant_of(typed, self.recording.begin, self.recording.end, utc=utc))
        except InstantError as error:
            return str(error)

    def pace(self, direction: int) -> Effect:
        """The next speed up, or down if negative."""
        at, place = self.at, SPEEDS.index(self.speed) + direction
        self.speed = SPEEDS[max(0, min(place, len(SPEEDS) - 1))]
        return self._go(at)

    def _go(self, at: datetime) -> Effect:
        self._at = max(self.recording.begin, min(at, self.recording.end))
        self._since = self._clock()
        return Refresh()

    def _stand(self, at: datetime) -> Effect:
        self.playing = False
        return self._go(at)

    def bar(self, cells: int, manner: Manner) -> Line:
        """Position, speed and the whole recording as one line, with marks where problems begin."""
        at, recording = self.at, self.recording
        sign = manner.glyph("▶") if self.playing else manner.own("■")
        left = joined(
            "  ",
            Span(f"{sign} {self.speed:g}x ", "accent", True),
            Span(f"{manner.clock(at)}  ", "text", True),
            Span(f"{manner.clock(recording.begin)} ", "muted"),
        )
        right = joined(Span(f" {manner.clock(recording.end)}  ", "muted"))
        room = cells - width(left) - width(right)
        return Line(clip_spans(joined(left, *self._track(max(0, room), manner), right), cells, manner.cut), "panel")

    def _track(self, room: int, manner: Manner) -> Spans:
        if room < 3:
            return ()
        whole = max((self.recording.end - self.recording.begin).total_seconds(), 1e-6)

        def cell(at: datetime) -> int:
            return min(room - 1, int((at - self.recording.begin).total_seconds() / whole * room))

        here = cell(self.at)
        track: list[tuple[str, Role]] = [("─", "accent" if place < here else "frame") for place in range(room)]
        for mark in self.recording.marks:
            place = cell(mark.at)
            if mark.severity == "wrong" or track[place][0] == "─":
                track[place] = ("●", "wrong") if mark.severity == "wrong" else ("▲", "watch")
        track[here] = ("█", "accent")
        return tuple(Span(manner.glyph(glyph), role) for glyph, role in track)


def about_time(tape: Tape, manner: Manner) -> Question:
    """The question to which time to go."""
    span = f"{manner.clock(tape.recording.begin)} to {manner.clock(tape.recording.end)} {manner.zone}"
    said = (Span(f"a time such as 14:03 or 14:03:10, or a date and time; it holds {span}", "muted"),)
    return Blank(
        "Go to which time?", (said,), "time", Say(""), then=lambda typed: tape.jump(typed, utc=manner.utc), enter="go"
    )


class Replayed:
    """A Source whose snapshots are those of a tape, and that knows nothing else."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def snapshot(self) -> Snapshot:
        """The snapshot of the instant that the tape is at."""
        try:
            return self._tape.shown()
        except RecordingError as error:
            raise Unavailable(str(error)) from None

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        return _not_recorded


def _not_recorded(*_: Any, **__: Any) -> NoReturn:
    raise Unavailable(ONLY)
