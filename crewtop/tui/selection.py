"""A cursor and marks that belong to things, not to line numbers, and the part of a list that is in sight."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing")


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
        self._in_sight = 1
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
        self._in_sight = height = max(1, height)
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

    def click(self, line: int) -> bool:
        """Go to a line of those in sight, 0 at the top, if there is one; whether the cursor was there already."""
        if line not in range(self._in_sight) or self.top + line >= len(self.keys):
            return False
        before = self.current
        self.place(self.top + line)
        return self.current == before


class Marks(Generic[Key, Thing]):
    """Marked things as last seen, in the order of marking. Those that leave the list stay marked.

    away: how many of them are not in the list now; counted when the list changes, never while it is drawn.
    """

    def __init__(self) -> None:
        self.things: dict[Key, Thing] = {}
        self.away = 0
        self._list: Mapping[Key, Thing] = {}

    def update(self, things: Mapping[Key, Thing]) -> None:
        """Take over a new list."""
        self._list = things
        here = self.things.keys() & things.keys()
        for key in here:
            self.things[key] = things[key]
        self.away = len(self.things) - len(here)

    def toggle(self, key: Key) -> None:
        """Mark a thing of the list, or take its mark away."""
        if self.things.pop(key, None) is None:
            self.things[key] = self._list[key]

    def all(self) -> None:
        """Mark the whole list."""
        self.things |= self._list

    def invert(self) -> None:
        """Turn the marks of the list around; those of what is not in it stay."""
        for key in self._list:
            self.toggle(key)

    def drop(self, keys: Iterable[Key]) -> None:
        """Take the marks of these away, in the list or not."""
        for key in keys:
            self.things.pop(key, None)
        self.update(self._list)

    def clear(self) -> None:
        """Take all marks away."""
        self.things, self.away = {}, 0
