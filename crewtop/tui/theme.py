"""Themes: one TOML file each, shipped ones and the user's own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources.abc import Traversable
from pathlib import Path

from crewtop.model.shipped import shipped

COLOURS = (
    "ground",
    "panel",
    "cursor",
    "text",
    "muted",
    "faint",
    "accent",
    "link",
    "wrong",
    "watch",
    "moving",
    "waiting",
    "money",
)
"""The keys of a theme's [colours], each with a meaning; themes/crewtop-dark.toml says which."""

OPTIONAL = ("frame",)
"""Keys that a theme may leave out. Without frame the rules are faint and the name of the program has the accent."""

DEFAULT = "crewtop-dark"
PRODUCTION = "crewtop-production"

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


class ThemeError(ValueError):
    """A theme file is wrong; the message names the file, the key, the value and what is allowed."""


@dataclass(frozen=True, slots=True)
class Theme:
    """A named set of colours, each '#rrggbb', one for each of COLOURS and perhaps some of OPTIONAL."""

    name: str
    dark: bool
    colours: dict[str, str]


def parse(text: str, file: str) -> Theme:
    """A theme from its TOML text. Raises ThemeError; file is only for the message."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ThemeError(f"theme {file}: not TOML: {error}") from None
    name, dark, colours = data.get("name"), data.get("dark"), data.get("colours")
    if not isinstance(name, str):
        raise _wrong(file, "name", name, "a text")
    if not isinstance(dark, bool):
        raise _wrong(file, "dark", dark, "true or false")
    if not isinstance(colours, dict):
        raise _wrong(file, "colours", colours, "a table of colours")
    for key in colours:
        if key not in (*COLOURS, *OPTIONAL):
            raise ThemeError(f"theme {file}: colours.{key} is unknown: use {', '.join((*COLOURS, *OPTIONAL))}")
    for key in (*COLOURS, *(key for key in OPTIONAL if key in colours)):
        value = colours.get(key)
        if not isinstance(value, str) or not _COLOUR.fullmatch(value):
            raise _wrong(file, f"colours.{key}", value, "a colour such as '#1f2733'")
    return Theme(name, dark, colours)


def load(folder: Path | None) -> tuple[dict[str, Theme], list[str]]:
    """The shipped themes and those of the user's folder by name, and a line for each file that could not be used.

    A user's theme replaces a shipped one of the same name. A folder that does not exist counts as empty.
    """
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    files: list[Traversable] = sorted(shipped("themes").iterdir(), key=lambda file: file.name)
    for file in (*files, *_users(folder, problems)):
        if not file.name.endswith(".toml"):
            continue
        try:
            theme = parse(file.read_text(encoding="utf-8"), file.name)
        except ThemeError as error:
            problems.append(str(error))
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"theme {file.name}: cannot be read: {error}")
        else:
            themes[theme.name] = theme
    return themes, problems


def is_production(patterns: Iterable[str], database: str, host: str) -> bool:
    """Whether a pattern such as 'prod*' or '*@db1*' fits this connection, whatever the case of letters.

    It may fit "database@host" or the database's name alone, so that 'shop' and '*-prod' mean what they seem to: to take
    a test for production costs a red frame, the other mistake costs more. host "" is for a server of this machine.
    """
    names = (f"{database}@{host}".lower(), database.lower())
    return any(fnmatchcase(name, pattern.lower()) for pattern in patterns for name in names)


def _users(folder: Path | None, problems: list[str]) -> Iterable[Path]:
    if folder is None:
        return ()
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return ()
    except OSError as error:
        problems.append(f"theme folder {folder}: cannot be read: {error.strerror}")
        return ()


def _wrong(file: str, key: str, value: object, allowed: str) -> ThemeError:
    found = "is missing" if value is None else f"is {value!r}"
    return ThemeError(f"theme {file}: {key} {found}: it must be {allowed}")
