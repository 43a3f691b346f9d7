"""Snapshots into a file."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import crewtop
from crewtop.model.problems import problems
from crewtop.model.snapshot import Snapshot
from crewtop.recording.delta import Words
from crewtop.recording.file import FRAMES, HEAD, MARK, About, Mark, Packer, RecordingError, beginning, sum_of
from crewtop.recording.shapes import microseconds, schema_of, shape_of
from crewtop.text import masked, shown

_SHAPE, _SCHEMA = shape_of(Snapshot), schema_of(Snapshot)
_TICK = timedelta(milliseconds=1)


END_BYTES = 16
"""What zstd adds at most to end a frame."""


class Full(RecordingError):
    """The file has reached its largest size. It is whole, and holds what was recorded until then."""


class Writer:
    """Writes snapshots one after another; each is in the file, for whoever reads it, when write returns.

    most_bytes: how large the file may get; alarming: problems that had begun before it, kind and name. Of those that
    stand, alarming tells in turn.
    """

    def __init__(
        self, path: Path, where: str, interval: float, most_bytes: int, alarming: frozenset[str] = frozenset()
    ) -> None:
        """Raises RecordingError where the file exists, or cannot be written: then there is none."""
        self.path = path
        self.begin: datetime | None = None
        self._last: Snapshot | None = None
        self.end: datetime | None = None
        self._most_bytes = most_bytes
        self.alarming = alarming
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise RecordingError(f"{path}: exists: choose another name, or remove it first") from None
        except OSError as error:
            raise RecordingError(f"{path}: cannot be written: {error.strerror}") from None
        self.size = 0
        self._packer: Packer | None = None
        self._marks: list[Mark] = []
        try:
            self._add(beginning(About(shown(masked(where)), interval, crewtop.__version__)))
        except RecordingError:
            self.close()
            path.unlink(missing_ok=True)
            raise

    def write(self, snapshot: Snapshot) -> None:
        """Add a snapshot. Raises Full where it does not fit any more, and RecordingError where it cannot be written.

        The axis of a recording never goes back: while the database's clock is behind what was recorded before, as
        after a change of servers, snapshots follow one another by the millisecond.
        """
        at = snapshot.at if self.end is None else max(snapshot.at, self.end + _TICK)
        alarming = {f"{found.kind} {found.name}": found for found in problems(snapshot)}
        marks = [
            Mark(at, found.severity, shown(masked(f"{found.name}: {found.kind}")))
            for key, found in alarming.items()
            if key not in self.alarming
        ]
        told = [[mark.severity, mark.name] for mark in marks]
        if self._packer is not None and self._frames < FRAMES:
            data = self._packer.line([microseconds(at), _SHAPE.delta(self._last, snapshot, self._words), told])
            self._append(data, at, self._marks + marks)
        else:
            self._close_segment()
            self._open_segment(snapshot, at, told, marks)
        self._marks += marks
        self._frames += 1
        self.alarming = frozenset(alarming)
        self._last, self.end = snapshot, at
        self.begin = self.begin or at

    def close(self) -> None:
        """End the file."""
        if self._file >= 0:
            try:
                self._close_segment()
            finally:
                os.close(self._file)
                self._file = -1

    def _open_segment(self, snapshot: Snapshot, at: datetime, told: list[Any], marks: list[Mark]) -> None:
        self._start, self._packer, self._words = self.size, Packer(), Words()
        self._marks = []
        self._frames = 0
        head = HEAD.pack(MARK, 0, 0, microseconds(at))
        first = self._packer.line({"schema": _SCHEMA, "crewtop": crewtop.__version__})
        self._append(head + first + self._packer.line([microseconds(at), _SHAPE.plain(snapshot), told]), at, marks)

    def _close_segment(self) -> None:
        if self._packer is None or self.end is None:
            return
        self._add(self._packer.end())
        length = self.size - self._start - HEAD.size
        total = sum_of(self.end, self._marks)
        self._add(total)
        lengths = HEAD.pack(MARK, length, len(total), 0)[4:12]
        try:
            os.pwrite(self._file, lengths, self._start + 4)
            os.fdatasync(self._file)
        except OSError as error:
            raise RecordingError(f"{self.path}: cannot be written: {error.strerror}") from None
        self._packer = None

    def _append(self, data: bytes, at: datetime, marks: list[Mark]) -> None:
        """Add a picture, where there is also room for what ends its segment, with these marks."""
        if self.size + len(data) + END_BYTES + len(sum_of(at, marks)) > self._most_bytes:
            self._packer = None  # the segment stays as one that was cut off
            raise Full(f"{self.path}: has reached its largest size of {self._most_bytes / 1e6:g} MB")
        self._add(data)

    def _add(self, data: bytes) -> None:
        try:
            while data:
                written = os.write(self._file, data)
                self.size += written
                data = data[written:]
        except OSError as error:
            self._packer, self._most_bytes = None, 0  # nothing whole can follow half a line
            raise RecordingError(f"{self.path}: cannot be written: {error.strerror}") from None
