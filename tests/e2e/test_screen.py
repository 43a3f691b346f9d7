"""The whole path: the real screen in a terminal, on real stores, with a pool beside it, acting on real tasks."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import asyncpg
import psutil
import pytest

from tests.e2e.conftest import ROOT, WITHOUT_CREWAI, Site
from tests.tui.terminal import Terminal

pytestmark = pytest.mark.xdist_group("pty")


@contextmanager
def screen(site: Site, *flags: str) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """`crewtop` with these flags in a terminal of 120x40."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    env = {name: value for name, value in site.env.items() if name not in ("COLUMNS", "NO_COLOR")}
    env["PYTHONPATH"] = f"{WITHOUT_CREWAI}{os.pathsep}{env['PYTHONPATH']}"  # of the pool: these crews need none of it
    process = subprocess.Popen(
        [sys.executable, "-m", "crewtop", "--data-dir", str(site.folder), *flags],
        cwd=ROOT, env=env | {"TERM": "xterm-256color"}, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(theirs)
    terminal = Terminal(ours, -1, -1, 120, 40)
    try:
        yield terminal, process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        terminal.hang_up()


async def see(terminal: Terminal, words: str) -> None:
    await asyncio.to_thread(terminal.see, words)


async def gone(process: subprocess.Popen[bytes], terminal: Terminal) -> int:
    """Its exit code; the terminal is read on, as a terminal would."""
    while process.poll() is None:
        await asyncio.to_thread(terminal.read, 0.1)
    return process.returncode


async def test_an_operator_watches_and_mends_with_a_pool_beside_the_screen(site: Site) -> None:
    folder = site.folder / "gate"
    folder.mkdir()
    failed = await site.queue.enqueue("fail", {"message": "out of [/] cheese"}, max_attempts=1)
    held = await site.queue.enqueue("gate", {"folder": str(folder)})
    with screen(site, "--pool", "2") as (terminal, process):
        await see(terminal, "RUNNING NOW")
        await see(terminal, "slots")
        await site.until("status = 'failed' FROM crewtop.tasks WHERE id = $1", failed)

        terminal.press("2")
        await see(terminal, "✗ failed")
        await see(terminal, "out of [/] cheese")

        # The failed task is the older one: down to it, retry, confirm.
        terminal.press("G")
        terminal.press("R")
        await see(terminal, "Retry 1")
        terminal.press("\r")
        await site.until("version >= 4 FROM crewtop.tasks WHERE id = $1", failed)
        await site.until("EXISTS (SELECT FROM crewtop.operations WHERE action = 'retry')")

        # More slots from the workers' view, as the pool obeys them at its next heartbeat.
        terminal.press("4")
        await see(terminal, "running")
        terminal.press(">")
        await site.until("desired_slots = 3 FROM crewtop.workers")
        await site.until("slots = 3 FROM crewtop.workers")

        (folder / "open").touch()
        await site.until("status = 'completed' FROM crewtop.tasks WHERE id = $1", held)
        terminal.press("q")
        terminal.press("q")
        assert await gone(process, terminal) == 0
    assert await site.sql("SELECT bool_and(stopped_at IS NOT NULL) FROM crewtop.workers")


async def test_a_lost_terminal_ends_the_screen_and_hands_the_pools_work_back(site: Site) -> None:
    """Case C26: no orphan, no spinning, and nothing is lost."""
    folder = site.folder / "gate"
    folder.mkdir()
    task_id = await site.queue.enqueue("gate", {"folder": str(folder)})
    site.env["CREWTOP_WORKER__GRACE_SECONDS"] = "1"
    with screen(site, "--pool", "1") as (terminal, process):
        await see(terminal, "RUNNING NOW")
        await site.until_started(folder)
        below = psutil.Process(process.pid).children(recursive=True)
        terminal.hang_up()
        assert await asyncio.to_thread(process.wait, 60) == 128 + signal.SIGHUP
        _, alive = await asyncio.to_thread(psutil.wait_procs, below, 30)
        assert alive == []
    assert await site.sql("SELECT status FROM crewtop.tasks WHERE id = $1", task_id) == "pending"


async def test_a_pool_that_is_to_finish_goes_on_without_its_terminal_and_ends(site: Site) -> None:
    """Case C26, the other policy: paid work is not thrown away because a connection broke."""
    folder = site.folder / "gate"
    folder.mkdir()
    task_id = await site.queue.enqueue("gate", {"folder": str(folder)})
    site.env |= {"CREWTOP_WORKER__GRACE_SECONDS": "1", "CREWTOP_SCREEN__ON_HANGUP": "finish"}
    with screen(site, "--pool", "1") as (terminal, process):
        await see(terminal, "RUNNING NOW")
        await site.until_started(folder)
        below = psutil.Process(process.pid).children(recursive=True)
        terminal.hang_up()
        assert await asyncio.to_thread(process.wait, 60) == 128 + signal.SIGHUP
        await site.until("draining FROM crewtop.workers")
        (folder / "open").touch()
        await site.until("status = 'completed' FROM crewtop.tasks WHERE id = $1", task_id)
        _, alive = await asyncio.to_thread(psutil.wait_procs, below, 30)
        assert alive == []


async def test_a_lost_database_dims_the_screen_and_a_found_one_mends_it(site: Site, dsn: str) -> None:
    """Case C14."""
    await site.queue.enqueue("echo")
    with screen(site) as (terminal, process):
        await see(terminal, "no live worker has the crew echo")
        name = urlsplit(dsn).path[1:]
        control = await asyncpg.connect(dsn.replace(f"/{name}?", "/postgres?"))
        try:
            await control.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
            await control.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
            await see(terminal, "not currently accepting connections  data of")
            assert process.poll() is None
        finally:
            await control.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
            await control.close()
        await asyncio.to_thread(
            terminal.until, lambda: "accepting connections" not in terminal.text, "postgres is back"
        )
        terminal.press("q")
        assert await gone(process, terminal) == 0
