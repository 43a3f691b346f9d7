"""The newest hours of a system, kept in a folder: a file for each part of them, of which the oldest are dropped."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from crewtop.model.snapshot import Snapshot
from crewtop.recording.file import RecordingError
from crewtop.recording.reader import SUFFIX, files_of
from crewtop.recording.writer import Full, Writer

FILES = 24
"""Into so many the hours and the bytes are parted: what is dropped at once is a 24th of them."""

_LOCK = "lock"


class Rolling:
    """Writes snapshots into files of a folder. hours: how long they are kept; most_bytes: what all may take together.

    Every file is a recording of its own. The folder never takes more than most_bytes, even for a moment.
    """

    def __init__(self, folder: Path, where: str, interval: float, hours: float, most_bytes: int) -> None:
        self._folder, self._where, self._interval = folder, where, interval
        self._seconds, self._most_bytes = hours * 3_600, most_bytes
        self._alarming: frozenset[str] = frozenset()
        self._writer: Writer | None = None

    def write(self, snapshot: Snapshot) -> None:
        """Add a snapshot, to a new file where the last one is full. Raises RecordingError."""
        writer = self._writer
        if writer is None or writer.begin is None or self._over(writer, snapshot):
            writer = self._next(snapshot)
        try:
            writer.write(snapshot)
        except Full:
            self._next(snapshot).write(snapshot)
        except RecordingError:
            self.close()
            raise

    def close(self) -> None:
        """End the file that is open."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            self._alarming = writer.alarming
            writer.close()

    def _over(self, writer: Writer, snapshot: Snapshot) -> bool:
        return writer.begin is not None and (snapshot.at - writer.begin).total_seconds() >= self._seconds / FILES

    def _next(self, snapshot: Snapshot) -> Writer:
        self.close()
        try:
            self._drop()
        except OSError as error:
            raise RecordingError(f"{self._folder}: cannot be tidied: {error.strerror}") from None
        path = self._folder / f"{snapshot.at:%Y%m%dT%H%M%S-%f}{SUFFIX}"
        self._writer = Writer(path, self._where, self._interval, self._most_bytes // FILES, self._alarming)
        return self._writer

    def _drop(self) -> None:
        """Delete what is too old, and the oldest until there is room for one more file."""
        files = [(path, path.stat()) for path in files_of(self._folder)]
        room = self._most_bytes - self._most_bytes // FILES
        taken = sum(found.st_size for _, found in files)
        for path, found in files:
            if taken > room or found.st_mtime < time.time() - self._seconds:
                path.unlink(missing_ok=True)
                taken -= found.st_size


@contextlib.contextmanager
def only_writer(folder: Path, where: str) -> Iterator[str | None]:
    """Be the one who writes into a folder, which is made where there is none.

    Yields None, or of which system the recording is that another process writes there now. Raises RecordingError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RecordingError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield os.pread(lock, 1_000, 0).decode("utf-8", "replace")
            return
        os.ftruncate(lock, 0)
        os.pwrite(lock, where.encode(), 0)
        yield None
    finally:
        os.close(lock)
