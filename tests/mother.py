"""A process that has imported CrewAI, from which tests fork what would import it: that takes five seconds.

`python -m tests.mother SOCKET` serves until its stdin ends. Whoever connects sends one line of JSON, with the numbers
under which the new process is to have the descriptors that come with it, and gets its exit code at the end. Closing the
connection kills the process.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from crewtop.executor.environment import crew_environment, forget_withheld

ROOT = Path(__file__).parents[1]
START_SECONDS = 120.0
MOST_DESCRIPTORS = 8


def start_mother(address: Path) -> subprocess.Popen[bytes]:
    """Start a mother, which serves once she has imported CrewAI: whoever connects before waits."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.mother", str(address)],
        stdin=subprocess.PIPE, cwd=ROOT, env=crew_environment() | {"PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + START_SECONDS
    while not address.exists():
        assert process.poll() is None, "the mother has died"
        assert time.monotonic() < deadline, "the mother does not start"
        time.sleep(0.01)
    return process


def fork(
    address: Path, module: str, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, files: Mapping[int, int]
) -> socket.socket:
    """Start `python -m MODULE ARGUMENTS`. files: the number of each descriptor there, and here.

    Answers the connection: the exit code comes over it.
    """
    order = {"module": module, "arguments": list(arguments), "env": dict(env), "cwd": str(cwd), "files": list(files)}
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(address))
    line = json.dumps(order).encode() + b"\n"
    sent = socket.send_fds(connection, [line], list(files.values()))
    connection.sendall(line[sent:])
    return connection


def python(address: Path) -> Path:
    """A Python in whose place a worker's zygote is forked, where sys.executable of the worker leads to it."""
    path = address.with_name("python")
    call = f"from tests.mother import stand_in; stand_in({str(address)!r})"
    path.write_text(f"#!{sys.executable}\nimport sys; sys.path.insert(0, {str(ROOT)!r}); {call}\n")
    path.chmod(0o700)
    return path


def stand_in(address: str) -> NoReturn:
    """Be the process that a worker starts as its zygote, while the mother's child is the zygote."""
    _, _, module, control, folder = sys.argv[1:]  # -P -m crewtop.executor.zygote SOCKET FOLDER
    files = {number: number for number in (0, 1, 2, int(control))}
    with fork(Path(address), module, [control, folder], os.environ, Path.cwd(), files) as connection:
        os.close(int(control))
        sys.exit(abs(int(connection.recv(16) or 1)))


class Mother:
    """Forks what she is asked for, and tells whoever asked how it ended."""

    def __init__(self, address: str) -> None:
        self._wake, waking = socket.socketpair()
        for end in (self._wake, waking):
            end.setblocking(False)
        signal.set_wakeup_fd(waking.detach(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self._askers: dict[int, socket.socket] = {}
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address + ".new")
        self._listener.listen(64)
        os.rename(address + ".new", address)
        self._selector = selectors.DefaultSelector()
        for file in (self._wake, self._listener, 0):
            self._selector.register(file, selectors.EVENT_READ)

    def serve(self) -> None:
        """Until stdin ends; what is still running then is killed."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    for pid in self._askers:
                        os.kill(pid, signal.SIGKILL)
                    return
                if key.fileobj is self._wake:
                    self._wake.recv(4096)
                elif key.fileobj is self._listener:
                    self._bear(self._listener.accept()[0])
                elif key.data in self._askers:
                    os.kill(key.data, signal.SIGKILL)  # nobody waits for it any more
            self._reap()

    def _bear(self, asker: socket.socket) -> None:
        line, descriptors = b"", []
        while not line.endswith(b"\n"):
            piece, more, _, _ = socket.recv_fds(asker, 65536, MOST_DESCRIPTORS)
            line += piece
            descriptors += more
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            for end in (self._wake, self._listener, asker, *self._askers.values()):
                end.close()
            _become(json.loads(line), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self._askers[pid] = asker
        self._selector.register(asker, selectors.EVENT_READ, pid)

    def _reap(self) -> None:
        while self._askers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            asker = self._askers.pop(pid)
            self._selector.unregister(asker)
            with suppress(BrokenPipeError):  # it was killed since nobody waits for it
                asker.sendall(str(os.waitstatus_to_exitcode(status)).encode())
            asker.close()


def _become(order: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """In the fork: be what Python would have started."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    above = max(order["files"]) + 1
    aside = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for number, descriptor in zip(order["files"], aside, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.argv[1:] = order["arguments"]
    code: object = 0
    try:
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def main() -> None:
    """Import what crews need, once; then serve."""
    from crewtop.executor import warm

    warm.build_crew()
    forget_withheld()
    assert threading.active_count() == 1, "a fork of several threads is not safe"
    gc.collect()
    gc.freeze()
    Mother(sys.argv[1]).serve()


if __name__ == "__main__":
    main()
