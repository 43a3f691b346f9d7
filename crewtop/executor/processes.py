"""The worker's side of a process that runs crews: of one for a single run, and of a host. Imports no CrewAI."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from crewtop.executor.streams import cleaned, event_stream, lines, pieces
from crewtop.model.events import DoneStep, Event, Turn, from_line

_LOG = logging.getLogger(__name__)


Clean = Callable[[bytes], bytes]
"""Takes out of a line what must not be told, such as keys."""


class Child:
    """A process that the zygote has started or is about to. key: what the zygote knows it by; clean: for its lines.

    log: what it prints, in pieces as they come. It and what the process reports are each iterated once, and both at the
    same time: the process waits while either is left unread. Both end with the process, after what it had sent.
    """

    def __init__(self, key: int, events: io.FileIO, log: io.FileIO, clean: Clean) -> None:
        self.key = key
        self.pid = 0
        self.ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self.log: AsyncIterator[bytes] = pieces(log, self.ended)
        self._lines = cleaned(lines(pieces(events, self.ended)), clean)
        self._events = events
        self._outbox: asyncio.Queue[bytes] | None = None
        self._sender: asyncio.Task[None] | None = None

    def say(self, message: dict[str, Any]) -> None:
        """Send it a message, after those before; nothing happens if it has ended."""
        if self.ended.done():
            return
        if self._outbox is None:  # most processes are never told anything
            self._outbox = asyncio.Queue()
            self._sender = asyncio.create_task(
                self._send(self._outbox, socket.socket(fileno=os.dup(self._events.fileno())))
            )
        self._outbox.put_nowait(json.dumps(message).encode("ascii") + b"\n")

    async def _send(self, outbox: asyncio.Queue[bytes], orders: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with orders, suppress(OSError):  # it is dying, and its end will be told
            while True:
                await loop.sock_sendall(orders, await outbox.get())

    async def wait(self) -> int | None:
        """Return the exit status, a signal as a negative number (-9), or None if the zygote died first."""
        return await asyncio.shield(self.ended)

    def end(self, status: int | None) -> None:
        """Take note of the process's end."""
        if self._sender is not None:
            self._sender.cancel()
        if not self.ended.done():
            self.ended.set_result(status)


class Process(Child):
    """One run's process. events: what it reports."""

    def __init__(self, key: int, events: io.FileIO, log: io.FileIO, clean: Clean) -> None:
        super().__init__(key, events, log, clean)
        self.events: AsyncIterator[Event] = event_stream(self._lines, key)


@dataclass(frozen=True, slots=True)
class Told:
    """What a run of a host told."""

    run_id: int
    event: Event


@dataclass(frozen=True, slots=True)
class Batch:
    """What runs of a host printed, and those that returned: run id, monotonic second, result as JSON text."""

    printed: Sequence[tuple[int, str]]
    returned: Sequence[tuple[int, float, str]]


class Host(Child):
    """A process that runs many crews at once."""

    def assign(self, runs: Sequence[tuple[int, str, str, Sequence[DoneStep], Turn | None]]) -> None:
        """Start runs, each a run id, a crew, inputs as JSON text, the steps that need not be done again, and a turn
        where its calls to models are the worker's to let out.
        """
        self.say({"runs": runs})

    def cancel(self, run_id: int) -> None:
        """Ask a run to end, which it may be unable to; nothing happens if it has ended."""
        self.say({"cancel": run_id})

    async def reports(self) -> AsyncIterator[Told | Batch]:
        """What its runs tell; a line that says nothing is logged and passed over."""
        async for line in self._lines:
            try:
                yield _report(line)
            except (ValueError, RecursionError) as error:
                _LOG.warning("host %d sent a line that is no report: %s", self.key, error)


def _report(line: bytes) -> Told | Batch:
    if line[:1] == b"{":
        batch: dict[str, Any] = json.loads(line)
        return Batch(batch.get("printed", ()), batch.get("returned", ()))
    run_id, _, event = line.partition(b" ")
    return Told(int(run_id), from_line(event))
