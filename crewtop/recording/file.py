"""How a recording lies in a file, and what all who write and read it have to agree on.

    crewtop recording 1\\n      the major version: a reader refuses a newer one
    {"crewtop": ..., ...}\\n    a line of JSON about the recording
    segment, segment, ...

A segment is a HEAD, then a zstd frame of JSON lines, then a line of JSON that sums it up. Its first line is the schema,
the second a whole snapshot, each further one the difference to the snapshot before: [instant, difference, marks]. zstd
is flushed after each line, so that whatever kills the writer, all whole lines can be read. The lengths in the HEAD are
written once the segment is whole: until then they are 0, and the segment reaches to the end of the file. So any
second is found by hopping from HEAD to HEAD. A segment needs nothing outside of it: it can be copied as it is.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import zstandard

from crewtop.model.errors import CrewtopError
from crewtop.model.problems import Severity
from crewtop.recording.shapes import Unreadable, instant, microseconds

VERSION = 1
MAGIC = b"crewtop recording "
HEAD = struct.Struct("<4sIIq")
"""MARK, bytes of the zstd frame, bytes of the sum, microseconds since 1970 of its first snapshot."""

MARK = b"\nseg"
FRAMES = 120
"""Snapshots of a segment: to show any of them takes at most so many steps."""

MOST_BYTES = 64 * 2**20
"""Of a segment, unpacked: what is larger was not written by crewtop."""

_PACKING = zstandard.ZstdCompressionParameters.from_level(
    17, window_log=21, source_size=2**20, write_content_size=False
)
"""A snapshot a second can afford 2 ms: half as much again as level 9 would save."""


class RecordingError(CrewtopError):
    """A file that is no recording, or not one that can be read, in one line."""


SPOILED = (Unreadable, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What comes of reading bytes that crewtop never wrote."""


@dataclass(frozen=True, slots=True)
class About:
    """What a recording is of: where, in words; interval, the seconds between two snapshots; the writer's version."""

    where: str
    interval: float
    crewtop: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An instant at which a problem begins; what it is about, safe to show."""

    at: datetime
    severity: Severity
    name: str


@dataclass(frozen=True, slots=True)
class Segment:
    """Where a segment lies: offset and length, in bytes, of its zstd frame. end: its last snapshot's instant."""

    path: Path
    offset: int
    length: int
    begin: datetime
    end: datetime
    marks: tuple[Mark, ...]


class Packer:
    """Lines of one segment into bytes."""

    def __init__(self) -> None:
        self._zstd = zstandard.ZstdCompressor(compression_params=_PACKING).compressobj()

    def line(self, value: Any) -> bytes:
        """The bytes of a line: all that it takes to read it."""
        return self.raw(packed(value))

    def raw(self, line: bytes) -> bytes:
        """The same of a line that is JSON already."""
        return self._zstd.compress(line + b"\n") + self._zstd.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def end(self) -> bytes:
        """The bytes that end the segment."""
        return self._zstd.flush()


def packed(value: Any) -> bytes:
    """A value as a line of JSON without its end."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def beginning(about: About) -> bytes:
    """The first bytes of a file."""
    told = {"crewtop": about.crewtop, "where": about.where, "interval": about.interval}
    return MAGIC + f"{VERSION}\n".encode() + packed(told) + b"\n"


def sum_of(end: datetime, marks: Iterable[Mark]) -> bytes:
    """The line that sums a segment up."""
    return packed([microseconds(end), [[microseconds(mark.at), mark.severity, mark.name] for mark in marks]])


def marks_of(told: Any) -> tuple[Mark, ...]:
    """The marks of such a line."""
    return tuple(
        Mark(instant(at), "wrong" if severity == "wrong" else "watch", str(name)) for at, severity, name in told
    )


def unpacked(segment: Segment) -> list[bytes]:
    """The whole lines of a segment, as far as it goes. Raises RecordingError where it is damaged, or gone by now."""
    try:
        with segment.path.open("rb") as file:
            file.seek(segment.offset)
            data = file.read(segment.length)
    except OSError as error:
        raise RecordingError(f"{segment.path}: cannot be read: {error.strerror}") from None
    return _lines(data, segment.path)


def _lines(data: bytes, path: Path) -> list[bytes]:
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=2**23).stream_reader(data, read_across_frames=False)
        text = b"".join(_pieces(reader))
    except zstandard.ZstdError as error:
        raise RecordingError(f"{path}: damaged: {error}") from None
    return text.split(b"\n")[:-1]


def _pieces(reader: IO[bytes]) -> Iterator[bytes]:
    size = 0
    while piece := reader.read(2**20):
        size += len(piece)
        if size > MOST_BYTES:
            raise zstandard.ZstdError(f"a segment of more than {MOST_BYTES >> 20} MB")
        yield piece


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file is about, its segments, and why there are no more of them if it is damaged."""

    about: About
    segments: list[Segment]
    damage: str | None


def index(path: Path) -> Contents:
    """What is in a file, up to where it is damaged. Raises RecordingError where it is no recording of this version."""
    found: list[Segment] = []
    damage = None
    try:
        with path.open("rb") as file:
            about = _about(file, path)
            try:
                found += _segments(file, path, path.stat().st_size)
            except (RecordingError, *SPOILED) as error:
                told = str(error) if isinstance(error, RecordingError) else f"{path}: damaged: {error}"
                damage = f"{told}: what comes after it cannot be shown"
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from None
    except SPOILED as error:
        raise RecordingError(f"{path}: damaged: {error}") from None
    return Contents(about, found, damage)


def _about(file: IO[bytes], path: Path) -> About:
    first = file.readline(64)
    if not first.startswith(MAGIC):
        cut = "cut off before its first picture" if MAGIC.startswith(first) else "no recording of crewtop"
        raise RecordingError(f"{path}: {cut}")
    version = first.removeprefix(MAGIC).strip()
    if not first.endswith(b"\n") or not version.isdigit():
        raise RecordingError(f"{path}: cut off before its first picture")
    if int(version) > VERSION:
        raise RecordingError(f"{path}: version {int(version)}, and this crewtop reads up to {VERSION}: use a newer one")
    line = file.readline(2**16)
    if not line.endswith(b"\n"):
        raise RecordingError(f"{path}: cut off before its first picture")
    told = json.loads(line)
    return About(str(told["where"]), float(told["interval"]), str(told["crewtop"]))


def _segments(file: IO[bytes], path: Path, size: int) -> Iterator[Segment]:
    while len(head := file.read(HEAD.size)) == HEAD.size:
        mark, length, sum_length, begin = HEAD.unpack(head)
        if mark != MARK:
            raise RecordingError(f"{path}: damaged at byte {file.tell() - HEAD.size:,}")
        offset = file.tell()
        if not length or offset + length + sum_length > size:
            open_one = _unfinished(path, offset, file.read(length or -1), begin)
            if open_one is not None:
                yield open_one
            return
        file.seek(length, 1)
        end, marks = json.loads(file.read(sum_length))
        yield Segment(path, offset, length, instant(begin), instant(end), marks_of(marks))


def _unfinished(path: Path, offset: int, data: bytes, begin: int) -> Segment | None:
    """The last segment of a recording that still goes on, or was cut off; None where no snapshot of it is whole."""
    frames = [json.loads(line) for line in _lines(data, path)[1:]]
    if not frames:
        return None
    marks = tuple(mark for frame in frames for mark in marks_of([[frame[0], *each] for each in frame[2]]))
    return Segment(path, offset, len(data), instant(begin), instant(frames[-1][0]), marks)
