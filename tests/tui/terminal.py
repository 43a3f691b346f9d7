"""A pseudo-terminal with the live screen in it, and a terminal in memory that shows what an operator sees."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 60.0


class Terminal:
    """The screen's terminal: raw holds every byte since the last take()."""

    def __init__(
        self,
        fd: int,
        ticks: int,
        orders: int,
        columns: int,
        lines: int,
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.fd, self.ticks, self.orders, self.process = fd, ticks, orders, process
        self.raw = b""
        self.view = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.view)

    def read(self, seconds: float = 0.05) -> None:
        """Take over what has arrived, waiting at most so long for it."""
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65_536)
            except OSError:
                return
            if not data:
                return
            self.raw += data
            self._stream.feed(data)
            seconds = 0.0

    @property
    def text(self) -> str:
        return "\n".join(self.view.display)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Read until a condition holds."""
        end = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            assert time.monotonic() < end, f"not seen in time: {what}\n{self.text}"
            self.read()

    def see(self, words: str) -> None:
        self.until(lambda: words in self.text, words)

    def ticked(self) -> int:
        """How many snapshots the screen has asked for since this was asked last."""
        seen = 0
        while select.select([self.ticks], [], [], 0)[0]:
            seen += len(os.read(self.ticks, 64))
        return seen

    def wait_ticks(self, count: int) -> int:
        """Until the screen has asked for so many more snapshots, or for more: answers how many it were."""
        seen = 0

        def enough() -> bool:
            nonlocal seen
            seen += self.ticked()
            return seen >= count

        self.ticked()
        self.until(enough, f"{count} ticks")
        return seen

    def take(self) -> bytes:
        """The bytes that arrived since the last take."""
        self.read()
        raw, self.raw = self.raw, b""
        return raw

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Another size, as from a window manager."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def hang_up(self) -> None:
        """Close the terminal, as a broken connection does."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def order(self, words: str) -> None:
        os.write(self.orders, words.encode() + b"\n")


@contextlib.contextmanager
def live(columns: int = 120, lines: int = 40, *, leads: bool = True, **environment: str) -> Iterator[Terminal]:
    """The screen of tests.tui.live in a terminal of that size.

    leads: its session is the terminal's own, so that a hang-up sends it a signal.
    """
    ticks_out, ticks_in = os.pipe()
    orders_out, orders_in = os.pipe()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
    variables |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
    variables |= {"CREWTOP_TEST_TICKS": str(ticks_in), "CREWTOP_TEST_ORDERS": str(orders_out)}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tui.live"], cwd=ROOT, env=variables, pass_fds=(ticks_in, orders_out),
        stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if leads else None,
    )  # fmt: skip
    for each in (theirs, ticks_in, orders_out):
        os.close(each)
    terminal = Terminal(ours, ticks_out, orders_in, columns, lines, process)
    try:
        yield terminal
    finally:
        process.kill()
        process.wait()
        terminal.hang_up()
        os.close(ticks_out)
        os.close(orders_in)
