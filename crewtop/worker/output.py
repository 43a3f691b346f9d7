"""What runs print: the tail that is stored with a run, and the lines that go to whoever watches it live."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from crewtop.live.fast_lane import FastLane

LOG_TAIL_CHARACTERS = 65_536
LOG_LINE_CHARACTERS = 8_192
LOG_FLUSH_SECONDS = 0.2
LOG_LINES_A_FLUSH = 2_000
"""Live lines beyond this are dropped, with a word: a run that prints without end must not drown Redis."""


class LiveLog:
    """Passes on what runs print, a few times a second. Without Redis it goes nowhere, and costs nothing.

    clean: takes out of a line what must not be told, such as keys.
    """

    def __init__(self, live: FastLane, clean: Callable[[str], str]) -> None:
        self._live = live
        self.clean = clean
        self._fresh: set[Output] = set()
        self._news = asyncio.Event()

    def add(self, output: Output) -> None:
        """There are lines to pass on."""
        self._fresh.add(output)
        self._news.set()

    async def run(self) -> None:
        """Pass on for ever."""
        while True:
            await self._news.wait()
            await asyncio.sleep(LOG_FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Pass on what there is."""
        self._news.clear()
        fresh, self._fresh = self._fresh, set()
        for output in fresh:
            await self._live.append_log(output.run_id, output.take())


class Output:
    """One run's output."""

    def __init__(self, run_id: int, live_log: LiveLog) -> None:
        self.run_id = run_id
        self._live_log = live_log
        self._rest = ""
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._unsent: list[str] = []
        self._dropped = 0

    def write(self, text: str) -> None:
        """Take a piece of it; a line is kept once it is whole."""
        *whole, self._rest = (self._rest + text).split("\n")
        if len(self._rest) > LOG_LINE_CHARACTERS:
            whole, self._rest = [*whole, self._rest], ""
        self._keep(whole)

    def tail(self) -> str | None:
        """The end of all of it, which is over; None where nothing was printed."""
        if self._rest:
            self._keep([self._rest])
            self._rest = ""
        return "\n".join(self._tail) or None

    def take(self) -> list[str]:
        """The lines since the last call."""
        lines, self._unsent, dropped, self._dropped = self._unsent, [], self._dropped, 0
        return [f"… {dropped} lines dropped …", *lines] if dropped else lines

    def _keep(self, lines: list[str]) -> None:
        for line in lines:
            kept = self._live_log.clean(line[:LOG_LINE_CHARACTERS]).rstrip("\r")
            self._tail.append(kept)
            self._tail_size += len(kept) + 1
            self._unsent.append(kept)
        while self._tail_size > LOG_TAIL_CHARACTERS:
            self._tail_size -= len(self._tail.popleft()) + 1
        overflow = len(self._unsent) - LOG_LINES_A_FLUSH
        if overflow > 0:
            self._dropped += overflow
            del self._unsent[:overflow]
        if lines:
            self._live_log.add(self)
