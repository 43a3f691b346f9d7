"""Textual's driver, calmer: without reports of every mouse movement, which cost bytes both ways and mean nothing here.

It also has the terminal remember its title, and put it back however the screen ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from codecs import getincrementaldecoder
from contextlib import suppress
from typing import Any, TextIO

from textual.driver import Driver

from crewtop.tui import title

_POINTER_SHAPE = "\x1b]22;"
"""Ours is always the same, and an old Linux console prints what it does not understand."""

_FOCUS_REPORTS = "\x1b[?1004h"
"""Textual would paint everything anew each time that another window or pane is chosen."""


class _Lost:
    """A terminal that may be gone: what is written to it then is lost, and that is all."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()


if sys.platform != "win32":
    from textual.drivers.linux_driver import LinuxDriver

    from crewtop.tui.pasting import ESCAPE_SECONDS, PastingParser

    INPUT_SECONDS = 5.0
    """How long the thread that reads keys sleeps at most. What ends it wakes it."""

    GONE_SECONDS = 0.1
    """Between two looks at a terminal that is gone."""

    class CalmDriver(LinuxDriver):
        """Asks the terminal for clicks and the wheel alone."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            if sys.__stdout__ is not None:
                # `crewtop 2> log` must not send the picture into the log.
                lost: Any = _Lost(sys.__stdout__)
                self._file = lost
            self._woken, self._wake = os.pipe()

        def write(self, data: str) -> None:
            """Send data to the terminal, while that is taken over: what ends before has nothing to give back."""
            if self._writer_thread is not None and not data.startswith((_POINTER_SHAPE, _FOCUS_REPORTS)):
                super().write(data)

        def _sigcont_application(self, *_: object) -> None:
            """Take the terminal over again after a suspension.

            SIGCONT comes along with SIGHUP too when the terminal is gone: then there is nothing to take over.
            """
            if self._must_signal_resume:
                super()._sigcont_application()

        def run_input_thread(self) -> None:
            """Tell the application of what is typed until the screen ends. What is no UTF-8 is replaced."""
            parser, decoder = PastingParser(), getincrementaldecoder("utf-8")("replace")
            while not self.exit_event.is_set():
                patience = ESCAPE_SECONDS if parser.undecided else INPUT_SECONDS
                if self.fileno in select.select([self.fileno, self._woken], [], [], patience)[0]:
                    if not (data := os.read(self.fileno, 4_096)):
                        time.sleep(GONE_SECONDS)  # the terminal is gone: the application looks for that
                    for event in parser.feed(decoder.decode(data)):
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)
            os.read(self._woken, 1)

        def disable_input(self) -> None:
            """Let nobody read keys any more."""
            if self._key_thread is not None and self._key_thread.is_alive():
                os.write(self._wake, b".")
            super().disable_input()

        def start_application_mode(self) -> None:
            """Take the terminal over."""
            super().start_application_mode()  # type: ignore[no-untyped-call]
            if self._writer_thread is not None and title.able(os.environ):
                self.write(title.PUSH)

        def stop_application_mode(self) -> None:
            """Give the terminal back as it was."""
            if title.able(os.environ):
                self.write(title.POP)
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)  # a last resize would find no loop to tell of it
            super().stop_application_mode()

        def _enable_mouse_support(self) -> None:
            if self._mouse:
                self.write("\x1b[?1000h\x1b[?1006h")
                self.flush()


def hung_up() -> bool:
    """Whether the terminal is gone: its window was closed, or the connection to it broke.

    Mostly a signal says so. Where none does, since another process leads the session, reading would find an endless
    end of file, and Textual would read it again and again.
    """
    if sys.platform == "win32":
        return False
    terminal = select.poll()
    terminal.register(sys.__stdin__.fileno() if sys.__stdin__ is not None else 0, select.POLLHUP)
    return any(what & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, what in terminal.poll(0))


def calm_driver() -> type[Driver] | None:
    """The driver for CrewtopApp; None (Textual's own choice) on Windows."""
    return None if sys.platform == "win32" else CalmDriver
