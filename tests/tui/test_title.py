"""The terminal's title: what it says, when it is sent, and that nothing in it can be obeyed."""

from __future__ import annotations

import pytest

from crewtop.tui.title import POP, PUSH, Title, sequence, words
from tests.tui.fixtures import BUSY
from tests.tui.terminal import live

XTERM = {"TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("said", "title"),
    [
        (words("shop", "db1"), "crewtop shop@db1"),
        (words("shop", "db1", read_only=True, stale=True), "crewtop shop@db1 read-only STALE"),
        (words("demo shop"), "crewtop demo shop"),
        (words("", "db1"), "crewtop db1"),
        (words(""), "crewtop"),
    ],
)
def test_it_names_the_system_and_what_is_the_matter(said: str, title: str) -> None:
    assert said == title


def test_a_dsn_never_gets_into_it() -> None:
    sent = sequence(words("postgresql://scott:tiger-1@db1/shop?sslmode=require"))
    assert sent == sequence("crewtop")
    assert "tiger" not in sequence(words("password=tiger-1 dbname=shop"))


def test_a_database_cannot_send_the_terminal_anything() -> None:
    sent = sequence(words("shop\x1b]52;c;aGk=\x07\x9b2J\n", "db\x07"))
    assert sent.startswith("\x1b]2;crewtop shop")
    assert sent.endswith("\x07")
    assert all(char.isprintable() for char in sent.removeprefix("\x1b]").removesuffix("\x07"))


def test_a_long_name_is_cut() -> None:
    assert len(sequence("x" * 10_000)) < 100


def test_it_is_sent_only_when_it_changes() -> None:
    title = Title(XTERM)
    assert title.show("crewtop shop") == "\x1b]2;crewtop shop\x07"
    assert title.show("crewtop shop") == ""
    assert title.show("crewtop shop STALE") == "\x1b]2;crewtop shop STALE\x07"


@pytest.mark.parametrize("terminal", ["linux", "dumb", "", "unknown"])
def test_a_terminal_without_a_title_is_sent_none(terminal: str) -> None:
    assert Title({"TERM": terminal}).show("crewtop shop") == ""


@pytest.mark.xdist_group("pty")
def test_the_terminal_is_left_as_it_was_and_with_its_old_title() -> None:
    with live() as terminal:
        terminal.see("RUNNING NOW")
        named = sequence(words(BUSY.database, BUSY.host)).encode()
        terminal.until(lambda: named in terminal.raw, "the title")
        terminal.press("q")
        terminal.until(lambda: POP.encode() in terminal.raw, "the title put back")
        terminal.until(lambda: b"\x1b[?1049l" in terminal.raw, "the alternate screen is left")
        sent = terminal.take()
    assert sent.count(PUSH.encode()) == sent.count(POP.encode()) == 1
    assert sent.index(PUSH.encode()) < sent.index(POP.encode())


@pytest.mark.xdist_group("pty")
def test_on_the_linux_console_nothing_of_it_is_sent() -> None:
    with live(TERM="linux", COLORTERM="") as terminal:
        terminal.see("RUNNING NOW")
        terminal.press("q")
        terminal.until(lambda: b"\x1b[?1049l" in terminal.raw, "the screen left")
        sent = terminal.take()
    assert PUSH.encode() not in sent
    assert POP.encode() not in sent
    assert b"\x1b]" not in sent
