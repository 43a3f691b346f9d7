"""Textual's reader of keys, but for pastes: what is pasted is text, whatever it holds. And Esc does not dawdle.

Textual reads on for escape sequences inside of a paste, and takes what is none for keys that were pressed: pasted text
with an escape and an R in it would press R.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable

from textual import constants
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.events import Paste
from textual.message import Message

ESCAPE_SECONDS = 0.025
"""How long an Esc may still be the beginning of a sequence, which terminals send in one piece. ESCDELAY in the
environment, in milliseconds, is obeyed instead."""

if "ESCDELAY" not in os.environ:
    constants.ESCAPE_DELAY = ESCAPE_SECONDS  # type: ignore[misc]  # it is read only when it is needed


class PastingParser(XTermParser):
    """Keeps what stands between the two marks of a paste from the parser that looks for keys."""

    def __init__(self) -> None:
        super().__init__()
        self._pasted: str | None = None
        self._fed = ""

    @property
    def undecided(self) -> bool:
        """Whether what came last may be a key or the beginning of a sequence."""
        return self._timeout_time is not None

    def feed(self, data: str) -> Iterable[Message]:
        """The events that data, the terminal's next characters, come to; a mark may be in several pieces."""
        while data:
            if self._pasted is None:
                data = yield from self._keys(data)
            else:
                data = yield from self._paste(data)

    def _keys(self, data: str) -> Generator[Message, None, str]:
        """Events up to where a paste begins; returns what is left."""
        begins = (self._fed + data).find(BRACKETED_PASTE_START)
        end = len(data) if begins < 0 else begins + len(BRACKETED_PASTE_START) - len(self._fed)
        yield from super().feed(data[:end])
        self._fed = (self._fed + data)[1 - len(BRACKETED_PASTE_START) :]
        if begins >= 0:
            self._pasted, self._fed = "", ""
        return data[end:]

    def _paste(self, data: str) -> Generator[Message, None, str]:
        """The paste, once its end is there; returns what is left."""
        assert self._pasted is not None
        text, ended, rest = (self._pasted + data).partition(BRACKETED_PASTE_END)
        self._pasted = None if ended else text
        if ended:
            yield Paste(text.replace("\x00", ""))
            yield from (event for event in super().feed(BRACKETED_PASTE_END) if not isinstance(event, Paste))
        return rest
