"""How the screen is to look, found out before the settings are read: they take longer than the first frame may."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from crewtop import toml
from crewtop.model.errors import CrewtopError

_WORDS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)


@dataclass(frozen=True, slots=True)
class Style:
    """How the screen is to look: first as far as flags say, then with what [screen] says about the rest.

    theme, interval and production_theme None are left to the defaults. interval in seconds. production: patterns of
    connections that get production_theme. columns: of the task list, all that fit where empty. views: saved filters by
    name. The rest is as in crewtop.tui.options.
    """

    theme: str | None = None
    interval: float | None = None
    ascii: bool = False
    colour: Literal["auto", "16", "none"] = "auto"
    read_only: bool = False
    title: str = ""
    mouse: bool = True
    bell: bool = False
    utc: bool = True
    columns: tuple[str, ...] = ()
    production: tuple[str, ...] = ()
    production_theme: str | None = None
    views: Mapping[str, str] = field(default_factory=dict)


def styled(style: Style, file: Path | None) -> Style:
    """The style with what flags left open filled in from the environment and the file, at a first look.

    The settings check it properly later; a mistake in the file is shown then, and counts as nothing here.
    """
    look = _Look(_table(file, "screen"), os.environ)
    views = {name: text for name, text in _table(file, "views").items() if isinstance(text, str)}
    return replace(
        style,
        theme=style.theme or look.at("theme", _text, None),
        interval=style.interval or look.at("interval_seconds", _interval, None),
        mouse=style.mouse and look.at("mouse", _truth, True),
        bell=style.bell or look.at("bell", _truth, False),
        utc=look.at("utc", _truth, style.utc),
        columns=look.at("columns", _texts, style.columns),
        production=look.at("production", _texts, style.production),
        production_theme=look.at("production_theme", _text, style.production_theme),
        views=views,
    )


def config_folder() -> Path:
    """Where a user's own keys.toml and themes/ are looked for."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "crewtop"


def theme_folder() -> Path:
    """Where a user's own themes are looked for."""
    return config_folder() / "themes"


def keys_file() -> Path:
    """Where a user's own keys are looked for."""
    return config_folder() / "keys.toml"


def first_run_marker() -> Path:
    """The file that says that this user has seen the screen before."""
    from platformdirs import user_state_path

    return user_state_path("crewtop") / "seen"


def first_run(marker: Path) -> bool:
    """Whether this is the first time that the marker is asked for: it is left behind.

    False too where it cannot be written: a hint that comes every time is worse than none.
    """
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch(exist_ok=False)
    except OSError:
        return False
    return True


def _table(file: Path | None, name: str) -> Mapping[str, object]:
    try:
        path = toml.find(file)
        table = toml.read(path).get(name, {}) if path else {}
    except CrewtopError:
        return {}
    return table if isinstance(table, dict) else {}


@dataclass(frozen=True, slots=True)
class _Look:
    """A first look at [screen]: what the environment says, else what the file does, else a default."""

    table: Mapping[str, object]
    environment: Mapping[str, str]

    def at(self, key: str, read: Callable[[object], Any], default: Any) -> Any:
        """The value of a key as read understands it; read answers None for what it does not."""
        for value in (self.environment.get(f"CREWTOP_SCREEN__{key.upper()}"), self.table.get(key)):
            if value is not None and (found := read(value)) is not None:
                return found
        return default


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: object) -> tuple[str, ...] | None:
    """A list of texts; the environment holds it as JSON, as for the settings."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return tuple(value) if isinstance(value, list) and all(isinstance(text, str) for text in value) else None


def _truth(value: object) -> bool | None:
    if isinstance(value, str):
        return _WORDS.get(value.lower())
    return value if isinstance(value, bool) else None


def _interval(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0.1 <= seconds <= 60 else None
