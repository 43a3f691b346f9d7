"""From the start of the process to the first painted frame, against the limit of 0.6 s. Servers are up already."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import termios
import time

from benchmarks.servers import fresh_servers, table
from crewtop import embedded

LIMIT_SECONDS = 0.6
RUNS = 5
MARK = b"Overview"


def main() -> None:
    """Print the median of five runs and its ratio to the limit, and a bare `python -c pass` beside it."""
    with fresh_servers() as servers:
        _first_frame(servers)
        frames = [_first_frame(servers) for _ in range(RUNS)]
        bare = [_bare() for _ in range(RUNS)]
    median = statistics.median(frames)
    table(
        f"First frame, median of {RUNS}",
        [
            ("what", "seconds", "of the limit"),
            ("crewtop, first frame at 120x40", f"{median:.3f}", f"{median / LIMIT_SECONDS:.2f}"),
            ("slowest run", f"{max(frames):.3f}", f"{max(frames) / LIMIT_SECONDS:.2f}"),
            ("python -c pass", f"{statistics.median(bare):.3f}", ""),
        ],
    )


def _first_frame(servers: embedded.Servers) -> float:
    env = os.environ | {
        "CREWTOP_POSTGRES": servers.dsn, "CREWTOP_REDIS": servers.redis_url or "", "TERM": "xterm-256color",
    }  # fmt: skip
    start = time.perf_counter()
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-m", "crewtop"], env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    try:
        while MARK not in seen:
            if not select.select([fd], [], [], 20)[0]:
                raise SystemExit(f"no frame in 20 s, only {seen[-300:]!r}")
            seen += os.read(fd, 65_536)
        return time.perf_counter() - start
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


def _bare() -> float:
    start = time.perf_counter()
    os.waitpid(os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", "pass"]), 0)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
