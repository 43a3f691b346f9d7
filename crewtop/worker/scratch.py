"""Where runs have their own folders. A killed worker cannot clear up: the next one on the host does it for it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "crewtop-runs-"
YOUNG_SECONDS = 60.0
"""A folder younger than this may belong to a worker that has not locked it yet."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder for as long as the block lasts, after those were removed that killed workers left behind."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            _remove_if_left(left)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_if_left(folder: Path) -> None:
    """Remove a folder of ours whose worker is gone: the kernel has released its lock. Raises OSError if it is held."""
    found = folder.lstat()
    if found.st_uid != os.geteuid() or time.time() - found.st_mtime < YOUNG_SECONDS:
        return
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
