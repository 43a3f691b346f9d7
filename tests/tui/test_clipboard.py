"""What reaches the operator's clipboard through which terminal, and that nothing else does."""

from __future__ import annotations

import asyncio
import base64
import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from crewtop.tui.clipboard import LONGEST_BASE64, Offer, into_tmux, sequences

XTERM = {"TERM": "xterm-256color"}
TMUX = {"TERM": "screen-256color", "TMUX": "/tmp/tmux-0/default,1,0"}
DEADLINE_SECONDS = 20.0


def held(sequence: str) -> str:
    """What a terminal takes from an OSC 52."""
    match = re.fullmatch(r"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", sequence)
    assert match is not None, sequence
    return base64.b64decode(match[1]).decode()


def test_a_text_is_copied_as_it_is() -> None:
    text = "id 48977\n\tПривет, 世界 🎉 [/] ';rm"
    assert held(sequences(text, XTERM).sequence) == text


def test_what_a_shell_would_obey_is_left_out() -> None:
    offer = sequences("a\x1b]52;c;x\x07b\rc\x00d\x9b2Je\x7f\nf\tg", XTERM)
    assert held(offer.sequence) == offer.text == "a]52;c;xbcd2Je\nf\tg"
    assert offer.left_out == 0


def test_half_a_character_that_no_encoding_has_is_a_question_mark() -> None:
    assert held(sequences("a\ud800b", XTERM).sequence) == "a?b"


@pytest.mark.parametrize("text", ["x" * 100_000, "é" * 100_000, "世" * 100_000])
def test_a_long_text_is_cut_between_characters_and_says_how_much_is_missing(text: str) -> None:
    offer = sequences(text, XTERM)
    copied = held(offer.sequence)
    assert text.startswith(copied)
    assert len(copied) + offer.left_out == len(text)
    assert LONGEST_BASE64 - 8 < len(base64.b64encode(copied.encode())) <= LONGEST_BASE64


def test_inside_tmux_it_goes_both_ways_and_its_buffer_is_wanted_too() -> None:
    offer = sequences("48977", TMUX)
    plain = sequences("48977", XTERM).sequence
    assert offer.sequence == plain + "\x1bPtmux;\x1b" + plain + "\x1b\\"
    assert offer.tmux


@pytest.mark.parametrize("text", ["48977", "x" * 5_000])
def test_inside_gnu_screen_it_comes_in_pieces_that_it_can_hold(text: str) -> None:
    sent = sequences(text, {"TERM": "screen", "STY": "1.pts-0.host"}).sequence
    pieces = re.findall(r"\x1bP(.*?)\x1b\\", sent, re.DOTALL)
    assert held("".join(pieces)) == text
    assert max(len(piece) for piece in pieces) <= 240
    assert sent == "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)


def test_over_ssh_from_inside_of_tmux_only_the_terminals_name_tells() -> None:
    plain = sequences("48977", XTERM).sequence
    assert sequences("48977", {"TERM": "tmux-256color"}) == Offer(
        "48977", 0, plain + "\x1bPtmux;\x1b" + plain + "\x1b\\", False
    )
    assert sequences("48977", {"TERM": "screen-256color"}).sequence == plain + "\x1bP" + plain + "\x1b\\"


@pytest.mark.parametrize("terminal", ["linux", "dumb", ""])
def test_a_terminal_without_a_clipboard_is_sent_nothing(terminal: str) -> None:
    assert sequences("48977", {"TERM": terminal}).sequence == ""


# A real tmux


@dataclass
class RealTmux:
    """A tmux server of the test's own with one pane, and a terminal attached to it."""

    socket: Path
    environment: dict[str, str]
    terminal: int

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self.socket), "-f", os.devnull, *arguments]
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def until_sent(self, wanted: bytes) -> None:
        """Read what the terminal gets until it has got that."""
        got, end = b"", time.monotonic() + DEADLINE_SECONDS
        while wanted not in got:
            assert time.monotonic() < end, got
            if select.select([self.terminal], [], [], 0.1)[0]:
                got += os.read(self.terminal, 65_536)


@pytest.fixture
def tmux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealTmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE", "STY")} | XTERM
    real = RealTmux(tmp_path_factory.mktemp("t") / "s", environment | {"LANG": "C.UTF-8"}, ours)
    real.run("new-session", "-d", "-x", "80", "-y", "24", "cat")
    real.run("set", "-g", "set-clipboard", "on")
    attached = subprocess.Popen(
        ["tmux", "-S", str(real.socket), "attach"],
        env=real.environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        real.until_sent(b"\x1b[?1049h")
        yield real
    finally:
        real.run("kill-server")
        attached.wait()
        os.close(ours)


async def test_a_real_tmux_takes_the_text_and_hands_it_to_the_terminal_around_it(tmux: RealTmux) -> None:
    text = "id 48977\n\tПривет"
    around = tmux.environment | {"TMUX": tmux.run("display", "-p", "#{socket_path},#{pid},0").strip()}
    assert await into_tmux(text, around)
    assert tmux.run("show-buffer") == text
    await asyncio.to_thread(tmux.until_sent, base64.b64encode(text.encode()))


async def test_a_real_tmux_passes_the_sequence_on_where_it_is_told_to(tmux: RealTmux, tmp_path: Path) -> None:
    tmux.run("set", "-g", "allow-passthrough", "on")
    tmux.run("set", "-g", "set-clipboard", "off")
    sent = tmp_path / "sent"
    sent.write_text(sequences("48977", TMUX).sequence)
    tmux.run("new-window", f"cat {sent}; cat")
    await asyncio.to_thread(tmux.until_sent, b"\x1b]52;c;" + base64.b64encode(b"48977") + b"\x07")


async def test_without_a_tmux_server_nothing_is_copied_and_nothing_raised(tmp_path: Path) -> None:
    environment = {"TMUX": f"{tmp_path / 'none'},1,0", "PATH": os.environ["PATH"]}
    assert not await into_tmux("48977", environment)


async def test_without_tmux_itself_nothing_is_copied(tmp_path: Path) -> None:
    assert not await into_tmux("48977", {"PATH": str(tmp_path)})


async def test_a_tmux_that_hangs_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "tmux").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "tmux").chmod(0o755)
    assert not await into_tmux("48977", {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, seconds=0.2)
