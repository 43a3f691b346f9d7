"""Which of a few files changed since the last look, so that themes and keys are in force once they are saved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

Stamp = tuple[int, int]
"""When a file was modified, in ns, and its size in bytes."""


class Watched:
    """Files, and folders of TOML files, that may appear, change and go.

    No file is read and none is held open: a look costs one stat a file, so it can be taken once a second.
    """

    def __init__(self, places: Iterable[Path]) -> None:
        self._places = tuple(places)
        self._stamps = self._look()

    def changed(self) -> list[Path]:
        """The files that are new, other or gone since the last call, or since the beginning; sorted."""
        before, self._stamps = self._stamps, self._look()
        return sorted(
            path for path in before.keys() | self._stamps.keys() if before.get(path) != self._stamps.get(path)
        )

    def _look(self) -> dict[Path, Stamp]:
        stamps = {}
        for place in self._places:
            for path in _files(place):
                try:
                    status = path.stat()
                except OSError:  # gone, or out of reach, which is the same to whoever wants to read it
                    continue
                stamps[path] = status.st_mtime_ns, status.st_size
        return stamps


def _files(place: Path) -> Iterator[Path]:
    try:
        yield from (Path(entry) for entry in os.scandir(place) if entry.name.endswith(".toml"))
    except NotADirectoryError:
        yield place
    except OSError:
        return
