"""The process from which runs are forked: `python -m crewtop.executor.zygote SOCKET FOLDER`.

It imports CrewAI once and stays single-threaded, so that a fork is safe and cheap. It owns its children: it alone
starts, kills and reaps them, and when its worker is gone it takes all of them along.

Messages from the worker: {"start": an Assignment's fields} or {"host": a Hosting's fields} with two descriptors (event
socket, log pipe), and {"kill": id, "signal": number}; the id is a run's, or a host's, which is negative. To the worker:
{"ready": {"crewai": version or null, "mode": fork or spawn}} or {"failed": reason}; {"started": id, "pid": n} or
{"refused": id, "reason": text}; {"exited": id, "pid": n, "status": exit code, or a negative signal}.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from crewtop.executor import child, host
from crewtop.executor.environment import crew_environment, forget_withheld
from crewtop.executor.wire import Hosting, Unpacker, packed
from crewtop.model.events import Assignment

_PIECE_BYTES = 256 * 1024
_MOST_DESCRIPTORS = 64
_SPARE_SECONDS = 1.0
_QUIET_SECONDS = 0.02
"""After so long without a message a spare child is forked: not within a burst of starts, which would wait for it."""


def main() -> NoReturn:
    """Get ready, say so, and serve until the worker is gone."""
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        wake = _catch_signals()
        with _writable_home():
            if ready := _get_ready(control):
                _Zygote(control, wake, folder=os.path.abspath(sys.argv[2]), forks=ready["mode"] == "fork").serve()
    except ConnectionError:
        pass  # the worker is gone
    except BaseException:
        traceback.print_exc()  # the client shows its last line
    finally:
        os._exit(0)


def _get_ready(control: socket.socket) -> dict[str, Any] | None:
    try:
        ready = {"crewai": _warm(), "mode": "fork" if _can_fork() else "spawn"}
    except Exception as error:
        traceback.print_exc()
        reason = " ".join(f"crewai cannot be imported: {type(error).__name__}: {error}".split())
        control.sendall(packed({"failed": reason}))
        return None
    control.sendall(packed({"ready": ready}))
    return ready


def _catch_signals() -> socket.socket:
    """Return a socket that becomes readable when a child has ended.

    SIGINT and SIGTERM, which a terminal or a service manager sends to all of a worker's processes, are the worker's to
    decide on. They are caught, not ignored, because a program that a child starts would inherit that.
    """
    wake, waking = socket.socketpair()
    wake.setblocking(False)
    waking.setblocking(False)
    signal.set_wakeup_fd(waking.detach(), warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    return wake


def _writable_home() -> AbstractContextManager[Any]:
    """CrewAI keeps a key under HOME and cannot be imported where that is not writable; then a temporary one serves."""
    try:
        tempfile.TemporaryFile(dir=Path.home()).close()
        return nullcontext()
    except (OSError, RuntimeError):
        spare = tempfile.TemporaryDirectory(prefix="crewtop-home-")
        os.environ["HOME"] = spare.name
        return spare


def _warm() -> str | None:
    """Import CrewAI with what a first run would import, if it is installed; return its version."""
    try:
        import crewai
    except ModuleNotFoundError as error:
        if error.name != "crewai":
            raise
        return None
    finally:
        forget_withheld()
    from crewtop.executor import warm

    warm.build_crew()
    return crewai.__version__


def _can_fork() -> bool:
    """Forking is safe while there is one thread, and never on macOS, whose own libraries do not expect it."""
    tasks = Path("/proc/self/task")
    threads = len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()
    return threads == 1 and sys.platform != "darwin"


class _Zygote:
    def __init__(self, control: socket.socket, wake: socket.socket, folder: str, forks: bool) -> None:
        self._control = control
        self._wake = wake
        self._folder = folder
        self._start = self._fork if forks else self._spawn
        self._selector = selectors.DefaultSelector()
        self._unpacker = Unpacker()
        self._descriptors: deque[int] = deque()
        self._pids: dict[int, int] = {}
        self._spare: tuple[int, socket.socket] | None = None

    def serve(self) -> None:
        """Obey the worker until it is gone, then kill all runs."""
        gc.collect()
        gc.freeze()  # the children's collections must not touch, and so copy, what they share
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        try:
            while self._turn():
                pass
        finally:
            for pid in self._pids.values():
                _kill_group(pid, signal.SIGKILL)
            if self._spare:
                os.kill(self._spare[0], signal.SIGKILL)

    def _turn(self) -> bool:
        heard = self._selector.select(_QUIET_SECONDS if self._wants_spare() else None)
        if not heard:
            self._fork_spare()
        for key, _ in heard:
            if key.fileobj is self._wake:
                self._wake.recv(4096)
            elif not self._hear():
                return False
        self._reap()
        return True

    def _hear(self) -> bool:
        piece, descriptors, _, _ = socket.recv_fds(self._control, _PIECE_BYTES, _MOST_DESCRIPTORS)
        self._descriptors.extend(descriptors)
        for message in self._unpacker.feed(piece):
            if "start" in message:
                assignment = Assignment(**message["start"])
                self._begin(assignment.run_id, child, assignment)
            elif "host" in message:
                hosting = Hosting(**message["host"])
                self._begin(hosting.host_id, host, hosting)
            elif (pid := self._pids.get(message["kill"])) is not None:
                _kill_group(pid, message["signal"])
        return bool(piece)

    def _begin(self, key: int, program: ModuleType, order: Assignment | Hosting) -> None:
        events, log = self._descriptors.popleft(), self._descriptors.popleft()
        try:
            pid = self._start(program, order, events, log)
        except OSError as error:
            self._tell({"refused": key, "reason": f"no process can be started: {error}"})
        else:
            self._pids[key] = pid
            self._tell({"started": key, "pid": pid})
        finally:
            os.close(events)
            os.close(log)

    def _fork(self, program: ModuleType, order: Assignment | Hosting, events: int, log: int) -> int:
        if isinstance(order, Assignment) and (pid := self._send_spare(order, events, log)):
            return pid
        return self._forked(lambda zygote: program.run(order, self._folder, events, log, zygote))

    def _forked(self, run: Callable[[int], NoReturn]) -> int:
        zygote = os.getpid()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # one that comes before the child is ready waits
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            self._selector.close()
            self._control.close()
            self._wake.close()
            run(zygote)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        return pid

    def _wants_spare(self) -> bool:
        return self._start == self._fork and self._spare is None

    def _fork_spare(self) -> None:
        """Fork a child ahead, while nothing else is to do: the next run then starts in a few milliseconds."""
        ours, theirs = socket.socketpair()
        with theirs:

            def wait(zygote: int) -> NoReturn:
                ours.close()
                child.wait(theirs, self._folder, zygote)

            try:
                self._spare = self._forked(wait), ours
            except OSError:  # no process can be had now; the next run will say so
                ours.close()

    def _send_spare(self, order: Assignment, events: int, log: int) -> int | None:
        """Give the run to the spare child; answers its id, or None where there is none, or no longer."""
        if self._spare is None:
            return None
        (pid, orders), self._spare = self._spare, None
        with orders:
            orders.settimeout(_SPARE_SECONDS)
            try:
                socket.send_fds(orders, [b"."], [events, log])
                orders.sendall(packed({"start": asdict(order)}))
            except OSError:  # somebody killed or stopped it
                _kill_group(pid, signal.SIGKILL)
                return None
        return pid

    def _spawn(self, program: ModuleType, order: Assignment | Hosting, events: int, log: int) -> int:
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(asdict(order)).encode("ascii"))
            file.seek(0)
            inherited = (events, log, file.fileno())
            for descriptor in inherited:
                os.set_inheritable(descriptor, True)
            words = [*map(str, inherited), self._folder, str(os.getpid())]
            command = [sys.executable, "-P", "-m", program.__name__, *words]
            return os.posix_spawn(sys.executable, command, crew_environment())

    def _reap(self) -> None:
        while ended := _reap_one():
            pid, status = ended
            if self._spare and self._spare[0] == pid:
                self._spare[1].close()
                self._spare = None
            for key in [key for key, of_key in self._pids.items() if of_key == pid]:
                del self._pids[key]
                self._tell({"exited": key, "pid": pid, "status": status})

    def _tell(self, message: dict[str, Any]) -> None:
        self._control.sendall(packed(message))


def _reap_one() -> tuple[int, int] | None:
    """Reap a child that has ended, after what its tools left behind was killed; return its id and exit status.

    The killing comes first: until a child is reaped, neither its process id nor its group's is given to another.
    """
    try:
        if hasattr(os, "waitid"):
            if not (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
                return None
            _kill_group(ended.si_pid, signal.SIGKILL)
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, os.waitstatus_to_exitcode(status)) if pid else None


def _kill_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        os.kill(pid, number)  # its group does not exist yet
    except PermissionError:
        pass  # macOS, for a group of zombies


if __name__ == "__main__":
    main()
