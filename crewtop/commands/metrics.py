"""`crewtop metrics`: everything that the screen shows, for Prometheus to scrape."""

from __future__ import annotations

import asyncio
import concurrent.futures
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

import typer
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from crewtop.config import Configuration
from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import CrewtopError
from crewtop.model.snapshot import Snapshot
from crewtop.model.totals import Totals
from crewtop.monitor.monitor import Monitor
from crewtop.monitor.totals import Totalling
from crewtop.plain.families import Labels, Sight, families
from crewtop.stores import Stores, stores
from crewtop.text import masked, shown

CONNECTIONS = 2
STATEMENT_TIMEOUT_SECONDS = 5.0

FRESH_SECONDS = 1.0
"""What was seen so lately is told again: however many scrape, the database is asked about as often as by a screen."""

RESTS = 9.0
"""Nor is it asked again before so many times what its answer took: it gives a tenth of its time at most."""

ANSWER_SECONDS = 9.0
"""A scrape that is not answered within this says that nothing is up: Prometheus waits for 10 s."""


async def serve(configuration: Configuration, host: str, port: int) -> int:
    """Answer scrapes until SIGTERM or Ctrl-C; answers the exit code. Raises CrewtopError where the port is taken."""
    async with _stores(configuration) as opened:
        with _serving(looking_at(opened, configuration), host, port) as at:
            typer.echo(f"metrics of {opened.database.name} at http://{host}:{at}/metrics", err=True)
            await _told_to_stop()
    return 0


async def print_once(configuration: Configuration) -> int:
    """Print what one scrape would be answered; answers the exit code."""
    async with _stores(configuration) as opened:
        sight = await looking_at(opened, configuration).now()
    typer.echo(exposition(sight), nl=False)
    return 0


def _stores(configuration: Configuration) -> AbstractAsyncContextManager[Stores]:
    return stores(
        configuration.settings,
        "crewtop metrics",
        connections=CONNECTIONS,
        timeout=STATEMENT_TIMEOUT_SECONDS,
        prepared=False,
    )


class Looking:
    """Looks at the stores for scrapes, seldom enough not to weigh on them. clock: monotonic seconds."""

    def __init__(
        self,
        snapshot: Callable[[], Awaitable[Snapshot]],
        totals: Callable[[], Awaitable[Totals]],
        live: FastLane,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._snapshot, self._totals, self._live, self._clock = snapshot, totals, live, clock
        self._one_at_a_time = asyncio.Lock()
        self._seen: Sight | None = None
        self._until = 0.0
        self._trouble = ""

    async def now(self) -> Sight:
        """What was seen last, or what is seen now where that is too long ago. Never raises for a store's sake."""
        async with self._one_at_a_time:
            began = self._clock()
            if self._seen is None or began >= self._until:
                self._seen = await self._look()
                took = self._clock() - began
                self._until = began + took + max(FRESH_SECONDS, RESTS * took)
            return self._seen

    async def _look(self) -> Sight:
        try:
            picture = await self._snapshot()
            totals = await self._totals()
        except CrewtopError as error:
            self._say(str(error))
            return Sight(None, None, await self._live.health())
        self._say("")
        return Sight(picture, totals, picture.redis)

    def _say(self, trouble: str) -> None:
        """Tell of each trouble once."""
        if trouble and not self._trouble:
            typer.echo(f"crewtop metrics: {shown(masked(trouble))}", err=True)
        self._trouble = trouble


def looking_at(opened: Stores, configuration: Configuration) -> Looking:
    """A Looking at open stores."""
    reader = Monitor(opened, configuration.settings.screen.no_progress_seconds)
    totalling = Totalling()
    return Looking(reader.snapshot, lambda: reader.reading.ask(totalling.read), opened.live)


def exposition(sight: Sight) -> str:
    """What was seen as Prometheus' text."""
    registry = CollectorRegistry()
    registry.register(_Families(lambda: sight))
    return generate_latest(registry).decode()


class _Families(Collector):
    def __init__(self, look: Callable[[], Sight]) -> None:
        self._look = look
        self._labels = Labels()

    def collect(self) -> Iterator[Metric]:
        """What a scrape is answered."""
        return families(self._look(), self._labels)

    def describe(self) -> Iterator[Metric]:
        """Nothing beforehand, which would ask the stores before anybody scrapes."""
        return iter(())


@contextmanager
def _serving(looking: Looking, host: str, port: int) -> Iterator[int]:
    """The HTTP server, in threads of its own, while inside; yields its port. It looks through this thread's loop."""
    loop = asyncio.get_running_loop()

    def look() -> Sight:
        asked = asyncio.run_coroutine_threadsafe(looking.now(), loop)
        try:
            return asked.result(ANSWER_SECONDS)
        except (TimeoutError, concurrent.futures.CancelledError):
            return Sight(None, None, None)

    registry = CollectorRegistry()
    registry.register(_Families(look))
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise CrewtopError(f"metrics: cannot listen on {host}:{port}: {error.strerror or error}: use --port") from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def _told_to_stop() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
