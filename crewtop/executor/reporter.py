"""The child's end of the run's event socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
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

    def send(self, event: Event) -> None:
        """Send an event; Returned and Raised are the last, whatever a crew's left-over threads still do.

        Raises ValueError for an event that holds NaN. Ends the process if the worker is gone.
        """
        line = to_line(event)
        with self._lock:
            if self._ended:
                return
            self._ended = isinstance(event, (Returned, Raised))
            try:
                self._events.sendall(line)
            except OSError:
                end_group()

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


def end_group() -> NoReturn:
    """Kill the run: this process and what its tools started."""
    os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)
