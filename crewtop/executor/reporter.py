"""The child's end of the run's event socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NoReturn

from crewtop.executor.wire import Lines
from crewtop.model.events import Event, Raised, Returned, to_line

_PIECE_BYTES = 64 * 1024


class Reporter:
    """Writes events, each in one piece whatever the threads do. A worker that does not read makes the crew wait."""

    def __init__(self, events: socket.socket) -> None:
        self._events = events
        self._lock = threading.RLock()
        self._ended = False
        self._soon = Soon(self._flush)

    def send(self, event: Event) -> None:
        """Send an event; Returned and Raised are the last, whatever a crew's left-over threads still do.

        Raises ValueError for an event that holds NaN. Ends the process if the worker is gone.
        """
        line = to_line(event)
        with self._lock:
            if self._ended:
                return
            self._ended = isinstance(event, (Returned, Raised))
            write(self._events, self._soon.take() + line)

    def send_soon(self, event: Event) -> None:
        """Send an event that nobody waits for within a few milliseconds, and before any that is sent after it."""
        line = to_line(event)
        with self._lock:
            if not self._ended:
                self._soon.add(line)

    def _flush(self) -> None:
        with self._lock:
            if lines := self._soon.take():
                write(self._events, lines)

    def hear_worker(self, answered: Callable[[dict[str, Any]], None]) -> None:
        """Start a thread that hands on what the worker answers.

        It ends the process as soon as the worker is gone, even if the crew sends nothing.
        """
        threading.Thread(target=self._hear, args=(answered,), name="crewtop-watch", daemon=True).start()

    def _hear(self, answered: Callable[[dict[str, Any]], None]) -> None:
        lines = Lines()
        with suppress(OSError):
            while piece := self._events.recv(_PIECE_BYTES):
                for line in lines.feed(piece):
                    answered(json.loads(line)["answer"])
        end_group()


class Soon:
    """Lines that a thread of its own has written: write is called there, and is to take() them.

    Whoever writes to a socket lets go of the interpreter, and other threads may keep it for milliseconds. Not to be
    used by two threads at once.
    """

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._lines: list[bytes] = []
        self._due: SimpleQueue[None] | None = None  # a thread would not outlive a fork

    def add(self, line: bytes) -> None:
        """Have a line written."""
        if self._due is None:
            self._due = SimpleQueue()
            threading.Thread(target=self._serve, args=(self._due,), name="crewtop-soon", daemon=True).start()
        self._lines.append(line)
        self._due.put(None)

    def take(self) -> bytes:
        """All that there is, to be written now."""
        lines, self._lines = self._lines, []
        return b"".join(lines)

    def _serve(self, due: SimpleQueue[None]) -> None:
        while True:
            due.get()
            self._write()


def write(events: socket.socket, lines: bytes) -> None:
    """Write to the worker, or end the run where it is gone."""
    try:
        events.sendall(lines)
    except OSError:
        end_group()


def end_group() -> NoReturn:
    """Kill the run: this process and what its tools started."""
    os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
