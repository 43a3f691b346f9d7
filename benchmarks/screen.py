"""What the screen costs: from a key to the paint, CPU at rest and while tasks move, bytes, and memory after an hour.

`crewtop` runs in a pseudo-terminal of 200x50 on real servers with 1,000,000 tasks. The hour is simulated: the screen is
fed 3,600 snapshots, each a second later by the database's clock, as fast as it takes them.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import termios
import time
from collections.abc import Iterator
from multiprocessing import get_context

import psutil

from benchmarks.servers import fresh_servers, table
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Finish, NewTask, RunOutcome, portion
from crewtop.store import lease, producer
from crewtop.store.database import Database

TASKS = 1_000_000
KEYS = ("2", "j", "j", "k", "\x1b[6~", "G", "g", "s", "\x1b", "3", "4", "5", "7", "c", "1", "?", "\x1b")
"""Each of them changes the picture, whatever came before it."""
ROUNDS = 5
LIMIT_KEY_SECONDS = 0.050
LIMIT_IDLE, LIMIT_BUSY = 0.01, 0.05
LIMIT_MEMORY = 120 * 1024 * 1024
PATIENCE_SECONDS = 10.0
PERIOD_SECONDS = 20.0
TRANSITIONS = 50
"""A second: a task put in, claimed and completed makes three."""

FILL = """
INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, finished_at, failed_runs, error)
SELECT 'q' || i % 8, 'crew' || i % 16, i % 5, CASE WHEN i % 20 = 0 THEN 'failed' ELSE 'completed' END, '{}', now(), 1,
       CASE WHEN i % 20 = 0 THEN 'ValueError: order ' || i || ' has no such line ' || i % 7 END
FROM generate_series(1, $1::integer) AS i
"""


def main() -> None:
    """Print the table."""
    with fresh_servers() as servers:
        asyncio.run(_fill(servers.dsn))
        env = {"CREWTOP_POSTGRES": servers.dsn, "CREWTOP_REDIS": servers.redis_url or ""}
        with _screen(["-m", "crewtop", "--interval", "60"], env) as (pid, fd):  # no tick is taken for a key's answer
            _drain(fd, 6.0)
            delays = [_key(fd, key) for _ in range(ROUNDS) for key in KEYS]
        with _screen(["-m", "crewtop"], env) as (pid, fd):
            _drain(fd, 6.0)
            idle, idle_bytes = _cpu(pid, fd)
            mover = get_context("spawn").Process(target=_move, args=(servers.dsn,), daemon=True)
            mover.start()
            _drain(fd, 5.0)
            busy, busy_bytes = _cpu(pid, fd)
            os.write(fd, b"2")
            _drain(fd, 5.0)
            listed, listed_bytes = _cpu(pid, fd)
            mover.terminate()
    first, last = _soak()
    p95 = statistics.quantiles(delays, n=20)[-1]
    table(
        f"The screen at 200x50 with {TASKS:,} tasks",
        [
            ("what", "figure", "of the limit"),
            ("key to paint, median", f"{statistics.median(delays) * 1e3:.1f} ms", ""),
            ("key to paint, p95", f"{p95 * 1e3:.1f} ms", f"{p95 / LIMIT_KEY_SECONDS:.2f}"),
            ("CPU of one core, idle", f"{idle:.2%}", f"{idle / LIMIT_IDLE:.2f}"),
            ("bytes a second, idle", f"{idle_bytes:,.0f}", ""),
            (f"CPU, {TRANSITIONS} transitions a second, overview", f"{busy:.2%}", f"{busy / LIMIT_BUSY:.2f}"),
            ("bytes a second there", f"{busy_bytes:,.0f}", ""),
            (f"CPU, {TRANSITIONS} transitions a second, task list", f"{listed:.2%}", f"{listed / LIMIT_BUSY:.2f}"),
            ("bytes a second there", f"{listed_bytes:,.0f}", ""),
            ("memory at the beginning", f"{first / 2**20:.0f} MB", ""),
            ("memory after a simulated hour", f"{last / 2**20:.0f} MB", f"{last / LIMIT_MEMORY:.2f}"),
        ],
    )


async def _fill(dsn: str) -> None:
    async with (
        Database(dsn, application_name="crewtop benchmark", connections=1, timeout=300) as database,
        database.connection() as connection,
    ):
        await connection.execute("INSERT INTO crewtop.queues (name) SELECT 'q' || i FROM generate_series(0, 7) AS i")
        await connection.execute(FILL, TASKS)
        await connection.execute("VACUUM ANALYZE crewtop.tasks")


def _move(dsn: str) -> None:
    asyncio.run(_moving(dsn))


async def _moving(dsn: str) -> None:
    """A third of TRANSITIONS tasks a second through the whole of their lives."""
    async with Database(dsn, application_name="crewtop benchmark", connections=1, timeout=60) as database:
        due = time.monotonic()
        while True:
            await producer.enqueue(database, [portion([NewTask("noop", "{}", queue="q0")])])
            claimed = await lease.claim(database, "bench", None, ["noop"], 1, 60.0)
            done = [Finish(task.run_id, task.task_id, RunOutcome.COMPLETED, seconds=0.01) for task in claimed]
            await lease.finish(database, "bench", done, SERVICE_LEVELS_SECONDS)
            due += 3 / TRANSITIONS
            await asyncio.sleep(max(0.0, due - time.monotonic()))


@contextlib.contextmanager
def _screen(arguments: list[str], environment: dict[str, str]) -> Iterator[tuple[int, int]]:
    """A Python process in a pseudo-terminal: its pid, and the terminal's other end."""
    pid, fd = pty.fork()
    if pid == 0:
        env = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | environment
        os.execve(sys.executable, [sys.executable, *arguments], env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    try:
        yield pid, fd
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


def _drain(fd: int, seconds: float) -> int:
    """Read whatever comes for so long; how many bytes."""
    end, read = time.monotonic() + seconds, 0
    while (left := end - time.monotonic()) > 0:
        if select.select([fd], [], [], left)[0]:
            read += len(os.read(fd, 65_536))
    return read


def _key(fd: int, key: str) -> float:
    """Seconds from a key to the first byte that it painted."""
    while select.select([fd], [], [], 0.25)[0]:
        os.read(fd, 65_536)
    start = time.perf_counter()
    os.write(fd, key.encode())
    if not select.select([fd], [], [], PATIENCE_SECONDS)[0]:
        raise SystemExit(f"the key {key!r} painted nothing within {PATIENCE_SECONDS:g} s")
    return time.perf_counter() - start


def _cpu(pid: int, fd: int) -> tuple[float, float]:
    """The share of a core that a process takes over a while, and the bytes a second that it sends."""
    process = psutil.Process(pid)
    before = process.cpu_times()
    read = _drain(fd, PERIOD_SECONDS)
    after = process.cpu_times()
    used = after.user + after.system - before.user - before.system
    return used / PERIOD_SECONDS, read / PERIOD_SECONDS


def _soak() -> tuple[int, int]:
    """Memory of the screen in bytes after its first snapshots, and after an hour of them."""
    with _screen(["-m", "benchmarks.soak"], {}) as (pid, fd):
        process = psutil.Process(pid)
        figures = []
        for seconds in (60, 3_600):
            seen = b""
            while max(map(int, re.findall(rb"beat(\d+)", seen)), default=0) < seconds:
                if select.select([fd], [], [], 60.0)[0]:
                    seen = seen[-4_096:] + os.read(fd, 65_536)
            figures.append(process.memory_info().rss)
        return figures[0], figures[1]


if __name__ == "__main__":
    main()
