"""Themes: shipped ones are whole and readable, wrong ones are reported and never fatal."""

from __future__ import annotations

from pathlib import Path

import pytest

from crewtop.tui.app import build
from crewtop.tui.look import Look, colours_of, nearest_256
from crewtop.tui.options import ScreenOptions
from crewtop.tui.paint import Span
from crewtop.tui.theme import COLOURS, Theme, ThemeError, load, parse
from tests.tui.fixtures import Shop

SHIPPED, PROBLEMS = load(None)
TEXTS = ("text", "muted", "accent", "link", "wrong", "watch", "moving", "waiting", "money")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(front: str, behind: str) -> float:
    light, dark = sorted((luminance(front), luminance(behind)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_shipped_themes_are_without_fault() -> None:
    assert PROBLEMS == []
    assert set(SHIPPED) == {"crewtop-dark", "crewtop-light", "crewtop-contrast"}


@pytest.mark.parametrize("theme", SHIPPED.values(), ids=lambda theme: theme.name)
@pytest.mark.parametrize("role", TEXTS)
def test_every_text_can_be_read(theme: Theme, role: str) -> None:
    least = 7.0 if theme.name == "crewtop-contrast" else 4.5
    for ground in ("ground", "panel"):
        assert contrast(theme.colours[role], theme.colours[ground]) >= least, ground
    assert contrast(theme.colours[role], theme.colours["cursor"]) >= 4.0


@pytest.mark.parametrize("theme", SHIPPED.values(), ids=lambda theme: theme.name)
def test_in_256_colours_the_cursor_still_shows(theme: Theme) -> None:
    assert nearest_256(theme.colours["cursor"]) != nearest_256(theme.colours["ground"])


GOOD = 'name = "mine"\ndark = true\n[colours]\n' + "\n".join(f'{key} = "#112233"' for key in COLOURS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace('text = "#112233"', 'text = "blue"', 1), "mine.toml: colours.text is 'blue'"),
        (GOOD.replace('muted = "#112233"\n', "", 1), "mine.toml: colours.muted is missing"),
        (GOOD + '\nred = "#112233"', "mine.toml: colours.red is unknown: use ground, panel"),
        (GOOD.replace("dark = true", "dark = 1"), "mine.toml: dark is 1: it must be true or false"),
        (GOOD.replace('name = "mine"', ""), "mine.toml: name is missing"),
        ("name = ", "mine.toml: not TOML"),
    ],
)
def test_a_wrong_theme_names_file_key_value_and_what_is_allowed(text: str, complaint: str) -> None:
    with pytest.raises(ThemeError, match="theme ") as caught:
        parse(text, "mine.toml")
    assert complaint in str(caught.value)


def test_a_user_s_theme_joins_the_shipped_ones_and_a_bad_file_is_only_told(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    (tmp_path / "bad.toml").write_text("name = 3")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "notes.txt").write_text("no theme")
    themes, problems = load(tmp_path)
    assert "mine" in themes
    assert len(themes) == 4
    assert [problem.split(":")[0] for problem in problems] == ["theme bad.toml", "theme binary.toml"]


def test_a_bad_file_and_an_unknown_name_are_told_on_the_screen(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("name = 3")
    app = build(Shop(), ScreenOptions(theme="nosuch", theme_folder=tmp_path), colours="true")
    shown = "\n".join(line.text for line in app.session.frame(120, 30))
    assert "theme bad.toml: name is 3" in shown
    assert "theme 'nosuch' is unknown: use one of crewtop-contrast, crewtop-dark, crewtop-light" in shown
    assert app.session.theme == "crewtop-dark"


@pytest.mark.parametrize(
    ("environment", "wanted", "colours"),
    [
        ({"COLORTERM": "truecolor", "TERM": "xterm"}, "auto", "true"),
        ({"TERM": "xterm-256color"}, "auto", "256"),
        ({"TERM": "linux"}, "auto", "16"),
        ({"TERM": "dumb"}, "auto", "none"),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, "auto", "none"),
        ({"NO_COLOR": "", "COLORTERM": "truecolor"}, "auto", "true"),
        ({"COLORTERM": "truecolor"}, "16", "16"),
        ({"COLORTERM": "truecolor"}, "none", "none"),
    ],
)
def test_what_the_terminal_can_show(environment: dict[str, str], wanted: str, colours: str) -> None:
    assert colours_of(environment, wanted) == colours


def test_without_colour_styles_have_none() -> None:
    look = Look(SHIPPED["crewtop-dark"], "none")
    for role in (*TEXTS, "badge"):
        for ground in ("ground", "cursor", "panel"):
            style = look.of(Span("x", role), ground, False)  # type: ignore[arg-type]
            assert style.color is None
            assert style.bgcolor is None


def test_in_16_colours_only_those_are_used() -> None:
    look = Look(SHIPPED["crewtop-dark"], "16")
    for role in TEXTS:
        colour = look.of(Span("x", role), "ground", False).color  # type: ignore[arg-type]
        assert colour is None or (colour.number is not None and colour.number < 16)
