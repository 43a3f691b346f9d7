"""`python -m tests.chaos.screen 20000 [SEED]`: a mad operator at the real screen while its servers come and go.

The real `crewtop` in a pseudo-terminal, with a worker and tasks that come all the while, gets so many random keys,
clicks, turns of the wheel, pastes and resizes; each acts on real tasks. Meanwhile PostgreSQL and Valkey are killed,
frozen, flushed and started again. Exit code 0 only if the screen never ended but by a key that quits, wrote no
traceback, told of no unexpected error, was never blocked for longer than `probed.LIMIT_SECONDS`, and shows the truth
again once all is quiet.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

import crewtop
from benchmarks.peers.catalog import CONTESTANTS, ROOT
from crewtop import embedded
from crewtop.store import schema
from crewtop.store.database import Database
from tests.chaos.harms import (
    Harm,
    away,
    crash_redis,
    cut_connections,
    flush_redis,
    postgres_away,
    postgres_frozen,
    redis_away,
    restart_postgres,
)
from tests.chaos.operator import Operator
from tests.chaos.probed import LIMIT_SECONDS
from tests.chaos.site import Site
from tests.tui.terminal import Terminal

CONFIG = """
[crews]
nap = "tests.chaos.crews:nap"

[worker]
lease_seconds = 3
poll_seconds = 0.3
backoff_seconds = 0.1
kill_grace_seconds = 0.3
"""
WITHOUT_CREWAI = ROOT / "tests" / "e2e" / "without_crewai"
TASKS_A_SECOND = 5
QUEUES = ("default", "support", "research")
DEADLINE_SECONDS = 60.0
TAIL_BYTES = 200_000
ESCAPE_SECONDS = 0.3  # after which Esc is a key, and not the beginning of one
LEFT = b"\x1b[?1049l"
UNEXPECTED = re.compile(r"unexpected [A-Z]\w+(?:: [ -~]{0,80})?")
ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?<]*[a-zA-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


class Screen:
    """The real `crewtop`, probed, in a terminal of its own; it is started again when it was quit."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.starts = 0
        self.wrong: list[str] = []
        self.memory = 0
        self._size = (120, 40)
        self._start()

    def _start(self) -> None:
        self.fd, theirs = pty.openpty()
        os.set_blocking(self.fd, False)
        self._tail = b""
        self.resize(*self._size)
        report = self.folder / f"blocked-{self.starts}.json"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.probed", str(report)],
            cwd=self.environment["HOME"], env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self.starts += 1
        os.close(theirs)
        while b"\x1b[?1049h" not in self._tail and self.process.poll() is None:
            self.read(1.0)

    def resize(self, columns: int, lines: int) -> None:
        """Another size, as from a window manager."""
        self._size = columns, lines
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, data: bytes) -> None:
        """Type data; a screen that takes nothing for too long is stuck."""
        end = time.monotonic() + DEADLINE_SECONDS
        while data and self.process.poll() is None:
            with suppress(BlockingIOError):
                data = data[os.write(self.fd, data) :]
            if time.monotonic() > end:
                self.wrong.append(f"no key was taken for {DEADLINE_SECONDS:.0f} s: {self._tail[-500:]!r}")
                self.process.kill()
            self.read(0.0)

    def read(self, seconds: float) -> None:
        """Take over what it paints, as a terminal would."""
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65_536)
            except OSError:  # nobody has it open any more
                return
            self._tail = (self._tail + data)[-TAIL_BYTES:]
            self._look(data)
            seconds = 0.0

    def pause(self, seconds: float) -> None:
        """Read for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.02)

    def _look(self, data: bytes) -> None:
        said = ESCAPES.sub(b"", data).decode("utf-8", "replace")
        self.wrong += [found for found in UNEXPECTED.findall(said) if found not in self.wrong]

    def revive(self) -> None:
        """Start it again if it has ended; that must have been by a key that quits, and without a traceback."""
        if self.process.poll() is None:
            with suppress(psutil.Error):
                process = psutil.Process(self.process.pid)
                self.memory = max(self.memory, process.memory_info().rss)
                if process.status() == psutil.STATUS_STOPPED:  # ^Z; a shell would say fg now
                    process.resume()
            return
        self.end()
        self._start()

    def end(self) -> None:
        """Judge how it ended."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self.process.poll() is None:
            self.read(0.1)
            if time.monotonic() > deadline:
                self.process.kill()
        self.read(0.1)
        os.close(self.fd)
        after = self._tail.rpartition(LEFT)[2].decode("utf-8", "replace")
        quit_codes = (0, -signal.SIGINT)  # the second ^C may come when Python has begun to end
        if self.process.returncode not in quit_codes or "Traceback" in after:
            self.wrong.append(f"ended with {self.process.returncode}: {after.strip()[:3_000]}")

    def settle(self) -> None:
        """Leave all that is open, and see that it shows what is true; then quit."""
        self.revive()
        terminal = Terminal(self.fd, -1, -1, 120, 40)
        # Also what a paste has left open, and a picture that is held still: a step back holds any, then p lets it go.
        for keys in (b"\x1b[201~", b"\x1b", b"\x1b", b"\x1b", b"\x1b", b"1", b"[", b"p"):
            self.pause(ESCAPE_SECONDS)
            self.send(keys)
        self.resize(120, 40)
        try:
            terminal.until(lambda: "RUNNING NOW" in terminal.text and "trying again" not in terminal.text, "the truth")
        except AssertionError as error:
            self.wrong.append(str(error))
        self.send(b"\x03")


HARMS: tuple[Harm, ...] = (
    postgres_away, redis_away, away, postgres_frozen, cut_connections, restart_postgres, crash_redis, flush_redis,
)  # fmt: skip


