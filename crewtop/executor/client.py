"""The worker's side: a zygote as an object of the event loop, and a process for each run. Imports no CrewAI.

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
from typing import IO, Any

from crewtop.executor.environment import crew_environment
from crewtop.executor.streams import PIECE_BYTES, event_stream, pieces, ready
from crewtop.executor.wire import Unpacker, packed
from crewtop.model.errors import CrewtopError
from crewtop.model.events import Assignment, Event

_CLOSE_SECONDS = 5.0


class ZygoteError(CrewtopError):
    """The zygote cannot start, or died, or cannot start a run."""


class Process:
    """One run's process.

    events, log: what it reports and what it prints, in pieces as they come. Each is iterated once, and both at the same
    time: the process waits while either is left unread. Both end with the process, after what it had already sent.
    """

    def __init__(self, run_id: int, events: io.FileIO, log: io.FileIO) -> None:
        self.run_id = run_id
        self.pid = 0
        self._ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self.events: AsyncIterator[Event] = event_stream(pieces(events, self._ended), run_id)
        self.log: AsyncIterator[bytes] = pieces(log, self._ended)

    async def wait(self) -> int | None:
        """Return the exit status, a signal as a negative number (-9), or None if the zygote died first."""
        return await asyncio.shield(self._ended)

    def end(self, status: int | None) -> None:
        """Take note of the process's end."""
        if not self._ended.done():
            self._ended.set_result(status)


class Zygote:
    """A running zygote. crewai: the version it imported, None where it is not installed. mode: fork or spawn.

    closed: set as soon as it has died, for whatever reason; its runs are then dead too.
    """

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket) -> None:
        self.pid = process.pid
        self.crewai: str | None = None
        self.mode = ""
        self.closed = asyncio.Event()
        self._process = process
        self._control = control
        self._runs: dict[int, Process] = {}
        self._starting: dict[int, asyncio.Future[int]] = {}
        self._outbox: asyncio.Queue[tuple[bytes, tuple[int, ...]]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def start(cls, *, path: Path, log: Path | None) -> Zygote:
        """Start a zygote and wait until it is ready: two seconds or more, for CrewAI's import.

        path: the folder where crews' modules are found. log: the file that gets what the zygote itself prints, which
        is nothing unless something is wrong. Raises ZygoteError with the reason on one line.
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
                zygote = cls(process, ours)
                await zygote._get_ready(output, begin)
        except OSError as error:
            ours.close()
            raise ZygoteError(f"the zygote cannot start: {error}") from None
        return zygote

    async def run(self, assignment: Assignment) -> Process:
        """Start a run. Raises ZygoteError if no process can be started, or the zygote has died."""
        run_id = assignment.run_id
        if self.closed.is_set():
            raise ZygoteError(f"run {run_id} cannot start: the zygote has died")
        try:
            process, theirs = _connect(run_id)
        except OSError as error:
            raise ZygoteError(f"run {run_id} cannot start: {error}") from None
        started = self._starting[run_id] = asyncio.get_running_loop().create_future()
        self._runs[run_id] = process
        self._outbox.put_nowait((packed({"start": asdict(assignment)}), theirs))
        try:
            process.pid = await started
        except asyncio.CancelledError:
            self.kill(run_id, signal.SIGKILL)
            raise
        return process

    def kill(self, run_id: int, number: int) -> None:
        """Send a signal to a run and all that its tools started; nothing happens if it has ended."""
        if not self.closed.is_set():
            self._outbox.put_nowait((packed({"kill": run_id, "signal": number}), ()))

    async def close(self) -> None:
        """End the zygote and its runs; return when it is gone."""
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # it takes this as the worker's end
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _CLOSE_SECONDS)
        finally:
            await self._destroy()

    async def _destroy(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(self._process.wait(), *self._tasks, return_exceptions=True)
        self._lose_runs()
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
                case {"started": run_id, "pid": pid}:
                    self._runs[run_id].pid = pid
                    if not (started := self._starting.pop(run_id)).done():
                        started.set_result(pid)
                case {"refused": run_id, "reason": reason}:
                    self._refuse(run_id, f"run {run_id} cannot start: {reason}")
                case {"exited": run_id, "status": status}:
                    self._runs.pop(run_id).end(status)
        self._lose_runs()

    def _refuse(self, run_id: int, reason: str) -> None:
        self._runs.pop(run_id).end(None)
        if not (started := self._starting.pop(run_id)).done():
            started.set_exception(ZygoteError(reason))

    def _lose_runs(self) -> None:
        """The zygote is dead. The kernel ended its children, but not what these had started.

        A group's number is not given away as long as anything lives in it, so this hits nobody else.
        """
        self.closed.set()
        for run_id in list(self._starting):
            self._refuse(run_id, f"run {run_id} cannot start: the zygote has died")
        for process in self._runs.values():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.end(None)
        self._runs.clear()
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


def _connect(run_id: int) -> tuple[Process, tuple[int, int]]:
    """A process to be started, and its ends of the event socket and the log pipe."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        log, log_end = os.pipe()
        events = ours.detach()
        for descriptor in (events, log):
            os.set_blocking(descriptor, False)
        return Process(run_id, io.FileIO(events), io.FileIO(log)), (theirs.detach(), log_end)


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
