"""One run: an executor's events and output, its budget, and its end."""

from __future__ import annotations

import asyncio
import codecs
import shutil
import signal
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import structlog

from crewtop.executor.client import Zygote, ZygoteError
from crewtop.executor.processes import Process
from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import CrewtopError
from crewtop.model.events import Assignment, Raised, Returned
from crewtop.model.pricing import Rates
from crewtop.model.task import Claim, Finish, RunOutcome
from crewtop.store import ledger
from crewtop.store.database import Database
from crewtop.worker.recorder import Recorder
from crewtop.worker.story import Story
from crewtop.worker.verdict import Backoff, Ending, verdict

log = structlog.get_logger()

LOG_TAIL_CHARACTERS = 65_536
LOG_LINE_CHARACTERS = 8_192
LOG_FLUSH_SECONDS = 0.2
LOG_LINES_A_FLUSH = 2_000
"""Live lines beyond this are dropped, with a word: a run that prints without end must not drown Redis."""


class Run:
    """A claimed task on its way through an executor.

    budget_seconds: wall time before it is killed; kill_grace_seconds: between SIGTERM and SIGKILL.
    """

    def __init__(
        self,
        claim: Claim,
        *,
        target: str,
        folder: Path,
        env: Mapping[str, str],
        rates: Mapping[str, Rates],
        budget_seconds: float,
        kill_grace_seconds: float,
        backoff: Backoff,
        max_result_bytes: int,
    ) -> None:
        self.claim = claim
        self.started = time.monotonic()
        self._story = Story(claim, rates)
        self._assignment = Assignment(
            claim.run_id, claim.task_id, claim.crew, target, claim.inputs, str(folder), dict(env)
        )
        self._folder = folder
        self._budget_seconds = budget_seconds
        self._kill_grace_seconds = kill_grace_seconds
        self._backoff = backoff
        self._max_result_bytes = max_result_bytes
        self._last: Returned | Raised | None = None
        self._killed_for: RunOutcome | None = None
        self._why: str | None = None
        self._kill = asyncio.Event()
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._unsent: list[str] = []
        self._dropped = 0
        self._printed = asyncio.Event()
        self._over = False

    def kill(self, outcome: RunOutcome, why: str) -> None:
        """End it before its time; the first reason counts."""
        if self._killed_for is None:
            self._killed_for, self._why = outcome, why
            self._kill.set()

    async def execute(
        self, zygote: Zygote | None, database: Database, recorder: Recorder, live: FastLane
    ) -> tuple[Finish, bool]:
        """Run it to its end (without a zygote: back it goes); answers what to record, and if a call went unanswered."""
        status: int | None = None
        if zygote is None:
            self.kill(RunOutcome.RETURNED, "not started: this worker has no executors just now")
        elif self._killed_for is None:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                process = await zygote.run(await self._resumable(database))
            except (ZygoteError, OSError, CrewtopError) as error:
                self.kill(RunOutcome.RETURNED, f"not started: {error}")  # this host's fault, not the task's
            else:
                status = await self._follow(process, zygote, recorder, live)
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        # In a thread, since a result of many megabytes is looked through for what PostgreSQL cannot hold.
        return await asyncio.to_thread(self._judged, status), self._story.unanswered

    def given_up(self, error: BaseException) -> Finish:
        """What to record where this worker itself went wrong: the task is handed back."""
        self.kill(RunOutcome.INTERRUPTED, f"its worker went wrong: {type(error).__name__}: {error}"[:500])
        return self._judged(None)

    def _judged(self, exit_status: int | None) -> Finish:
        ending = Ending(
            last=self._last,
            exit_status=exit_status,
            killed_for=self._killed_for,
            why=self._why,
            seconds=time.monotonic() - self.started,
            log_tail="\n".join(self._tail) or None,
        )
        return verdict(self.claim, ending, self._backoff, self._max_result_bytes)

    async def _resumable(self, database: Database) -> Assignment:
        """The assignment, with what an earlier run completed, which has not to be paid for again."""
        if not self.claim.earlier_runs:
            return self._assignment
        done = await ledger.finished_steps(database, self.claim.task_id, self.claim.run_id)
        return replace(self._assignment, done=done)

    async def _follow(self, process: Process, zygote: Zygote, recorder: Recorder, live: FastLane) -> int | None:
        async with asyncio.TaskGroup() as group:
            readers = [
                group.create_task(self._read_events(process, recorder)),
                group.create_task(self._read_log(process)),
            ]
            guard = group.create_task(self._guard(zygote))
            group.create_task(self._send_log(live))
            status = await process.wait()
            guard.cancel()
            await asyncio.wait(readers)
            # Told to end, not cancelled: a client library may swallow a cancellation, and this would wait for ever.
            self._over = True
            self._printed.set()
        return status

    async def _read_events(self, process: Process, recorder: Recorder) -> None:
        async for event in process.events:
            if isinstance(event, Returned | Raised):
                self._last = event
            entries = self._story.tell(event)
            if entries:
                await recorder.add(entries)

    async def _guard(self, zygote: Zygote) -> None:
        """Kill at the end of the budget or when told to: first politely, then for good."""
        try:
            async with asyncio.timeout(max(0.0, self.started + self._budget_seconds - time.monotonic())):
                await self._kill.wait()
        except TimeoutError:
            self.kill(RunOutcome.OVER_BUDGET, f"over its budget of {self._budget_seconds:g} s")
        zygote.kill(self.claim.run_id, signal.SIGTERM)
        await asyncio.sleep(self._kill_grace_seconds)
        zygote.kill(self.claim.run_id, signal.SIGKILL)

    async def _read_log(self, process: Process) -> None:
        """Keep the tail of what it prints, and queue it line by line for whoever may look."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        async for chunk in process.log:
            *whole, rest = (rest + decoder.decode(chunk)).split("\n")
            if len(rest) > LOG_LINE_CHARACTERS:
                whole, rest = [*whole, rest], ""
            self._keep(whole)
        if rest:
            self._keep([rest])

    async def _send_log(self, live: FastLane) -> None:
        """Pass on what was printed, a few times a second, until the run is over and all is sent."""
        while not self._over or self._unsent:
            await self._printed.wait()
            if not self._over:
                await asyncio.sleep(LOG_FLUSH_SECONDS)
            self._printed.clear()
            lines, self._unsent, dropped, self._dropped = self._unsent, [], self._dropped, 0
            if dropped:
                lines = [f"… {dropped} lines dropped …", *lines]
            if lines:
                await live.append_log(self.claim.run_id, lines)
            if self._over:
                self._printed.set()

    def _keep(self, lines: list[str]) -> None:
        for line in lines:
            kept = line[:LOG_LINE_CHARACTERS].rstrip("\r")
            self._tail.append(kept)
            self._tail_size += len(kept) + 1
            self._unsent.append(kept)
        while self._tail_size > LOG_TAIL_CHARACTERS:
            self._tail_size -= len(self._tail.popleft()) + 1
        overflow = len(self._unsent) - LOG_LINES_A_FLUSH
        if overflow > 0:
            self._dropped += overflow
            del self._unsent[:overflow]
        if lines:
            self._printed.set()
