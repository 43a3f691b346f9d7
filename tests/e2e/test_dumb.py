"""Terminals that understand nothing get text alone, and those that understand little get no more than that."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.e2e.conftest import ROOT, Site
from tests.e2e.test_screen import gone, screen, see


def said(site: Site, *arguments: str, terminal: str) -> tuple[int, bytes]:
    """`crewtop` with these arguments in a terminal of that name: exit code, and every byte that it got."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in site.env.items() if name not in ("NO_COLOR", "COLORTERM")}
    process = subprocess.Popen(
        [sys.executable, "-m", "crewtop", *arguments],
        cwd=ROOT, env=env | {"TERM": terminal}, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    got = b""
    with suppress(OSError):  # EIO: the other end is gone
        while data := os.read(ours, 65_536):
            got += data
    os.close(ours)
    return process.wait(), got


@pytest.mark.parametrize("arguments", [(), ("tasks",), ("keys",), ("--help",), ("tasks", "--nosuch")])
async def test_a_dumb_terminal_gets_text_alone(site: Site, arguments: tuple[str, ...]) -> None:
    await site.queue.enqueue("echo", {"message": "\x1b]2;hacked\x07"})
    code, got = await asyncio.to_thread(said, site, *arguments, terminal="dumb")
    assert code == (2 if "--nosuch" in arguments else 0), got
    assert got.strip()
    assert b"\x1b" not in got


async def test_no_database_is_one_line_on_a_dumb_terminal(site: Site) -> None:
    site.env["CREWTOP_POSTGRES"] = "postgresql://127.0.0.1:1/none"
    code, got = await asyncio.to_thread(said, site, terminal="dumb")
    assert (code, b"\x1b" in got, got.count(b"\n")) == (2, False, 1), got


@pytest.mark.xdist_group("pty")
async def test_the_linux_console_gets_ascii_and_16_colours(site: Site) -> None:
    site.env["XDG_STATE_HOME"] = str(site.folder)  # where the first run leaves its mark
    await site.queue.enqueue("echo")
    with screen(site, "--tty") as (terminal, process):
        await see(terminal, "no live worker has the crew echo")
        terminal.press("q")
        assert await gone(process, terminal) == 0
        sent = terminal.take()
    assert sent.isascii()
    assert not re.search(rb"\x1b\[[0-9;]*[34]8;[25];", sent)
    assert re.search(rb"\x1b\[[0-9;]*3[1-7]m", sent)
