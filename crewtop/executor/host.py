"""Many runs in one process, forked from the zygote or started as
`python -m crewtop.executor.host EVENTS LOG HOSTING FOLDER ZYGOTE` (three descriptors, a path, a process id).

Functions that are coroutines, crews (akickoff) and flows (kickoff_async) run in one event loop, everything else in a
thread of its own. A function is loaded once, a crew for every run. They share what a process has: the folder that they
work in, the environment, the modules, and their death.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from crewtop.executor.attribution import BusyThreads, attribute_output, current_run
from crewtop.executor.child import LOG_FORMAT, enter_folder, keep_crewai_quiet, leave_zygote
from crewtop.executor.desk import Desk
from crewtop.executor.failures import raised
from crewtop.executor.host_reporter import HostReporter, RunReporter
from crewtop.executor.loader import Work, load
from crewtop.executor.reporter import end_group
from crewtop.executor.results import to_json
from crewtop.executor.wire import Hosting, Lines
from crewtop.model.events import DoneStep, Loaded, Turn

if TYPE_CHECKING:
    from crewtop.executor.listener import Listener
    from crewtop.llm.call import Caller

_PIECE_BYTES = 256 * 1024
_ANNOUNCE_SECONDS = 0.25
"""A function that is over before is not announced: most are, and each announcement is a row to write."""

_STILL_BUSY_SECONDS = 0.05
_LOG = logging.getLogger(__name__)


def run(hosting: Hosting, folder: str, events: int, log: int, zygote: int) -> NoReturn:
    """Run what the worker assigns until it is gone, and end the process.

    folder: where the crews' modules are found. events, log: descriptors of the socket to the worker and of the pipe
    for what is nobody's output. zygote: the process whose death ends this one.
    """
    try:
        leave_zygote(events, log, zygote)
        enter_folder(hosting.folder, folder, hosting.env)
        asyncio.run(_serve(hosting, folder, socket.socket(fileno=events)))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


async def _serve(hosting: Hosting, folder: str, worker: socket.socket) -> None:
    host = _Host(hosting, folder, worker)
    host.listen()
    await asyncio.Event().wait()


class _Host:
    def __init__(self, hosting: Hosting, folder: str, worker: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._targets = hosting.targets
        self._terms = hosting.terms
        self._turns: dict[int, Turn] = {}
        self._desks: dict[int, Desk] = {}
        self._folder = folder
        self._worker = worker
        self._reporter = HostReporter(worker, self._loop)
        self._lines = Lines()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._functions: dict[str, Work] = {}
        self._loading: dict[str, asyncio.Lock] = {}
        self._listeners: dict[int, Listener] = {}
        self._busy = BusyThreads()
        # Two pools, so that runs that are threads cannot keep those waiting that only need one for a moment.
        self._threads = ThreadPoolExecutor(hosting.slots, thread_name_prefix="crewtop-run")
        self._loop.set_default_executor(ThreadPoolExecutor(max(8, hosting.slots), thread_name_prefix="crewtop-help"))

    def listen(self) -> None:
        """Attribute what runs do from now on, and obey the worker."""
        self._busy.watch()
        attribute_output(self._reporter.printed)
        if keep_crewai_quiet():
            from crewai.events.stream_context import add_stream_sink

            add_stream_sink(self._hear_crewai)  # which the context of every run inherits
            if self._terms:
                from crewtop.llm import around

                around.install(self._caller)
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=LOG_FORMAT, force=True)
        self._loop.add_reader(self._worker, self._hear_worker)

    def _hear_worker(self) -> None:
        try:
            piece = self._worker.recv(_PIECE_BYTES, socket.MSG_DONTWAIT)  # writes of the same socket do wait
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            end_group()
        for line in self._lines.feed(piece):
            message = json.loads(line)
            if "runs" in message:
                self._start(message["runs"])
            elif "answer" in message:
                if desk := self._desks.get(message["run"]):
                    desk.answer(message["answer"])
            elif task := self._tasks.get(message["cancel"]):
                self._loop.call_soon(task.cancel)  # after its first step: before it, nobody could report its end
                if desk := self._desks.get(message["cancel"]):
                    desk.close()

    def _start(self, runs: list[Any]) -> None:
        at = time.monotonic()
        for run_id, crew, inputs, done, turn in runs:
            if turn:
                self._turns[run_id] = turn
            self._tasks[run_id] = self._loop.create_task(self._run(run_id, crew, inputs, done))
        self._loop.call_later(_ANNOUNCE_SECONDS, self._announce, at, [(row[0], row[1]) for row in runs])

    def _caller(self) -> Caller | None:
        """Who calls a model just now, if the worker wants to be asked."""
        from crewtop.llm.call import Caller

        run_id = current_run.get()
        turn = self._turns.get(run_id) if run_id is not None else None
        if run_id is None or turn is None or self._terms is None:
            return None
        desk = self._desks.get(run_id)
        if desk is None:
            sends = partial(self._reporter.send, run_id), partial(self._reporter.send_soon, run_id)
            desk = self._desks.setdefault(run_id, Desk(*sends))
        return Caller(self._terms, turn, desk, self._listener(run_id).position)

    def _announce(self, at: float, runs: list[tuple[int, str]]) -> None:
        for run_id, crew in runs:
            if run_id in self._tasks and crew in self._functions:
                self._reporter.send(run_id, Loaded(at, "callable", None))

    async def _run(self, run_id: int, crew: str, inputs: str, done: list[DoneStep]) -> None:
        current_run.set(run_id)
        try:
            work = self._functions.get(crew) or await self._load(run_id, crew)
            result = to_json(await self._result(run_id, work, json.loads(inputs), done))
        except BaseException as error:  # SystemExit too: CrewAI raises it when a context window is full
            with suppress(OSError):
                traceback.print_exception(error)
            if isinstance(error, asyncio.CancelledError):
                await self._quiet(run_id)
            self._reporter.send(run_id, raised(error))
        else:
            self._reporter.returned(run_id, time.monotonic(), result)
        finally:
            del self._tasks[run_id]
            self._listeners.pop(run_id, None)
            self._turns.pop(run_id, None)
            self._desks.pop(run_id, None)

    async def _load(self, run_id: int, crew: str) -> Work:
        """A crew's work, fresh for every run but for functions. In a thread: building a crew can take a second."""
        async with self._loading.setdefault(crew, asyncio.Lock()):
            if crew in self._functions:
                return self._functions[crew]
            work = await asyncio.to_thread(load, crew, self._targets[crew], self._folder, copied=True)
        if work.kind == "callable":
            self._functions[crew] = work
            return work
        if work.kind == "crew":
            self._listener(run_id).number(work.tasks)
        self._reporter.send(run_id, Loaded(time.monotonic(), work.kind, len(work.tasks) or None))
        return work

    async def _result(self, run_id: int, work: Work, inputs: Any, done: Sequence[DoneStep]) -> object:
        if done and work.go_on:
            tell = partial(self._reporter.send, run_id)
            return await self._in_thread(partial(work.go_on, inputs, done, tell))
        if done:
            _LOG.info("from scratch: a %s is not resumed", work.kind)
        if work.run_async:
            return await work.run_async(inputs)
        return await self._in_thread(partial(work.run, inputs))

    async def _in_thread(self, work: Callable[[], object]) -> object:
        def run() -> object:
            try:
                return work()
            except StopIteration as error:  # which no future takes: whoever waits for it would wait for ever
                raise RuntimeError("the crew raised StopIteration") from error

        return await self._loop.run_in_executor(self._threads, run)

    async def _quiet(self, run_id: int) -> None:
        """Until a cancelled run does nothing any more: neither a thread nor a call to a model can be cancelled."""
        while self._is_busy(run_id):  # noqa: ASYNC110  what threads and CrewAI do sets no event
            await asyncio.sleep(_STILL_BUSY_SECONDS)

    def _is_busy(self, run_id: int) -> bool:
        listener = self._listeners.get(run_id)
        return self._busy.of(run_id) > 0 or (listener is not None and listener.open_calls > 0)

    def _hear_crewai(self, source: Any, event: Any) -> None:
        run_id = current_run.get()
        if run_id in self._tasks:
            self._listener(run_id).take(source, event)

    def _listener(self, run_id: int) -> Listener:
        from crewtop.executor.listener import Listener

        found = self._listeners.get(run_id)
        return found or self._listeners.setdefault(run_id, Listener(RunReporter(self._reporter, run_id)))


def main() -> NoReturn:
    """The command of the module's docstring."""
    events, log, message, folder, zygote = sys.argv[1:]
    with os.fdopen(int(message), encoding="utf-8") as file:
        hosting = Hosting(**json.load(file))
    run(hosting, folder, int(events), int(log), int(zygote))


if __name__ == "__main__":
    main()
