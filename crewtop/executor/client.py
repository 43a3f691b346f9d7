"""The worker's side: a zygote as an object of the event loop, and the processes that it starts. Imports no CrewAI.

zygote = await Zygote.start(path=Path.cwd(), log=None)
process = await zygote.run(assignment)
async for event in process.events: ...   # and, at the same time, process.log
status = await process.wait()
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeVar

from crewtop.executor.environment import crew_environment
from crewtop.executor.processes import Child, Clean, Host, Process
from crewtop.executor.streams import PIECE_BYTES, ready
from crewtop.executor.wire import Hosting, Unpacker, packed
from crewtop.model.errors import CrewtopError
from crewtop.model.events import Assignment

_CLOSE_SECONDS = 5.0
_C = TypeVar("_C", bound=Child)


class ZygoteError(CrewtopError):
    """The zygote cannot start, or died, or cannot start a run."""


class Zygote:
    """A running zygote. crewai: the version it imported, None where it is not installed. mode: fork or spawn.

    closed: set as soon as it has died, for whatever reason; its runs are then dead too.
    """

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket, clean: Clean) -> None:
        self.pid = process.pid
        self.crewai: str | None = None
        self.mode = ""
        self.closed = asyncio.Event()
        self._process = process
        self._control = control
        self._clean = clean
        self._children: dict[int, Child] = {}
        self._starting: dict[int, asyncio.Future[int]] = {}
        self._outbox: asyncio.Queue[tuple[bytes, tuple[int, ...]]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(cls, *, path: Path, log: Path | None, clean: Clean = bytes) -> Zygote:
        """Start a zygote and wait until it is ready: two seconds or more, for CrewAI's import.

        path: the folder where crews' modules are found. log: the file that gets what the zygote itself prints, which
        is nothing unless something is wrong. clean: takes out of each line that a run tells what must not be told.
        Raises ZygoteError with the reason on one line.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            with theirs, _output(log) as output:
                begin = output.tell()
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "crewtop.executor.zygote", str(theirs.fileno()), str(path)),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=[theirs.fileno()],
                    env=crew_environment(),
                    start_new_session=True,  # a terminal's ^C, ^Z and hang-up are for the worker to pass on, or not
                )
                theirs.close()
                zygote = cls(process, ours, clean)
                await zygote._get_ready(output, begin)
        except OSError as error:
            ours.close()
            raise ZygoteError(f"the zygote cannot start: {error}") from None
        return zygote

    async def run(self, assignment: Assignment) -> Process:
        """Start a run. Raises ZygoteError if no process can be started, or the zygote has died."""
        process, started = self._begin(Process, assignment.run_id, {"start": asdict(assignment)})
        try:
            await started
        except asyncio.CancelledError:
            self.kill(process.key, signal.SIGKILL)
            raise
        return process

    def host(self, hosting: Hosting) -> Host:
        """Start a host, which takes assignments at once. Raises ZygoteError if the zygote has died.

        If no process can be started, the host ends without a status.
        """
        host, started = self._begin(Host, hosting.host_id, {"host": asdict(hosting)})
        started.add_done_callback(lambda future: future.cancelled() or future.exception())
        return host

    def kill(self, key: int, number: int) -> None:
        """Send a signal to a run's or a host's process and all that its tools started; nothing if it has ended."""
        if not self.closed.is_set():
            self._outbox.put_nowait((packed({"kill": key, "signal": number}), ()))

    def _begin(self, kind: type[_C], key: int, message: dict[str, Any]) -> tuple[_C, asyncio.Future[int]]:
        if self.closed.is_set():
            raise ZygoteError(f"{_named(key)} cannot start: the zygote has died")
        try:
            child, theirs = _connect(kind, key, self._clean)
        except OSError as error:
            raise ZygoteError(f"{_named(key)} cannot start: {error}") from None
        started = self._starting[key] = asyncio.get_running_loop().create_future()
        self._children[key] = child
        self._outbox.put_nowait((packed(message), theirs))
        return child, started

    async def close(self) -> None:
        """End the zygote and its runs; return when it is gone."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # it takes this as the worker's end
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self._process.wait()
        finally:
            await self._destroy()

    async def _destroy(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(self._process.wait(), *self._tasks, return_exceptions=True)
        self._lose_children()
        self._control.close()

    async def _get_ready(self, output: IO[bytes], begin: int) -> None:
        messages = self._messages()
        try:
            match await anext(messages, None):
                case {"ready": {"crewai": version, "mode": mode}}:
                    self.crewai, self.mode = version, mode
                case {"failed": reason}:
                    raise ZygoteError(f"the zygote cannot start: {reason}")
                case _:
                    raise ZygoteError(f"the zygote cannot start: {_last_line(output, begin)}")
        except BaseException:
            await self._destroy()
            raise
        self._tasks = [asyncio.create_task(self._receive(messages)), asyncio.create_task(self._send())]

    async def _messages(self) -> AsyncIterator[dict[str, Any]]:
        loop, unpacker = asyncio.get_running_loop(), Unpacker()
        with suppress(ConnectionError):
            while piece := await loop.sock_recv(self._control, PIECE_BYTES):
                for message in unpacker.feed(piece):
                    yield message

    async def _receive(self, messages: AsyncIterator[dict[str, Any]]) -> None:
        async for message in messages:
            match message:
                case {"started": key, "pid": pid}:
                    self._children[key].pid = pid
                    if not (started := self._starting.pop(key)).done():
                        started.set_result(pid)
                case {"refused": key, "reason": reason}:
                    self._refuse(key, f"{_named(key)} cannot start: {reason}")
                case {"exited": key, "status": status}:
                    self._children.pop(key).end(status)
        self._lose_children()

    def _refuse(self, key: int, reason: str) -> None:
        self._children.pop(key).end(None)
        if not (started := self._starting.pop(key)).done():
            started.set_exception(ZygoteError(reason))

    def _lose_children(self) -> None:
        """The zygote is dead. The kernel ended its children, but not what these had started.

        A group's number is not given away as long as anything lives in it, so this hits nobody else.
        """
        self.closed.set()
        for key in list(self._starting):
            self._refuse(key, f"{_named(key)} cannot start: the zygote has died")
        for child in self._children.values():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.end(None)
        self._children.clear()
        while not self._outbox.empty():
            _close_all(self._outbox.get_nowait()[1])

    async def _send(self) -> None:
        with suppress(ConnectionError):  # _receive notices too
            while True:
                message, descriptors = await self._outbox.get()
                try:
                    await _send_message(self._control, message, descriptors)
                finally:
                    _close_all(descriptors)


def _named(key: int) -> str:
    return f"run {key}" if key > 0 else f"host {-key}"


def _connect(kind: type[_C], key: int, clean: Clean) -> tuple[_C, tuple[int, int]]:
    """A process to be started, and its ends of the event socket and the log pipe."""
    ours, theirs = socket.socketpair()
    try:
        log, log_end = os.pipe()
    except OSError:
        ours.close()
        theirs.close()
        raise
    ours.setblocking(False)
    os.set_blocking(log, False)
    return kind(key, io.FileIO(ours.detach()), io.FileIO(log), clean), (theirs.detach(), log_end)


async def _send_message(control: socket.socket, message: bytes, descriptors: Sequence[int]) -> None:
    loop = asyncio.get_running_loop()
    sent = 0
    while descriptors and not sent:  # they travel with the first byte
        try:
            sent = socket.send_fds(control, [message], descriptors)
        except BlockingIOError:
            await ready(loop.add_writer, loop.remove_writer, control.fileno())
    await loop.sock_sendall(control, message[sent:])


def _output(log: Path | None) -> IO[bytes]:
    return log.open("ab+") if log else tempfile.TemporaryFile()


def _last_line(output: IO[bytes], begin: int) -> str:
    output.seek(begin)
    lines = output.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it ended without a word"


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
