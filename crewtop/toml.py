"""Find and read crewtop.toml. Apart from the settings, because the screen looks at its theme before anything slow."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from crewtop.model.errors import CrewtopError


def find(file: Path | None) -> Path | None:
    """The file that --config or CREWTOP_CONFIG names, else ./crewtop.toml, else None.

    Raises CrewtopError where the named one is not there.
    """
    named = file or (Path(os.environ["CREWTOP_CONFIG"]) if os.environ.get("CREWTOP_CONFIG") else None)
    if named is not None:
        if not named.is_file():
            raise CrewtopError(f"{named}: there is no such file: name a crewtop.toml with --config")
        return named.resolve()
    here = Path.cwd() / "crewtop.toml"
    return here if here.is_file() else None


def read(path: Path) -> dict[str, Any]:
    """Its tables. Raises CrewtopError, with the line, where it is not TOML."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise CrewtopError(f"{path}: {error}") from None
