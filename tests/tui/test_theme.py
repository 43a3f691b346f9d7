"""Themes: shipped ones are whole and readable, wrong ones are reported and never fatal."""

from __future__ import annotations

from pathlib import Path

import pytest

from crewtop import words
from crewtop.tui.app import build
from crewtop.tui.look import Look, colours_of, nearest_256
from crewtop.tui.options import ScreenOptions
from crewtop.tui.paint import Role, Span
from crewtop.tui.theme import COLOURS, Theme, ThemeError, is_production, load, parse
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
    assert [name.removeprefix("crewtop-") for name in SHIPPED] == [
        "clear", "contrast", "dark", "dawn", "dusk", "ember", "fjord", "light", "paper", "production",
    ]  # fmt: skip


each_theme = pytest.mark.parametrize("theme", SHIPPED.values(), ids=lambda theme: theme.name)


@each_theme
@pytest.mark.parametrize("role", TEXTS)
def test_every_text_can_be_read(theme: Theme, role: str) -> None:
    least = 7.0 if theme.name == "crewtop-contrast" else 3.5 if role == "muted" else 4.5
    for ground in ("ground", "panel"):
        assert contrast(theme.colours[role], theme.colours[ground]) >= least, ground
    assert contrast(theme.colours[role], theme.colours["cursor"]) >= min(least, 4.0)


@each_theme
def test_rules_and_the_badge_can_be_seen(theme: Theme) -> None:
    badge = Look(theme, "true").of(Span("crewtop", "badge"), "ground", False)
    assert badge.color is not None
    assert badge.bgcolor is not None
    assert contrast(badge.color.name, badge.bgcolor.name) >= 4.5
    for rule in ("faint", "frame"):
        assert contrast(theme.colours.get(rule, theme.colours["faint"]), theme.colours["ground"]) >= 2.0


@each_theme
def test_dark_themes_are_dark_and_light_ones_are_light(theme: Theme) -> None:
    assert (luminance(theme.colours["ground"]) < luminance(theme.colours["text"])) == theme.dark


@each_theme
def test_in_256_colours_the_cursor_still_shows(theme: Theme) -> None:
    assert nearest_256(theme.colours["cursor"]) != nearest_256(theme.colours["ground"])


@each_theme
def test_who_sees_no_hue_tells_wrong_from_moving_by_brightness(theme: Theme) -> None:
    assert contrast(theme.colours["wrong"], theme.colours["moving"]) >= (1.4 if theme.name == "crewtop-clear" else 1.15)


@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_two_of_wrong_moving_stuck_and_retrying_have_the_same_sign(ascii_only: bool) -> None:
    states = ("failed", "running", "completed", "stuck", "retry", "waiting", "pending", "cancelled")
    assert len({words.glyph(state, ascii=ascii_only) for state in states}) == len(states)


def test_production_is_framed_in_its_own_colour_and_others_as_they_were() -> None:
    def front(theme: str, role: Role) -> str:
        colour = Look(SHIPPED[theme], "true").of(Span("─", role), "ground", False).color
        assert colour is not None
        return colour.name

    assert front("crewtop-production", "frame") == SHIPPED["crewtop-production"].colours["frame"]
    assert front("crewtop-dark", "frame") == SHIPPED["crewtop-dark"].colours["faint"]


def test_production_is_red_in_16_colours_too() -> None:
    look = Look(SHIPPED["crewtop-production"], "16")
    for role in ("frame", "badge"):
        colour = look.of(Span("─", role), "ground", False).color  # type: ignore[arg-type]
        assert colour is not None
        assert colour.number in (1, 9)


@pytest.mark.parametrize(
    ("patterns", "database", "host", "expected"),
    [
        (["prod*"], "prod_shop", "db1", True),
        (["PROD*"], "Prod_shop", "db1", True),
        (["*@db1*"], "shop", "db1.example.net", True),
        (["*@db1*"], "shop", "db2", False),
        (["shop"], "shop", "db1", True),
        (["*-prod"], "shop-prod", "db1", True),
        (["shop"], "workshop", "", False),
        (["test", "shop@*"], "shop", "", True),
        ([], "prod", "db1", False),
    ],
)
def test_which_connections_are_production(patterns: list[str], database: str, host: str, expected: bool) -> None:
    assert is_production(patterns, database, host) is expected


GOOD = 'name = "mine"\ndark = true\n[colours]\n' + "\n".join(f'{key} = "#112233"' for key in COLOURS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace('text = "#112233"', 'text = "blue"', 1), "mine.toml: colours.text is 'blue'"),
        (GOOD.replace('muted = "#112233"\n', "", 1), "mine.toml: colours.muted is missing"),
        (GOOD + '\nred = "#112233"', "mine.toml: colours.red is unknown: use ground, panel"),
        (GOOD + '\nframe = "red"', "mine.toml: colours.frame is 'red'"),
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
    assert len(themes) == len(SHIPPED) + 1
    assert [problem.split(":")[0] for problem in problems] == ["theme bad.toml", "theme binary.toml"]


def test_a_bad_file_and_an_unknown_name_are_told_on_the_screen(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("name = 3")
    app = build(lambda: Shop(), ScreenOptions(theme="nosuch", theme_folder=tmp_path), colours="true")
    shown = "\n".join(line.text for line in app.session.frame(120, 30))
    assert "theme bad.toml: name is 3" in shown
    assert "theme 'nosuch' is unknown: use one of crewtop-clear, crewtop-contrast, crewtop-dark" in shown
    assert app.session.wardrobe.theme == "crewtop-dark"


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
