"""What the command line chooses for the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from crewtop.tui.theme import DEFAULT, PRODUCTION

INTERVALS_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""The pauses between two updates that + and - go through."""


@dataclass(frozen=True, slots=True)
class ScreenOptions:
    """How the screen is to be.

    theme is a name; theme_folder holds the user's own themes, keys_file the user's own keys. interval is in seconds.
    ascii keeps our own Unicode away. colour 'auto' follows NO_COLOR, COLORTERM and TERM. utc, or this machine's times.
    title stands in for the database's name. pool_worker is how the id of the embedded worker begins. read_only lets
    acting keys refuse. mouse false leaves clicks and the wheel to the terminal; bell rings it for a new alert.
    columns of the task list, by name and in order; empty: all that fit. production are the patterns of
    crewtop.tui.theme.is_production for connections that wear production_theme. first_run: this user has not seen the
    screen before. views are saved filters by name.
    """

    theme: str = DEFAULT
    theme_folder: Path | None = None
    interval: float = 1.0
    ascii: bool = False
    colour: Literal["auto", "16", "none"] = "auto"
    utc: bool = True
    title: str = ""
    pool_worker: str | None = None
    read_only: bool = False
    keys_file: Path | None = None
    mouse: bool = True
    bell: bool = False
    columns: tuple[str, ...] = ()
    production: tuple[str, ...] = ()
    production_theme: str = PRODUCTION
    first_run: bool = False
    views: Mapping[str, str] = field(default_factory=dict)
