"""Folders of runs: gone with their worker, at the latest when the next one starts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from crewtop.worker.scratch import PREFIX, YOUNG_SECONDS, scratch_folder


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def age(folder: Path) -> None:
    past = folder.stat().st_mtime - 2 * YOUNG_SECONDS
    os.utime(folder, (past, past))


def test_a_folder_is_private_and_gone_at_the_end(base: Path) -> None:
    with scratch_folder() as folder:
        (folder / "7").mkdir()
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(base.iterdir()) == []


def test_what_a_killed_worker_left_is_removed_and_what_a_live_one_holds_is_kept(base: Path) -> None:
    left = base / f"{PREFIX}left"
    (left / "12").mkdir(parents=True)
    (left / "lock").touch()
    young = base / f"{PREFIX}young"
    young.mkdir()
    with scratch_folder() as live:
        for folder in (left, live):
            age(folder)
        with scratch_folder() as other:
            assert {path.name for path in base.iterdir()} == {young.name, live.name, other.name}
