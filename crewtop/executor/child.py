"""One run, in a process of its own that never comes back: forked from the zygote, or started as
`python -m crewtop.executor.child EVENTS LOG ASSIGNMENT FOLDER ZYGOTE` (three descriptors, a path, a process id)."""

from __future__ import annotations

import ctypes
import faulthandler
import io
import json
import logging
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from crewtop.executor.desk import Desk
from crewtop.executor.environment import forget_withheld
from crewtop.executor.failures import raised
from crewtop.executor.loader import Work, load
from crewtop.executor.reporter import Reporter, end_group
from crewtop.executor.results import to_json
from crewtop.executor.wire import Unpacker
from crewtop.model.events import Assignment, Event, Loaded, Returned, Terms, Turn

if TYPE_CHECKING:
    from crewtop.executor.listener import Listener

_PIECE_BYTES = 256 * 1024
_PR_SET_PDEATHSIG = 1
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def run(assignment: Assignment, folder: str, events: int, log: int, zygote: int) -> NoReturn:
    """Run the assignment's crew, report it, and end the process: status 0 if the crew returned, 1 if it raised.

    folder: where the crews' modules are found. events, log: descriptors of the event socket and of the log's pipe.
    zygote: the process whose death ends this one. Threads that still hang, and atexit functions, are not waited for.
    """
    status = 1
    try:
        leave_zygote(events, log, zygote)
        reporter = Reporter(socket.socket(fileno=events))
        desk = Desk(reporter.send, reporter.send_soon)
        reporter.hear_worker(desk.answer)
        last = _outcome(assignment, folder, reporter, desk)
        reporter.send(last)
        status = 0 if isinstance(last, Returned) else 1
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
    except BaseException:
        traceback.print_exc()  # into the run's log, or the zygote's
    finally:
        os._exit(status)


def wait(orders: socket.socket, folder: str, zygote: int) -> NoReturn:
    """Wait for the run that a child forked ahead is for, and then run it; end with the zygote if none comes."""
    with suppress(OSError, ValueError):  # the zygote is gone
        _, (events, log), _, _ = socket.recv_fds(orders, 1, 2)
        unpacker = Unpacker()
        while piece := orders.recv(_PIECE_BYTES):
            for message in unpacker.feed(piece):
                run(Assignment(**message["start"]), folder, events, log, zygote)
    os._exit(0)


def leave_zygote(events: int, log: int, zygote: int) -> None:
    """Become a process of its own: a group, signals, streams and descriptors, and an end with the zygote."""
    os.setsid()  # a group of its own, that can be killed with everything in it
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)  # a handler in Python would wait for a hung C call to return
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _end_with(zygote)
    # Not replaced, since libraries hold on to these; and done while they are still a file that knows its position.
    for stream in (sys.stdout, sys.stderr):
        cast(io.TextIOWrapper, stream).reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.closerange(3, events)
    os.closerange(events + 1, os.sysconf("SC_OPEN_MAX"))
    faulthandler.enable()  # where a crash in C code leaves its last words


def _end_with(zygote: int) -> None:
    """On Linux the kernel ends an orphan; elsewhere the event socket's end does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != zygote:  # it died before the call
            end_group()


def _outcome(assignment: Assignment, folder: str, reporter: Reporter, desk: Desk) -> Event:
    listener: Listener | None = None
    try:
        enter_folder(
            assignment.folder,
            folder,
            {
                **assignment.env,
                "CREWTOP_RUN_ID": str(assignment.run_id),
                "CREWTOP_TASK_ID": str(assignment.task_id),
                "CREWTOP_CREW": assignment.crew,
            },
        )
        listener = _listen(reporter)
        if listener and assignment.terms and assignment.turn:
            _stand_around(assignment.terms, assignment.turn, desk, listener)
        logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=LOG_FORMAT, force=True)
        work = load(assignment.crew, assignment.target, folder)
        if listener and work.kind == "crew":
            listener.number(work.tasks)
        reporter.send(Loaded(time.monotonic(), work.kind, len(work.tasks) or None))
        result = to_json(_run(work, assignment, reporter))
        return Returned(time.monotonic(), result)
    except BaseException as error:  # SystemExit too: CrewAI raises it when a context window is full
        with suppress(OSError):
            traceback.print_exception(error)
        return raised(error)
    finally:
        if listener:
            listener.flush()


def _run(work: Work, assignment: Assignment, reporter: Reporter) -> object:
    inputs = json.loads(assignment.inputs)
    if assignment.done and work.go_on:
        return work.go_on(inputs, assignment.done, reporter.send)
    if assignment.done:
        logging.getLogger(__name__).info("from scratch: a %s is not resumed", work.kind)
    return work.run(inputs)


def enter_folder(own: str, modules: str, env: Mapping[str, str]) -> None:
    """Move into the process's own folder, with the crews' environment and the folder of their modules."""
    os.chdir(own)
    sys.path.insert(0, modules)
    os.environ.update(env, CREWAI_STORAGE_DIR=str(Path(own, "crewai").absolute()))


def keep_crewai_quiet() -> bool:
    """Let CrewAI ask and open nothing; answers whether it is installed."""
    try:
        from crewai.events.listeners.tracing.utils import set_suppress_tracing_messages

        from crewtop.executor.memory import open_memory_late
    except ModuleNotFoundError as error:
        if error.name != "crewai":
            raise
        return False
    finally:
        forget_withheld()
    set_suppress_tracing_messages(True)
    open_memory_late()
    return True


def _listen(reporter: Reporter) -> Listener | None:
    """Listen to CrewAI's events, where CrewAI is installed."""
    if not keep_crewai_quiet():
        return None
    from crewtop.executor.listener import Listener

    listener = Listener(reporter)
    listener.attach()
    return listener


def _stand_around(terms: Terms, turn: Turn, desk: Desk, listener: Listener) -> None:
    """Put the worker's layer around every call to a model."""
    from crewtop.llm import around, call

    caller = call.Caller(terms, turn, desk, listener.position)
    around.install(lambda: caller)


def main() -> NoReturn:
    """The command of the module's docstring."""
    events, log, message, folder, zygote = sys.argv[1:]
    with os.fdopen(int(message), encoding="utf-8") as file:
        assignment = Assignment(**json.load(file))
    run(assignment, folder, int(events), int(log), int(zygote))


if __name__ == "__main__":
    main()
