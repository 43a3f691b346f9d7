"""Whose doing something is, where many runs share a process: output, model calls and threads belong to their run."""

from __future__ import annotations

import contextvars
import io
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, thread
from typing import Any, TextIO, cast

current_run: contextvars.ContextVar[int | None] = contextvars.ContextVar("crewtop_run", default=None)
"""The run that the running code belongs to; None: nobody's."""

_POOL = thread._worker
"""What a pool's threads run: they outlive the run that needed them first."""


class BusyThreads:
    """Counts what runs have given to threads and is not done, so that a cancelled run is not called over too early."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[int, int] = {}

    def watch(self) -> None:
        """Let threads begin in the context that started them, as Python 3.14 does by itself, and count their jobs."""
        submit, start = ThreadPoolExecutor.submit, threading.Thread.start

        def submit_in_context(pool: ThreadPoolExecutor, job: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
            run_id = current_run.get()
            self._add(run_id, 1)
            try:
                future: Future[Any] = submit(pool, contextvars.copy_context().run, job, *args, **named)
            except BaseException:
                self._add(run_id, -1)
                raise
            future.add_done_callback(lambda _: self._add(run_id, -1))
            return future

        def start_in_context(self: threading.Thread) -> None:
            if getattr(self, "_target", None) is not _POOL:
                context, run = contextvars.copy_context(), self.run
                self.run = lambda: context.run(run)  # type: ignore[method-assign]
            start(self)

        ThreadPoolExecutor.submit = submit_in_context  # type: ignore[assignment, method-assign]
        threading.Thread.start = start_in_context  # type: ignore[method-assign]

    def of(self, run_id: int) -> int:
        """How many jobs of a run threads are at."""
        return self._jobs.get(run_id, 0)

    def _add(self, run_id: int | None, number: int) -> None:
        if run_id is None:
            return
        with self._lock:
            left = self._jobs.get(run_id, 0) + number
            if left:
                self._jobs[run_id] = left
            else:
                self._jobs.pop(run_id, None)


class AttributedStream(io.TextIOBase):
    """Stands for sys.stdout or sys.stderr: what a run writes goes to printed, the rest where it always went.

    What is written to the descriptor itself, or to a stream that a library took hold of before, is nobody's.
    """

    def __init__(self, shared: TextIO, printed: Callable[[int, str], None]) -> None:
        self._shared = shared
        self._printed = printed

    def write(self, text: str) -> int:
        """Take text; answers how much."""
        run_id = current_run.get()
        if run_id is None:
            return self._shared.write(text)
        self._printed(run_id, text)
        return len(text)

    def flush(self) -> None:
        """Nothing of a run is kept back here."""
        self._shared.flush()

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The shared descriptor."""
        return self._shared.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As the shared stream's."""
        return self._shared.encoding

    @property
    def buffer(self) -> Any:
        """The shared stream's, for those who write bytes: nobody's."""
        return self._shared.buffer


def attribute_output(printed: Callable[[int, str], None]) -> None:
    """Give printed what runs write to sys.stdout and sys.stderr from now on."""
    sys.stdout = cast(TextIO, AttributedStream(sys.stdout, printed))
    sys.stderr = cast(TextIO, AttributedStream(sys.stderr, printed))
