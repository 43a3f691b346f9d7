"""What is noticed of files that the user edits while the screen runs."""

from __future__ import annotations

import os
from pathlib import Path

from crewtop.tui.reload import Watched


def write(path: Path, text: str, at: int) -> None:
    """As an editor does, at a time of its own."""
    path.write_text(text)
    os.utime(path, ns=(at, at))


def test_nothing_changes_while_nobody_writes(tmp_path: Path) -> None:
    write(tmp_path / "a.toml", "x = 1", 1)
    watched = Watched([tmp_path])
    assert watched.changed() == []
    assert watched.changed() == []


def test_a_file_is_told_once_when_it_comes_changes_and_goes(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    watched = Watched([keys])
    write(keys, "a = 1", 1)
    assert watched.changed() == [keys]
    write(keys, "b = 1", 2)
    assert watched.changed() == [keys]
    write(keys, "bb = 1", 2)
    assert watched.changed() == [keys]
    assert watched.changed() == []
    keys.unlink()
    assert watched.changed() == [keys]
    assert watched.changed() == []


def test_a_folder_tells_its_themes_and_nothing_else(tmp_path: Path) -> None:
    themes, keys = tmp_path / "themes", tmp_path / "keys.toml"
    watched = Watched([themes, keys])
    themes.mkdir()
    write(themes / "b.toml", "", 1)
    write(themes / "a.toml", "", 1)
    write(themes / ".a.toml.swp", "", 1)
    write(keys, "", 1)
    assert watched.changed() == [keys, themes / "a.toml", themes / "b.toml"]


def test_a_file_replaced_by_renaming_is_a_change(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    write(keys, "a = 1", 1)
    watched = Watched([keys])
    write(tmp_path / "new", "a = 2", 2)
    (tmp_path / "new").rename(keys)
    assert watched.changed() == [keys]
