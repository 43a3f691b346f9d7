"""A cursor that belongs to a thing, not to a line number, and the part of a list that is in sight."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Selection(Generic[Key]):
    """Where the operator stands in a list that changes underneath.

    The cursor stays with its key through inserts, removals and new orders. If its key leaves the list, the cursor
    stands on nothing (current is None) until the operator moves it: no other thing slides under it unseen.
    """

    def __init__(self) -> None:
        self.keys: Sequence[Key] = ()
        self.cursor: Key | None = None
        self.top = 0
        self._position = 0
        self._index: dict[Key, int] = {}

    @property
    def current(self) -> Key | None:
        """The key under the cursor, or None where it left the list or the list is empty."""
        return self.cursor if self.cursor in self._index else None

    @property
    def position(self) -> int:
        """The cursor's line in the list; where its key was, if that left."""
        return self._position

    @property
    def lost(self) -> bool:
        """Whether the key under the cursor left the list."""
        return self.cursor is not None and self.current is None and bool(self.keys)

    def update(self, keys: Sequence[Key]) -> None:
        """Take over a new list. A list that was scrolled keeps the cursor on its line of the screen."""
        before = self._position
        self.keys = keys
        self._index = {key: i for i, key in enumerate(keys)}
        if self.cursor is None and keys:
            self.cursor = keys[0]
        if self.cursor is not None:
            self._position = self._index.get(self.cursor, min(before, max(0, len(keys) - 1)))
        if self.top > 0:
            self.top = max(0, self.top + self._position - before)

    def restart(self) -> None:
        """The list that comes is another one: begin at its first line."""
        self.cursor, self.top, self._position = None, 0, 0

    def window(self, height: int) -> range:
        """The lines in sight when height of them fit; scrolls as little as keeps the cursor in it."""
        height = max(1, height)
        self.top = min(self.top, max(0, len(self.keys) - height), self._position)
        self.top = max(self.top, self._position - height + 1, 0)
        return range(self.top, min(len(self.keys), self.top + height))

    def move(self, lines: int) -> None:
        """Go down by so many lines (up if negative), as far as there are any."""
        if self.lost and lines > 0:
            lines -= 1  # what followed the lost one has taken its line
        self.place(self._position + lines)

    def place(self, position: int) -> None:
        """Go to a line of the list, or to the nearest one."""
        if self.keys:
            self._position = min(max(0, position), len(self.keys) - 1)
            self.cursor = self.keys[self._position]
