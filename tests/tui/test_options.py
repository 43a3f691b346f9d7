"""How the screen is to look: flags over environment over file, looked at before the settings are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crewtop.commands.style import Style, config_folder, first_run, keys_file, styled, theme_folder
from crewtop.config import load

FILE = """
[screen]
theme = "crewtop-light"
interval_seconds = 5
mouse = false
bell = true
utc = false
columns = ["id", "crew"]
production = ["prod*", "*@db1*"]
production_theme = "mine"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "crewtop.toml"
    path.write_text(FILE)
    return path


def test_everything_of_the_file_is_there_at_the_first_look(file: Path) -> None:
    assert styled(Style(), file) == Style(
        theme="crewtop-light", interval=5.0, mouse=False, bell=True, utc=False, columns=("id", "crew"),
        production=("prod*", "*@db1*"), production_theme="mine",
    )  # fmt: skip


def test_the_settings_see_the_same_as_the_first_look(file: Path) -> None:
    first, later = styled(Style(), file), load(file).settings.screen
    for name in ("theme", "mouse", "bell", "utc", "columns", "production", "production_theme"):
        assert getattr(first, name) == getattr(later, name), name
    assert first.interval == later.interval_seconds


def test_the_environment_wins_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "THEME": "crewtop-dark", "INTERVAL_SECONDS": "2", "MOUSE": "true", "BELL": "0", "PRODUCTION": '["x*"]',
        "COLUMNS": '["age"]',
    }.items():  # fmt: skip
        monkeypatch.setenv(f"CREWTOP_SCREEN__{name}", value)
    style, later = styled(Style(), file), load(file).settings.screen
    assert (style.theme, style.interval, style.mouse, style.bell) == ("crewtop-dark", 2.0, True, False)
    assert (style.production, style.columns, style.utc) == (("x*",), ("age",), False)
    assert (later.mouse, later.bell, later.production, later.columns) == (True, False, ("x*",), ("age",))


def test_flags_win_over_both(file: Path) -> None:
    style = styled(Style(theme="crewtop-dusk", interval=10.0, mouse=False), file)
    assert (style.theme, style.interval, style.mouse) == ("crewtop-dusk", 10.0, False)


def test_the_mouse_flag_wins_over_a_file_that_wants_it(tmp_path: Path) -> None:
    (tmp_path / "crewtop.toml").write_text("[screen]\nmouse = true\n")
    assert not styled(Style(mouse=False), tmp_path / "crewtop.toml").mouse


@pytest.mark.parametrize(
    "text",
    [
        '[screen]\nmouse = "perhaps"\nbell = 3\ncolumns = "id"\nproduction = [1]\ntheme = 7\ninterval_seconds = 1e9\n',
        "screen = 3",
        "[screen",
        "",
    ],
)
def test_mistakes_count_as_nothing_at_the_first_look(text: str, tmp_path: Path) -> None:
    (tmp_path / "crewtop.toml").write_text(text)
    assert styled(Style(), tmp_path / "crewtop.toml") == Style()


def test_the_first_look_imports_no_settings() -> None:
    """They would cost the first frame a quarter of a second."""
    code = "import sys, crewtop.tui.options; from crewtop.commands.style import Style, styled; styled(Style(), None)"
    code += "; raise SystemExit(any(name.startswith('pydantic') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_own_keys_lie_beside_own_themes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config_folder() == tmp_path / "crewtop"
    assert (keys_file(), theme_folder()) == (tmp_path / "crewtop" / "keys.toml", tmp_path / "crewtop" / "themes")


def test_the_first_run_is_the_first_one_only(tmp_path: Path) -> None:
    marker = tmp_path / "state" / "crewtop" / "seen"
    assert [first_run(marker), first_run(marker), first_run(marker)] == [True, False, False]


def test_where_nothing_can_be_written_there_is_no_hint(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not first_run(tmp_path / "file" / "seen")
