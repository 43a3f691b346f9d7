"""The terminal's title: which system this is, and whether its figures can be trusted, in the list of windows too."""

from __future__ import annotations

import re
from collections.abc import Mapping

from crewtop.text import masked, shown

PUSH, POP = "\x1b[22;2t", "\x1b[23;2t"
"""Let the terminal remember its title, and put it back. Terminals that know neither ignore them."""

LONGEST_CHARACTERS = 80

_URL = re.compile(r"\S*://\S*")


def able(environment: Mapping[str, str]) -> bool:
    """Whether this terminal has a title: the Linux console would print some of the sequence."""
    return environment.get("TERM", "") not in ("", "dumb", "linux", "unknown")


def words(database: str, host: str = "", *, read_only: bool = False, stale: bool = False) -> str:
    """What the title says, such as 'crewtop shop@db1 read-only STALE'. host "" is left out, as is a database of "".

    The names come from a server or a user: should one of them be a DSN, none of it is told.
    """
    name = f"{database}@{host}" if database and host else database or host
    said = ("crewtop", _URL.sub("", name), "read-only" if read_only else "", "STALE" if stale else "")
    return " ".join(word for word in said if word)


def sequence(text: str) -> str:
    """What sets the title: OSC 2 around the text, which is masked, made visible and cut."""
    return f"\x1b]2;{shown(masked(text))[:LONGEST_CHARACTERS]}\x07"


class Title:
    """What has to be sent, and only when it changed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._able = able(environment)
        self._text: str | None = None

    def show(self, text: str) -> str:
        """The bytes that bring the title to this text: none where it has it, or where there is no title."""
        if not self._able or text == self._text:
            return ""
        self._text = text
        return sequence(text)
