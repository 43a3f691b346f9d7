"""Recordings of real systems: made while they live, killed at will, replayed in a terminal, kept by a worker."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crewtop.recording.file import RecordingError
from crewtop.recording.reader import Recording, open_recording
from tests.e2e.conftest import ROOT, Site
from tests.tui.terminal import Terminal

pytestmark = pytest.mark.xdist_group("pty")


@contextmanager
def replayed(site: Site, *arguments: str) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """`crewtop replay` in a terminal of 120x40."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    env = {name: value for name, value in site.env.items() if name not in ("COLUMNS", "NO_COLOR", "CREWTOP_POSTGRES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "crewtop", "replay", *arguments],
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


def recorder(site: Site, path: Path) -> subprocess.Popen[bytes]:
    """`crewtop record` of the site, ten pictures a second."""
    return subprocess.Popen(
        [sys.executable, "-m", "crewtop", "record", str(path), "--interval", "0.1"],
        cwd=ROOT, env=site.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


async def until_shown(site: Site, path: Path, ready: int) -> Recording:
    """Until the newest picture of a recording that goes on has so many tasks ready."""

    async def found() -> Recording | None:
        try:
            recording = open_recording(path)
        except RecordingError:  # not there yet
            return None
        newest = recording.at(recording.end).snapshot
        return recording if sum(queue.ready for queue in newest.queues) == ready else None

    recording: Recording = await site.until(found)
    return recording


async def test_a_live_system_is_recorded_and_replayed_in_a_terminal_without_it(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "incident.crewtop"
    process = recorder(site, path)
    try:
        await site.queue.enqueue("echo", {"api_key": "sk-proj-Zx81kQ9vTq0aa7bLm4f2a"})
        await until_shown(site, path, 1)
        for _ in range(41):
            await site.queue.enqueue("echo", {})
        await until_shown(site, path, 42)
    finally:
        process.send_signal(signal.SIGINT)
        output = await asyncio.to_thread(process.communicate)
    assert process.returncode == 0
    assert b"pictures" in output[0]

    recording = open_recording(path)
    with replayed(site, str(path), "--at", f"{recording.begin:%Y-%m-%dT%H:%M:%S.%fZ}") as (terminal, screen):
        await asyncio.to_thread(terminal.see, "RECORDING")
        await asyncio.to_thread(terminal.see, f"{recording.begin:%H:%M:%S}Z")
        terminal.press("}")  # to the end
        await asyncio.to_thread(terminal.see, " 42 ")
        terminal.press("P")
        await asyncio.to_thread(terminal.see, "this is a recording")
        terminal.press("2")
        await asyncio.to_thread(terminal.see, "a recording holds snapshots only")
        terminal.press("\x03")
        while screen.poll() is None:
            await asyncio.to_thread(terminal.read, 0.1)
        assert screen.returncode == 0

    code, printed, _ = await site.crewtop("replay", str(path), "--json")
    assert code == 0
    assert sum(queue["ready"] for queue in json.loads(printed)["queues"]) == 42
    code, printed, _ = await site.crewtop("replay", str(path), "--plain")
    assert (code, "backlog 42" in printed) == (0, True)
    code, _, said = await site.crewtop("replay", str(path), "--at", "1999-01-01T00:00:00")
    assert (code, "is not in the recording" in said) == (2, True)


async def test_a_recorder_that_is_killed_leaves_what_it_saw(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "killed.crewtop"
    process = recorder(site, path)
    await site.queue.enqueue("echo", {})
    await until_shown(site, path, 1)
    process.kill()
    await asyncio.to_thread(process.communicate)
    recording = open_recording(path)
    assert sum(queue.ready for queue in recording.at(recording.end).snapshot.queues) == 1


async def test_a_worker_keeps_the_newest_hours_and_a_span_of_them_is_one_file(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "rolling"
    config = Path(site.env["CREWTOP_CONFIG"])
    config.write_text(config.read_text() + f'\n[recording]\nfolder = "{folder}"\nmax_size = "20 MB"\n')
    await site.queue.enqueue("echo", {}, queue="nobody")
    site.worker("--queue", "default")
    site.worker("--queue", "default")
    recording = await until_shown(site, folder, 1)
    code, listed, _ = await site.crewtop("record", "--list")
    assert code == 0
    assert len(listed.splitlines()) == 1  # of two workers one records
    out = tmp_path / "mail.crewtop"
    span = (f"{at:%Y-%m-%dT%H:%M:%S.%fZ}" for at in (recording.begin, recording.end))
    code, _, said = await site.crewtop("record", "--cut", *span, str(out))
    assert code == 0, said
    assert open_recording(out).end == recording.end