@contextmanager
def beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Let something go on in a thread until the block ends."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def harm(site: Site, done: Counter[str], ended: threading.Event) -> None:
    """One after the other, in random order, again and again: the first at once, so that a short run has it too."""
    while True:
        for one in site.draw.sample(HARMS, len(HARMS)) if done else (postgres_away,):
            one(site)
            done[one.__name__.replace("_", " ")] += 1
            if ended.wait(site.draw.uniform(1, 6)):
                return


def trade(environment: dict[str, str], draw: random.Random, ended: threading.Event) -> None:
    """Put tasks in, and start the worker again when an operator or a server has ended it."""

    async def enqueue() -> None:
        async with crewtop.connect(
            postgres=environment["CREWTOP_POSTGRES"], redis=environment["CREWTOP_REDIS"]
        ) as queue:
            while not ended.is_set():
                revive()
                crew = {"n": draw.randint(1, 10_000), "seconds": round(draw.uniform(0, 3), 2)}
                await queue.enqueue("nap", crew, queue=draw.choice(QUEUES), max_attempts=draw.choice((1, 3)))
                await asyncio.sleep(1 / TASKS_A_SECOND)

    worker: subprocess.Popen[bytes] | None = None

    def revive() -> None:
        nonlocal worker
        if worker is None or worker.poll() is not None:
            worker = subprocess.Popen(
                [sys.executable, "-m", "crewtop", "worker", "--slots", "4"], cwd=ROOT, env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    while not ended.is_set():
        with suppress(crewtop.CrewtopError, OSError, TimeoutError):
            asyncio.run(enqueue())
        ended.wait(0.5)
    if worker is not None and worker.poll() is None:
        worker.kill()


def environment_of(folder: Path, servers: embedded.Servers) -> dict[str, str]:
    """Of the screen and the worker: these servers, this folder, nothing of the developer's own."""
    config = folder / "crewtop.toml"
    config.write_text(CONFIG)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CREWTOP_")}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        kept.pop(name, None)
    return kept | {
        "CREWTOP_CONFIG": str(config), "CREWTOP_POSTGRES": servers.dsn, "CREWTOP_REDIS": servers.redis_url or "",
        "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder), "HOME": str(folder), "PAGER": "wc -c",
        "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": f"{WITHOUT_CREWAI}{os.pathsep}{ROOT}",
    }  # fmt: skip


async def prepare(dsn: str) -> None:
    """Make the schema."""
    async with Database(dsn, application_name="chaos", connections=1) as database:
        await schema.init(database)


async def deeds(dsn: str) -> Counter[str]:
    """What was done to tasks from the screen."""
    async with Database(dsn, application_name="chaos", connections=1) as database, database.connection() as connection:
        rows = await connection.fetch("SELECT action, count(*) FROM crewtop.operations GROUP BY action")
    return Counter(dict(rows))


def fuzz(folder: Path, keys: int, seed: int) -> bool:
    """Let it loose and print what came of it; answers whether all held."""
    with embedded.running(folder / "data") as pair:
        asyncio.run(prepare(pair.dsn))
        site = Site(folder, pair, CONTESTANTS["crewtop"], random.Random(seed))
        environment = environment_of(folder, pair)
        harms: Counter[str] = Counter()
        operator = Operator(random.Random(seed))
        pauses = random.Random(seed)
        with beside(lambda ended: trade(environment, random.Random(seed), ended)):
            screen = Screen(folder, environment)
            try:
                with beside(lambda ended: harm(site, harms, ended)):
                    for number in range(keys):
                        if number and number % 1_000 == 0:
                            print(f"{number} keys, {len(screen.wrong)} wrong", file=sys.stderr)
                        operator.strike(screen)
                        screen.read(pauses.choice((0.0, 0.0, 0.005, 0.02)))
                        screen.revive()
                screen.settle()
                screen.end()
            finally:
                screen.process.kill()
        return report(screen, operator.done, harms, asyncio.run(deeds(pair.dsn)))


def report(screen: Screen, *counted: Counter[str]) -> bool:
    """Print the table; answers whether all held."""
    probes = [json.loads(file.read_text()) for file in screen.folder.glob("blocked-*.json")]
    blocked = [each for probe in probes for each in probe["blocked"]]
    for each in counted:
        print(", ".join(f"{name} {times}" for name, times in sorted(each.items())))
    print(f"started {screen.starts} times, at most {screen.memory / 1e6:.0f} MB")
    lags = sum((Counter({int(ms): times for ms, times in probe["lags"].items()}) for probe in probes), Counter[int]())
    p99 = sorted(lags.elements())[int(lags.total() * 0.99)]
    print(f"loop late by {p99} ms p99, {max(lags)} ms at most, of {lags.total()} beats")
    for seconds, where in blocked:
        print(f"blocked for {seconds * 1e3:.0f} ms in {where or '?'}")
    for wrong in screen.wrong:
        print(f"wrong: {wrong}")
    whole = not screen.wrong and not blocked and len(probes) == screen.starts
    print(f"{len(screen.wrong)} wrong, {len(blocked)} times blocked over {LIMIT_SECONDS * 1e3:.0f} ms", flush=True)
    return whole


def main() -> int:
    """Run and clean up."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.screen", description=__doc__)
    parser.add_argument("keys", nargs="?", type=int, default=20_000)
    parser.add_argument("seed", nargs="?", type=int, default=int(time.time()))
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    folder = Path(tempfile.mkdtemp(prefix="crewtop-fuzz-"))
    folder.chmod(0o755)
    if whole := fuzz(folder, asked.keys, asked.seed):
        shutil.rmtree(folder)
    else:
        print(f"kept for a look: {folder}", file=sys.stderr)
    return 0 if whole else 1


if __name__ == "__main__":
    raise SystemExit(main())
