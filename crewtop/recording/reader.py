"""Recordings as they were seen: any second of them, and the next one."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from crewtop.model.snapshot import Snapshot
from crewtop.recording.delta import Broken, Plain, Words, applied
from crewtop.recording.file import SPOILED, About, Contents, Mark, RecordingError, Segment, index, unpacked
from crewtop.recording.shapes import Schema, instant, microseconds, shape_of

SUFFIX = ".crewtop"
_SHAPE = shape_of(Snapshot)
MOST_CELLS = 2_000_000
"""Values of one snapshot: rows that a file names again and again cannot fill the memory either."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A snapshot as recorded. at: where it is on the recording's axis, which is its own instant unless a clock went
    back."""

    at: datetime
    snapshot: Snapshot


class Frames:
    """The lines of one segment, put together one after another; what they share is kept once.

    raw: its lines as they are, of which the first is the schema; times: of its snapshots.
    """

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.raw = unpacked(segment)
        self._schema: Schema = json.loads(self.raw[0])["schema"]
        self.times = [instant(int(line[1 : line.index(b",")])) for line in self.raw[1:]]
        first = json.loads(self.raw[1])
        self._words = Words(first[3] if len(first) > 3 else ())
        self._plains: list[Plain] = [first[1]]

    def plain(self, place: int) -> Plain:
        """The snapshot in a place as plain data."""
        while (next_one := len(self._plains)) <= place:
            change = json.loads(self.raw[1 + next_one])[1]
            self._plains.append(applied(self._plains[-1], change, self._words))
        return self._plains[place]

    def first_line(self, place: int) -> list[Any]:
        """The snapshot in a place as the first of a segment; only before later ones are asked for."""
        plain = self.plain(place)
        assert len(self._plains) == place + 1
        return [microseconds(self.times[place]), plain, [], self._words.said]

    def snapshot(self, place: int) -> Snapshot:
        """The snapshot in a place."""
        plain = self.plain(place)
        _weigh(plain)
        found: Snapshot = _SHAPE.value(plain, self._schema)
        return found


def _weigh(plain: Plain) -> None:
    """Raises Broken where there is more in it than in any snapshot."""
    left, lists = MOST_CELLS, [plain]
    while lists:
        items = lists.pop()
        left -= len(items)
        if left < 0:
            raise Broken(f"a snapshot of more than {MOST_CELLS:,} values")
        lists += [item for item in items if isinstance(item, list)]


class Recording:
    """One recording, of one file or of several that follow one another.

    begin and end: of its first and its last snapshot; marks: where problems begin, in their order; damage: what of it
    cannot be shown, a line each.
    """

    def __init__(self, about: About, segments: Sequence[Segment], damage: Sequence[str] = ()) -> None:
        self.about, self.damage = about, damage
        self.segments = segments
        self.begin, self.end = segments[0].begin, segments[-1].end
        self.marks: tuple[Mark, ...] = tuple(mark for segment in segments for mark in segment.marks)
        self._begins = [segment.begin for segment in segments]
        self._open: Frames | None = None
        self._shown: Frame | None = None

    def at(self, when: datetime) -> Frame:
        """The newest snapshot that is not after an instant; before all of them the first one.

        Raises RecordingError where the file is damaged there.
        """
        number = max(0, bisect_right(self._begins, when) - 1)
        return self._frame(number, when)

    def step(self, when: datetime, steps: int) -> Frame:
        """The snapshot so many after the one at an instant, before if negative; at the ends the last one there is."""
        number = max(0, bisect_right(self._begins, when) - 1)
        place = self._place(number, when) + steps
        while place < 0 and number > 0:
            number -= 1
            place += len(self._frames(number).times)
        while place >= len(self._frames(number).times) and number < len(self.segments) - 1:
            place -= len(self._frames(number).times)
            number += 1
        times = self._frames(number).times
        return self._frame(number, times[max(0, min(place, len(times) - 1))])

    def _frame(self, number: int, when: datetime) -> Frame:
        place = self._place(number, when)
        frames = self._frames(number)
        at = frames.times[place]
        if self._shown is None or self._shown.at != at:
            with whole(frames.segment, at):
                self._shown = Frame(at, frames.snapshot(place))
        return self._shown

    def _place(self, number: int, when: datetime) -> int:
        return max(0, bisect_right(self._frames(number).times, when) - 1)

    def _frames(self, number: int) -> Frames:
        segment = self.segments[number]
        if self._open is None or self._open.segment != segment:
            with whole(segment, segment.begin):
                self._open = Frames(segment)
        return self._open


@contextmanager
def whole(segment: Segment, at: datetime) -> Iterator[None]:
    """Around what reads the bytes of an instant: raises RecordingError where crewtop never wrote such."""
    try:
        yield
    except SPOILED as error:
        raise RecordingError(f"{segment.path}: damaged at {at:%H:%M:%S}: {error}") from None


def open_recording(path: Path) -> Recording:
    """A recording from its file, or from a folder with the files of a rolling one, as far as they can be read.

    Raises RecordingError with what is wrong, in one line, where nothing can be.
    """
    found: list[Contents] = []
    damage: list[str] = []
    for file in files_of(path):
        try:
            found.append(index(file))
        except RecordingError as error:
            damage.append(str(error))
    damage += [each.damage for each in found if each.damage is not None]
    segments = [segment for each in found for segment in each.segments]
    if not segments:
        raise RecordingError(damage[0] if damage else f"{path}: nothing is recorded in it yet")
    return Recording(found[-1].about, sorted(segments, key=lambda segment: segment.begin), damage)


def files_of(path: Path) -> list[Path]:
    """The files of a recording, the oldest first."""
    return sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
