"""Scrapes as Prometheus makes them: many at once, of servers that may be away."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import urllib.request

from crewtop.commands.metrics import Looking
from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import Unavailable
from crewtop.model.snapshot import Snapshot
from crewtop.model.totals import Totals
from tests.e2e.conftest import Site, site  # noqa: F401  a fixture
from tests.store.helpers import put
from tests.tui.fixtures import BUSY


class Server:
    """A database that counts how often it is asked, on a clock of its own."""

    def __init__(self, takes: float = 0.0) -> None:
        self.now, self.asked, self.takes, self.down = 100.0, 0, takes, False

    async def snapshot(self) -> Snapshot:
        self.asked += 1
        await asyncio.sleep(0)
        self.now += self.takes
        if self.down:
            raise Unavailable("postgres: gone")
        return BUSY

    async def totals(self) -> Totals:
        return Totals()

    def looking(self) -> Looking:
        return Looking(self.snapshot, self.totals, FastLane(None), lambda: self.now)


async def test_many_scrapes_at_once_are_one_question() -> None:
    server = Server()
    looking = server.looking()
    sights = await asyncio.gather(*(looking.now() for _ in range(50)))
    assert (server.asked, {id(sight) for sight in sights}) == (1, {id(sights[0])})
    server.now += 1.1
    await looking.now()
    assert server.asked == 2


async def test_a_slow_server_is_left_alone_for_nine_times_as_long() -> None:
    server = Server(takes=2.0)
    looking = server.looking()
    await looking.now()
    server.now += 17
    await looking.now()
    assert server.asked == 1
    server.now += 2
    await looking.now()
    assert server.asked == 2


async def test_a_server_that_is_away_is_told_of_once_and_leaves_no_old_figures() -> None:
    server = Server()
    looking = server.looking()
    assert (await looking.now()).snapshot is BUSY
    server.down, server.now = True, server.now + 2
    assert (await looking.now()).snapshot is None
    server.down, server.now = False, server.now + 2
    assert (await looking.now()).snapshot is BUSY


async def test_it_serves_until_sigterm(site: Site) -> None:  # noqa: F811
    await put(site.database, "echo", "echo")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "crewtop", "metrics", "--port", str(port), env=site.env, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    async with asyncio.timeout(60):
        assert b"metrics of test_" in await process.stderr.readline()
        text = await asyncio.to_thread(scrape, port)
        assert 'crewtop_tasks{queue="default",status="ready"} 2.0' in text
        assert 'crewtop_up{store="redis"} 1.0' in text
        code, _, err = await site.crewtop("metrics", "--port", str(port))
        assert (code, f"cannot listen on 127.0.0.1:{port}" in err) == (2, True)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def test_once_prints_what_a_scrape_is_answered(site: Site) -> None:  # noqa: F811
    await put(site.database, "echo")
    code, out, _ = await site.crewtop("metrics", "--once")
    assert code == 0
    assert 'crewtop_tasks{queue="default",status="ready"} 1.0' in out


def scrape(port: int) -> str:
    """One GET of the metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text: str = answer.read().decode()
        return text
