"""The host's end of its event socket: what many runs tell, in few writes.

A line is a run's id, a space and an event, or a batch of what costs nothing to tell a moment later:
{"printed": [[run id, text], ...], "returned": [[run id, monotonic second, result as JSON text], ...]}.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading

from crewtop.executor.reporter import Soon, write
from crewtop.model.events import Event, to_line

_MOST_CHARACTERS = 256 * 1024
"""A batch that holds more is written at once, whoever fills it: nothing may grow without bound."""


class HostReporter:
    """Writes from whatever thread. A worker that does not read makes all the host's runs wait."""

    def __init__(self, events: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self._events = events
        self._loop = loop
        self._lock = threading.RLock()
        self._printed: list[tuple[int, str]] = []
        self._returned: list[tuple[int, float, str]] = []
        self._characters = 0
        self._soon = Soon(self.flush)

    def send(self, run_id: int, event: Event) -> None:
        """Tell of an event, after all that came before it, and before the caller goes on."""
        line = to_line(event)
        with self._lock:
            self.flush()
            write(self._events, b"%d %b" % (run_id, line))

    def send_soon(self, run_id: int, event: Event) -> None:
        """Tell of an event that nobody waits for within a few milliseconds."""
        line = to_line(event)
        with self._lock:
            self._soon.add(b"%d %b" % (run_id, line))

    def returned(self, run_id: int, at: float, result: str) -> None:
        """Tell of a result with others of this turn of the loop; called within the loop's thread."""
        with self._lock:
            if not self._returned and not self._printed:
                self._loop.call_soon(self.flush)
            self._returned.append((run_id, at, result))
            self._filled(len(result))

    def printed(self, run_id: int, text: str) -> None:
        """Tell of output with what else this turn of the loop brings."""
        with self._lock:
            if not self._returned and not self._printed:
                self._loop.call_soon_threadsafe(self.flush)
            self._printed.append((run_id, text))
            self._filled(len(text))

    def flush(self) -> None:
        """Write the batch."""
        with self._lock:
            if soon := self._soon.take():
                write(self._events, soon)
            if not self._returned and not self._printed:
                return
            batch: dict[str, object] = {"printed": self._printed} if self._printed else {}
            if self._returned:
                batch["returned"] = self._returned
            self._printed, self._returned, self._characters = [], [], 0
            write(self._events, json.dumps(batch).encode("ascii") + b"\n")

    def _filled(self, characters: int) -> None:
        self._characters += characters
        if self._characters > _MOST_CHARACTERS:
            self.flush()


class RunReporter:
    """One run's part of it."""

    def __init__(self, reporter: HostReporter, run_id: int) -> None:
        self._reporter = reporter
        self._run_id = run_id

    def send(self, event: Event) -> None:
        """As HostReporter's."""
        self._reporter.send(self._run_id, event)
