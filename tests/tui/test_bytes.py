"""What the screen sends to a real terminal: nothing while nothing changes, little when little does."""

from __future__ import annotations

import base64
import os
import re

import pytest

from crewtop.tui.app import HUNG_UP
from tests.tui.fixtures import HOSTILE
from tests.tui.terminal import DEADLINE_SECONDS, live

pytestmark = pytest.mark.xdist_group("pty")


def test_an_idle_screen_sends_nothing_and_a_changed_row_little() -> None:
    with live() as terminal:
        terminal.see("RUNNING NOW")
        terminal.press("2")
        terminal.see("48977")
        terminal.wait_ticks(3)
        terminal.take()

        terminal.wait_ticks(12)  # for longer than the second after which the screen looks at its clock
        assert terminal.take() == b""

        terminal.order("tokens 1955")
        terminal.see("1,955")
        terminal.wait_ticks(2)
        assert 0 < len(terminal.take()) < 1_024


VIEWS = {
    "overview": ("1", "RUNNING NOW"),
    "tasks": ("2", "48977"),
    "a task's story": ("2jjjjjjjj\r", "Analyst"),
    "a task's log": ("l", "no answer yet"),
    "failures": ("3", "quota exhausted"),
    "workers": ("4", "db3"),
    "models": ("5", "gpt-4.1"),
    "events": ("6", "ToolError"),
    "operations": ("7", "dana@ops1"),
    "charts": ("c", "Throughput"),
}
"""By what they are called: the keys that lead there from the view before, and what is seen there."""


def test_no_view_sends_anything_while_nothing_changes() -> None:
    """What still runs is as old as it was, as each tick says anew."""
    with live() as terminal:
        for view, (keys, seen) in VIEWS.items():
            terminal.press(keys)
            terminal.see(seen)
            terminal.wait_ticks(3)
            terminal.take()
            terminal.wait_ticks(4)
            assert terminal.take() == b"", view


def test_a_hundred_changing_rows_cost_less_than_20_kilobytes_a_second() -> None:
    with live(columns=200, lines=50) as terminal:
        terminal.see("RUNNING NOW")
        terminal.press("2")
        terminal.order("churn")
        terminal.see("of 200")
        terminal.wait_ticks(2)
        terminal.take()
        ticks = terminal.wait_ticks(5)
        sent = terminal.take()
        ticks += terminal.ticked()
    # Of 40 visible rows, if a tick comes once a second; the paint of the tick before may have come late.
    assert 1_000 * (ticks - 1) < len(sent) < 20_480 * (ticks + 1)


def test_a_copied_id_reaches_the_terminals_clipboard() -> None:
    with live() as terminal:
        terminal.see("RUNNING NOW")
        terminal.press("2")
        terminal.see("of 16")  # the overview has a 48990 too
        terminal.press("y")
        copied = b"\x1b]52;c;" + base64.b64encode(b"48990") + b"\x07"
        terminal.until(lambda: copied in terminal.raw, "the copy")


def test_a_hang_up_that_no_signal_tells_ends_the_screen() -> None:
    """Case C26: the terminal of a process that does not lead its session is closed."""
    with live(leads=False) as terminal:
        terminal.see("RUNNING NOW")
        assert terminal.process is not None
        terminal.hang_up()
        assert terminal.process.wait(DEADLINE_SECONDS) == HUNG_UP


def test_of_movement_and_focus_no_report_is_asked_for_and_a_click_beyond_the_edge_leaves_the_keys_alive() -> None:
    """A terminal tells of a click where it was in an older size; who is told of focus paints everything anew."""
    with live() as terminal:
        terminal.see("RUNNING NOW")
        sent = terminal.take()
        assert b"\x1b[?1000h" in sent
        assert b"?1003h" not in sent
        assert b"?1004h" not in sent
        terminal.press("\x1b[<0;999;999M\x1b[<0;999;999m")
        terminal.press("2")
        terminal.see("48977")


def test_hostile_text_reaches_the_terminal_as_pictures_only() -> None:
    with live(columns=160) as terminal:
        terminal.see("RUNNING NOW")
        terminal.press("2")
        terminal.see("48977")
        terminal.take()
        terminal.order("hostile")
        terminal.see("ZLEXCOUNT z [b +")
        terminal.wait_ticks(2)
        sent = terminal.take().decode()
        for text in ("see [/] here", "[bold]x", "[key=14629,state=CLOSED]", "ok␍FAILED", "␛]52;c;aGFja2Vk␇"):
            assert text in terminal.text
    painting = re.compile(r"\x1b\[[0-9;]*[mHK]|\x1b\[\?2026[hl]|\r?\n")
    left = painting.sub("", sent)
    assert not [c for c in left if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]
    assert len(HOSTILE) > 20


def test_a_dead_database_is_said_and_a_living_one_again_without_a_key() -> None:
    with live() as terminal:
        terminal.see("RUNNING NOW")
        terminal.order("down")
        terminal.see("postgres: connection refused")
        assert "support" in terminal.text
        terminal.order("up")
        terminal.until(lambda: "connection refused" not in terminal.text, "the banner goes")


def test_without_colour_no_colour_is_sent() -> None:
    with live(NO_COLOR="1") as terminal:
        terminal.see("RUNNING NOW")
        sent = terminal.take().decode()
    codes = {code for match in re.findall(r"\x1b\[([0-9;]*)m", sent) for code in match.split(";")}
    assert codes <= {"", "0", "1", "2", "7", "39", "49"}  # bold, dim, reverse, and the terminal's own two colours


def test_bytes_that_are_no_text_are_passed_over() -> None:
    """As of a terminal that sends Latin-1, or a paste of something else."""
    with live() as terminal:
        terminal.see("RUNNING NOW")
        os.write(terminal.fd, b"\xff\xe9\xfe")
        terminal.press("?")
        terminal.see("One line up")


def test_a_resize_at_the_end_leaves_no_traceback() -> None:
    with live() as terminal:
        terminal.see("RUNNING NOW")
        assert terminal.process is not None
        terminal.press("q")
        while terminal.process.poll() is None:
            terminal.resize(100, 30)
            terminal.resize(120, 40)
            terminal.read(0.01)
        assert terminal.process.returncode == 0
        assert b"Traceback" not in terminal.take()
