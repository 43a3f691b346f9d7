"""The user's own keys: keys.toml over the registry's defaults, taken as a whole or not at all."""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path

from crewtop.model.errors import CrewtopError
from crewtop.tui.actions import Command, View

_MOVES = ("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete")
_SAME = {"ctrl+h": "backspace", "ctrl+i": "tab", "ctrl+m": "enter"}
"""What a terminal sends for these is the other key."""

_FUNCTIONS = tuple(f"f{number}" for number in range(1, 13))
_CONTROLS = tuple(f"ctrl+{letter}" for letter in string.ascii_lowercase if f"ctrl+{letter}" not in _SAME)
KEY_NAMES: tuple[str, ...] = (
    *("enter", "escape", "space", "tab", "shift+tab", "backspace"),
    *(f"{modifier}{key}" for modifier in ("", "shift+", "ctrl+") for key in _MOVES),
    *_FUNCTIONS,
    *_CONTROLS,
)
"""The keys that have a name instead of a character."""

ALWAYS_QUITS = "ctrl+c"


class KeysError(CrewtopError):
    """keys.toml is wrong; the message names the file, the command, the key and what is allowed."""


@dataclass(frozen=True, slots=True)
class Keymap:
    """The registry as the user's keys make it. changed: the names of the commands whose keys are the user's own."""

    commands: tuple[Command, ...]
    changed: frozenset[str] = frozenset()

    def command_for(self, key: str, view: View) -> Command | None:
        """What a key does in a view, or None."""
        return next((c for c in self.commands if key in c.keys and view in c.views), None)

    def commands_in(self, view: View) -> list[Command]:
        """Everything that can be done in a view, in the order of help."""
        return [command for command in self.commands if view in command.views]

    def replayed(self, commands: Sequence[Command]) -> list[Command]:
        """What of a view's commands is left in a replay, after those of the time bar: those whose keys it leaves."""
        own = self.commands_in(View.REPLAY)
        taken = {key for command in own for key in command.keys}
        return [*own, *(command for command in commands if not taken.intersection(command.keys))]

    def key(self, name: str) -> str | None:
        """The first key of a command, for words such as 'undo: u'; None where the user took all of them away."""
        return next((command.keys[0] for command in self.commands if command.name == name and command.keys), None)


def read(path: Path | None, commands: Sequence[Command]) -> Keymap:
    """The keymap of a file; the defaults where there is none. Raises KeysError as load does, or if it is unreadable."""
    if path is None:
        return Keymap(tuple(commands))
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return Keymap(tuple(commands))
    except (OSError, UnicodeDecodeError) as error:
        raise KeysError(f"{path.name}: cannot be read: {error}") from None
    return load(text, commands, path.name)


def load(text: str, commands: Sequence[Command], file: str = "keys.toml") -> Keymap:
    """The keymap of a TOML text that has a list of keys for each command to change: retry = ["T", "f5"].

    The list replaces the command's keys; an empty one takes them all away, and the command palette still has it.
    Raises KeysError, and nothing of the text counts then, where a command or a key is unknown, where two commands of a
    view would have the same key, or where a key is too easily hit for what it does. file is only for the message.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KeysError(f"{file}: not TOML: {error}") from None
    names = {command.name for command in commands}
    for name in table:
        if name not in names:
            raise KeysError(f"{file}: there is no command {name!r}: {_nearest(name, names)} (crewtop keys lists them)")
    try:
        changed = tuple(_changed(command, table) for command in commands)
        for command, other in combinations(changed, 2):
            _apart(command, other, table)
    except ValueError as error:
        raise KeysError(f"{file}: {error}") from None
    return Keymap(changed, frozenset(table))


def _changed(command: Command, table: Mapping[str, object]) -> Command:
    if command.name not in table:
        return command
    keys = table[command.name]
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise ValueError(f'{command.name} is {keys!r}: it must be a list of keys such as ["T", "f5"]')
    for key in keys:
        if (why := _refusal(key, command)) is not None:
            raise ValueError(f"{command.name} = {key!r}: {why}")
    if command.name == "quit" and ALWAYS_QUITS not in keys:
        keys = [*keys, ALWAYS_QUITS]  # the one way out that always works
    return replace(command, keys=tuple(dict.fromkeys(keys)))


def _refusal(key: str, command: Command) -> str | None:
    """Why a command cannot have a key, or None."""
    if key in _SAME:
        return f"a terminal sends {_SAME[key]} for it: choose another"
    if key not in KEY_NAMES and not (len(key) == 1 and key.isprintable() and key != " "):
        return f"there is no such key: {_nearest(key, KEY_NAMES)}, or one character"
    if command.acting and key not in command.keys and not _deliberate(key):
        return "it acts, and this key is easily hit by mistake: use a capital letter, a sign, ctrl+letter or f1 to f12"
    return None


def _deliberate(key: str) -> bool:
    """Whether nobody hits a key while reading or moving about: small letters, digits and named keys are for that."""
    if len(key) == 1:
        return key.isupper() or not key.isalnum()
    return key in _FUNCTIONS or key in _CONTROLS


def _apart(command: Command, other: Command, table: Mapping[str, object]) -> None:
    """Raises ValueError where two commands that the user changed, or one of them, share a key in a view."""
    mine, rest = (command, other) if command.name in table else (other, command)
    if mine.name not in table:
        return
    for key in _shared(mine, rest):
        view = next(view for view in View if view in mine.views & rest.views)
        raise ValueError(f"{mine.name} = {key!r}: in {view} this is {rest.name}: give {rest.name} another key too")


def _shared(command: Command, other: Command) -> Iterator[str]:
    if command.views & other.views:
        yield from (key for key in command.keys if key in other.keys)


def _nearest(word: str, known: Sequence[str] | set[str]) -> str:
    close = get_close_matches(word.lower(), sorted(known), 1, 0.5)
    return f"did you mean {close[0]}" if close else f"one is {min(known)}"
