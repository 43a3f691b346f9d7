"""The user's own keys: what they change, and what is refused before it can do harm."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.keys import Keys
from typer.testing import CliRunner

from crewtop.cli import app
from crewtop.commands.keys import document, listing
from crewtop.tui.actions import COMMANDS, View
from crewtop.tui.keymap import KEY_NAMES, Keymap, KeysError, load, read

DOCS = Path(__file__).parents[2] / "docs" / "keys.md"


def name_of(keymap: Keymap, key: str, view: View) -> str | None:
    command = keymap.command_for(key, view)
    return command.name if command is not None else None


def test_without_a_file_every_key_does_what_the_registry_says(tmp_path: Path) -> None:
    keymap = read(tmp_path / "keys.toml", COMMANDS)
    for command in COMMANDS:
        for key in command.keys:
            for view in command.views:
                assert keymap.command_for(key, view) == command


def test_a_list_replaces_the_keys_of_its_command_and_of_no_other() -> None:
    keymap = load('retry = ["T", "ctrl+t"]', COMMANDS)
    assert name_of(keymap, "T", View.TASKS) == "retry"
    assert name_of(keymap, "ctrl+t", View.DETAIL) == "retry"
    assert name_of(keymap, "R", View.TASKS) is None
    assert name_of(keymap, "F", View.TASKS) == "fail"
    assert keymap.key("retry") == "T"
    assert keymap.changed == {"retry"}


def test_two_commands_can_swap_their_keys() -> None:
    keymap = load('fail = ["C"]\ncancel = ["F"]', COMMANDS)
    assert (name_of(keymap, "C", View.TASKS), name_of(keymap, "F", View.TASKS)) == ("fail", "cancel")


def test_an_empty_list_takes_the_key_away_and_the_palette_still_has_the_command() -> None:
    keymap = load("delete = []", COMMANDS)
    assert name_of(keymap, "X", View.TASKS) is None
    assert keymap.key("delete") is None
    assert "delete" in [command.name for command in keymap.commands_in(View.TASKS)]


def test_ctrl_c_quits_whatever_the_file_says() -> None:
    keymap = load('quit = ["f10"]', COMMANDS)
    assert name_of(keymap, "f10", View.TASKS) == name_of(keymap, "ctrl+c", View.TASKS) == "quit"
    assert name_of(load("quit = []", COMMANDS), "ctrl+c", View.DETAIL) == "quit"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('retri = ["T"]', "keys.toml: there is no command 'retri': did you mean retry (crewtop keys lists them)"),
        ('retry = "T"', """keys.toml: retry is 'T': it must be a list of keys such as ["T", "f5"]"""),
        ("retry = [1]", "keys.toml: retry is [1]: it must be a list of keys"),
        (
            'theme = ["escap"]',
            "keys.toml: theme = 'escap': there is no such key: did you mean escape, or one character",
        ),
        ('theme = ["ctrl+X"]', "keys.toml: theme = 'ctrl+X': there is no such key: did you mean ctrl+x"),
        ('theme = [""]', "keys.toml: theme = '': there is no such key"),
        ('theme = [" "]', "keys.toml: theme = ' ': there is no such key"),
        ('theme = ["\\u001b"]', "there is no such key"),
        ('theme = ["ctrl+i"]', "keys.toml: theme = 'ctrl+i': a terminal sends tab for it: choose another"),
        (
            'retry = ["r"]',
            "keys.toml: retry = 'r': it acts, and this key is easily hit by mistake: use a capital letter",
        ),
        ('retry = ["9"]', "keys.toml: retry = '9': it acts"),
        ('drain = ["enter"]', "keys.toml: drain = 'enter': it acts"),
        ('theme = ["q"]', "keys.toml: theme = 'q': in overview this is leave: give leave another key too"),
        ('retry = ["F"]', "keys.toml: retry = 'F': in tasks this is fail: give fail another key too"),
        ('theme = ["ctrl+c"]', "keys.toml: theme = 'ctrl+c': in overview this is quit"),
        ("retry =", "keys.toml: not TOML"),
    ],
)
def test_a_mistake_names_the_command_the_key_and_the_way_out(text: str, complaint: str) -> None:
    with pytest.raises(KeysError) as caught:
        load(text, COMMANDS)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_same_key_in_views_apart_is_no_clash() -> None:
    keymap = load('drain = ["P"]', COMMANDS)
    assert (name_of(keymap, "P", View.WORKERS), name_of(keymap, "P", View.OVERVIEW)) == ("drain", "pause_queue")


def test_an_acting_command_may_keep_the_key_that_it_has() -> None:
    assert name_of(load('undo = ["u", "ctrl+t"]', COMMANDS), "u", View.TASKS) == "undo"


def test_a_file_that_cannot_be_read_is_a_mistake_too(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_bytes(b"\xff")
    with pytest.raises(KeysError, match=r"keys\.toml: cannot be read"):
        read(tmp_path / "keys.toml", COMMANDS)


def test_every_named_key_is_one_that_the_terminal_can_send() -> None:
    assert set(KEY_NAMES) <= {key.value for key in Keys}


# The command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "crewtop").mkdir()
    return tmp_path / "crewtop"


def test_crewtop_keys_lists_every_command_with_the_users_own_keys_and_needs_no_database(folder: Path) -> None:
    (folder / "keys.toml").write_text('retry = ["T"]')
    result = CliRunner().invoke(app, ["keys"])
    assert result.exit_code == 0
    rows = result.stdout.splitlines()
    assert any(row.startswith("* T ") and " retry " in row for row in rows)
    assert rows[-1] == f"* from {folder / 'keys.toml'}"
    for command in COMMANDS:
        assert any(f" {command.name} " in row for row in rows), command.name


def test_crewtop_keys_tells_a_mistake_in_the_file(folder: Path) -> None:
    (folder / "keys.toml").write_text('retry = ["r"]')
    result = CliRunner().invoke(app, ["keys"])
    assert isinstance(result.exception, KeysError)


def test_without_own_keys_nothing_is_marked() -> None:
    assert not any(row.startswith("*") for row in listing(Keymap(COMMANDS), "keys.toml"))


def test_docs_keys_md_is_up_to_date(folder: Path) -> None:
    (folder / "keys.toml").write_text('retry = ["T"]')
    written = CliRunner().invoke(app, ["keys", "--markdown"]).stdout
    assert written == document(COMMANDS)
    assert DOCS.read_text("utf-8") == written, "run: crewtop keys --markdown > docs/keys.md"
