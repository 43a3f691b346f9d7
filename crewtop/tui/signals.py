"""What goes to the terminal and is no picture: its title, its bell, and the operator's clipboard."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from typing import Any

from crewtop import words
from crewtop.tui.clipboard import into_tmux, sequences
from crewtop.tui.session import Session
from crewtop.tui.title import Title

BELL = "\a"


class Signals:
    """write sends to the terminal, spawn runs something beside the screen."""

    def __init__(
        self, session: Session, write: Callable[[str], None], spawn: Callable[[Coroutine[Any, Any, Any]], Any]
    ) -> None:
        self._session, self._write, self._spawn = session, write, spawn
        self._title = Title(os.environ)
        self._rung = session.alarms

    def show(self) -> None:
        """Bring the title in line with the session, and ring for new alarms if that is wanted."""
        session = self._session
        if session.alarms > self._rung and session.options.bell:
            self._write(BELL)
        self._rung = session.alarms
        if changed := self._title.show(session.title):
            self._write(changed)

    def copy(self, text: str) -> None:
        """Put a text on the clipboard, and say so where that cannot be done, or not with all of it."""
        offer = sequences(text, os.environ)
        if offer.sequence:
            self._write(offer.sequence)
        if offer.tmux:
            self._spawn(into_tmux(offer.text, os.environ))
        elif not offer.sequence:
            self._session.say("this terminal has no clipboard that a program can reach", "watch")
        if offer.left_out:
            said = f"copied, but for the last {words.count(offer.left_out)} characters: too long"
            self._session.say(said, "watch")
