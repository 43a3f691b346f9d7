"""What PostgreSQL and Valkey have in common: a process that outlives its starter and is found again by what it is."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from crewtop.embedded.place import EmbeddedError, Place, private_file

if TYPE_CHECKING:
    import psutil

START_SECONDS = 60.0  # crash recovery of 1 GB of WAL, the default's limit, takes tens of seconds on a slow disk
STOP_SECONDS = 30.0
LOG_BYTES = 4 * 1024**2
LOG_BYTES_KEPT = 1024**2

# Nothing of the caller's environment: PGPORT, PGOPTIONS or a locale that the host lacks would change the servers.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


class Server(ABC):
    """One server of a data folder.

    No pid is ever read from a file, where it may be stale: whether the server runs is asked of its socket, and its
    processes are those of its name that work in its folder.
    """

    title: ClassVar[str]
    process_name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]

    def __init__(self, place: Place, folder: Path, socket_name: str) -> None:
        self.place = place
        self.folder = folder
        self.socket = place.sockets / socket_name
        self.log = place.data_dir / f"{self.process_name}.log"

    @abstractmethod
    def command(self, lock: int) -> list[str]:
        """Return the command line, having made the files that it needs.

        Args:
            lock: descriptor of the lock under which servers start; a child that holds it is waited for.
        """

    def listens(self) -> bool:
        """Return whether a process listens on the socket. A socket file alone says nothing."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            return True

    def serves(self) -> bool:
        """Return whether clients are served now."""
        return self.listens()

    def ensure(self, lock: int) -> None:
        """Start the server unless it serves, and return once it does. The caller holds `lock`.

        Raises:
            EmbeddedError: a program is missing, the server ended at its start (the message quotes its log), or it is
                not ready after `START_SECONDS`.
        """
        process = None
        log_start = 0
        deadline = time.monotonic() + START_SECONDS
        while not self.serves():
            if process is None and not self.listens():
                command = self.command(lock)
                self.kill_leftovers()
                with open_log(self.log) as log:
                    log_start = log.tell()
                    process = self._launch(command, log)
            elif process and process.poll() is not None:
                raise EmbeddedError(f"{self.title} ended at its start: {complaint(self.log, log_start)}")
            elif time.monotonic() > deadline:
                raise EmbeddedError(f"{self.title} is not ready after {START_SECONDS:.0f} s: see {self.log}, try again")
            else:
                time.sleep(0.005)
        if process:
            process.returncode = 0  # it is meant to outlive us: no ResourceWarning that it does

    def stop(self) -> None:
        """Stop the server; after `STOP_SECONDS` kill it, which costs the next start a recovery and loses nothing."""
        import psutil

        processes = self._processes()
        if not processes:
            return
        pids = {process.pid for process in processes}
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                if process.ppid() not in pids:
                    process.send_signal(self.stop_signal)
        wait_gone(processes)
        self.kill_leftovers()
        self.socket.unlink(missing_ok=True)
        with suppress(OSError):  # not empty: the other server is still to be stopped
            self.socket.parent.rmdir()

    def kill_leftovers(self) -> None:
        """Kill what is left of a server that can no longer be reached: it holds the folder, or runs on unseen.

        A killed postmaster's children in mid-statement, say, or a server whose starter was killed before it listened.
        """
        import psutil

        processes = self._processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        wait_gone(processes)

    def _processes(self) -> list[psutil.Process]:
        import psutil  # late: 40 ms that a process which joins running servers need not spend

        wanted = {"name": self.process_name, "cwd": str(self.folder)}
        return [process for process in psutil.process_iter(list(wanted)) if process.info == wanted]

    def _launch(self, command: list[str], log: BinaryIO) -> subprocess.Popen[bytes]:
        """Start it in a session of its own, where neither Ctrl-C nor the end of our terminal reaches it."""
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.folder,
            env=ENVIRONMENT,
            start_new_session=True,
            umask=0o077,
            **self.place.account.identity(),
        )


def wait_gone(processes: list[psutil.Process]) -> None:
    """Wait until processes have ended, at most `STOP_SECONDS`.

    A zombie has ended: if it is not our child, its parent may be a container's first process, which may never reap it.
    """
    deadline = time.monotonic() + STOP_SECONDS
    while any(map(_lives, processes)) and time.monotonic() < deadline:
        time.sleep(0.005)
    for process in processes:
        if not _lives(process):
            with suppress(ChildProcessError):
                os.waitpid(process.pid, 0)


def _lives(process: psutil.Process) -> bool:
    import psutil

    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def open_log(log: Path) -> BinaryIO:
    """Open a log for appending, at its end."""
    return os.fdopen(private_file(log), "ab")


def complaint(log: Path, start: int) -> str:
    """Return the line of a log, from byte `start` on, that best says why its program gave up."""
    with log.open("rb") as file:
        file.seek(start)
        lines = file.read(LOG_BYTES_KEPT).decode(errors="replace").split("\n")
    spoken = [line.strip() for line in lines if line.strip()]
    errors = [line for line in spoken if re.search(r"\b(FATAL|PANIC|error|ERROR)\b", line)]
    return f"{(errors or spoken or ['nothing was logged'])[-1]} (log: {log})"


def trim(log: Path) -> None:
    """Cut a log of over `LOG_BYTES` to its last `LOG_BYTES_KEPT`. Its server may be writing: it appends."""
    with suppress(FileNotFoundError), log.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        if size > LOG_BYTES:
            file.seek(-LOG_BYTES_KEPT, os.SEEK_END)
            kept = file.read()
            file.seek(0)
            file.truncate()
            file.write(b"[crewtop cut %d older bytes]\n" % (size - len(kept)) + kept)
