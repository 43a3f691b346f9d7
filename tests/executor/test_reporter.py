"""The two ends of a run's event socket."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator

import pytest

from crewtop.executor import streams, wire
from crewtop.executor.reporter import Reporter
from crewtop.model.events import Returned, ToolUsed, from_line

EVENTS = 2_000


def test_a_worker_that_does_not_read_makes_the_crew_wait_and_loses_nothing() -> None:
    theirs, ours = socket.socketpair()
    with theirs, ours:
        reporter = Reporter(theirs)

        def report() -> None:
            for number in range(EVENTS):
                reporter.send(ToolUsed(0.0, "search", "error", str(number) + "x" * 5_000))
            reporter.send(Returned(0.0, "null"))

        crew = threading.Thread(target=report)
        crew.start()
        assert crew.is_alive()  # ten megabytes do not fit into a socket
        with ours.makefile("rb") as lines:
            for number in range(EVENTS):
                event = from_line(next(lines))
                assert isinstance(event, ToolUsed)
                assert event.error
                assert event.error.startswith(f"{number}x")
            assert from_line(next(lines)) == Returned(0.0, "null")
        crew.join()


def test_lines_of_several_threads_do_not_mix() -> None:
    theirs, ours = socket.socketpair()
    with theirs, ours, ours.makefile("rb") as lines:
        reporter = Reporter(theirs)
        event = ToolUsed(0.0, "search", "error", "x" * 100_000)
        crew = [threading.Thread(target=reporter.send, args=[event]) for _ in range(8)]
        for thread in crew:
            thread.start()
        assert [from_line(next(lines)) for _ in crew] == [event] * len(crew)


def test_what_nobody_waits_for_comes_soon_and_before_what_is_sent_after_it() -> None:
    theirs, ours = socket.socketpair()
    with theirs, ours, ours.makefile("rb") as lines:
        reporter = Reporter(theirs)
        uses = [ToolUsed(0.0, f"tool{number}", None) for number in range(101)]
        reporter.send_soon(uses[0])
        assert from_line(next(lines)) == uses[0]
        for number, use in enumerate(uses[1:]):
            (reporter.send if number % 3 == 2 else reporter.send_soon)(use)
        reporter.send_soon(uses[0])
        reporter.send(Returned(0.0, "1"))
        reporter.send_soon(uses[0])
        assert [from_line(next(lines)) for _ in range(102)] == [*uses[1:], uses[0], Returned(0.0, "1")]
        theirs.close()
        assert lines.read() == b""


def test_nothing_comes_after_the_last_event() -> None:
    theirs, ours = socket.socketpair()
    with theirs, ours:
        reporter = Reporter(theirs)
        reporter.send(Returned(0.0, "1"))
        reporter.send(ToolUsed(0.0, "search", None))
        theirs.close()
        assert ours.makefile("rb").read().count(b"\n") == 1


def test_an_event_for_a_worker_that_is_gone_ends_the_run() -> None:
    code = """
import os, socket
from crewtop.executor.reporter import Reporter
from crewtop.model.events import Returned
os.setsid()
theirs, ours = socket.socketpair()
ours.close()
Reporter(theirs).send(Returned(0.0, "1"))
print("still here")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, b"")


async def test_a_line_without_end_costs_no_memory_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MOST_LINE_BYTES", 10)

    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"one\ntw", b"o\n", b"x" * 8, b"x" * 8, b"x\nthree\n", b"rest"):
            yield piece

    lines = [line async for line in streams.lines(pieces())]
    assert lines == [b"one", b"two", b"(too long)x", b"three"]
