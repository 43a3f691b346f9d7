"""A span of a recording as a file of its own, such as can be mailed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO

from crewtop.recording.file import HEAD, MARK, Mark, Packer, RecordingError, beginning, packed, sum_of
from crewtop.recording.reader import Frames, Recording, whole
from crewtop.recording.shapes import microseconds


def cut(recording: Recording, begin: datetime, end: datetime, path: Path) -> int:
    """Write what a recording shows from begin to end into a new file; answers its size in bytes.

    The picture that stood at begin is its first. The file is there whole or not at all. Raises RecordingError where it
    exists, or cannot be written.
    """
    if path.exists():
        raise RecordingError(f"{path}: exists: choose another name, or remove it first")
    first = recording.at(begin).at
    parted = path.with_name(f".{path.name}.part")
    try:
        with parted.open("xb") as file:
            file.write(beginning(recording.about))
            for segment in recording.segments:
                if segment.end >= first and segment.begin <= end:
                    with whole(segment, segment.begin):
                        _copy(Frames(segment), first, end, file)
            file.flush()
            os.fsync(file.fileno())
        path.open("xb").close()  # nothing is replaced that came meanwhile; not every file system has links
        parted.replace(path)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        parted.unlink(missing_ok=True)
    return path.stat().st_size


def _copy(frames: Frames, first: datetime, end: datetime, file: IO[bytes]) -> None:
    """The part of a segment that lies in the span, as a segment."""
    places = [place for place, at in enumerate(frames.times) if first <= at <= end]
    if not places:
        return
    packer = Packer()
    data = b"".join(packer.raw(line) for line in _lines(frames, places)) + packer.end()
    times = frames.times[places[0]], frames.times[places[-1]]
    marks: list[Mark] = [mark for mark in frames.segment.marks if times[0] <= mark.at <= times[1]]
    total = sum_of(times[1], marks)
    file.write(HEAD.pack(MARK, len(data), len(total), microseconds(times[0])) + data + total)


def _lines(frames: Frames, places: list[int]) -> Iterator[bytes]:
    """The first picture whole, then the differences as they are."""
    schema, *lines = frames.raw
    yield schema
    yield lines[0] if places[0] == 0 else packed(frames.first_line(places[0]))
    yield from lines[places[0] + 1 : places[-1] + 1]
