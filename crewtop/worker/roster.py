"""All runs that a worker holds: each is started alone or beside others, watched, and handed to the recorder."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import structlog

from crewtop.executor.client import Zygote, ZygoteError
from crewtop.model.task import Claim, Finish, Held, RunOutcome
from crewtop.store.database import Database
from crewtop.worker.hosted import Hosts
from crewtop.worker.output import LiveLog
from crewtop.worker.recorder import Recorder
from crewtop.worker.run import Run
from crewtop.worker.solo import SoloRun
from crewtop.worker.work import Work

log = structlog.get_logger()

WATCH_SECONDS = 0.25
"""How often budgets and progress are looked at."""


class Roster:
    """The runs. scratch: where each process has a folder of its own; changed is called when a run has ended.

    unable: how many runs in a row could not be started, for want of a process; ended: how many have ended.
    """

    def __init__(
        self,
        work: Work,
        database: Database,
        recorder: Recorder,
        live_log: LiveLog,
        scratch: Path,
        changed: Callable[[], None],
    ) -> None:
        self.unable = 0
        self.ended = 0
        self._runs: dict[int, Run] = {}
        self._empty = asyncio.Event()
        self._empty.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._work = work
        self._database = database
        self._recorder = recorder
        self._live_log = live_log
        self._scratch = scratch
        self._changed = changed
        self._hosts = Hosts(work, database, recorder, live_log, scratch, self._ended)

    def __len__(self) -> int:
        return len(self._runs)

    def oldest(self, now: float) -> float:
        """The monotonic second at which the run that lasts longest was started; now where there is none."""
        return next(iter(self._runs.values())).started if self._runs else now

    def held(self) -> dict[int, int]:
        """Every run whose lease is this worker's, as run_id to task_id: also those whose end is not stored yet."""
        return {run_id: run.claim.task_id for run_id, run in self._runs.items()} | self._recorder.unstored()

    def start(self, claims: Sequence[Claim], zygote: Zygote) -> None:
        """Start runs of claimed tasks."""
        if claims:
            self._empty.clear()
        shared: list[Claim] = []
        for claim in claims:
            if self._hosts.takes(claim):
                shared.append(claim)
                continue
            run = SoloRun(claim, self._work, self._live_log, self._scratch / str(claim.run_id))
            self._runs[claim.run_id] = run
            self._keep(self._alone(run, zygote))
        try:
            for hosted in self._hosts.start(shared, zygote):
                self._runs[hosted.claim.run_id] = hosted
        except ZygoteError as error:
            self.unable += 1
            self.give_back([claim for claim in shared if claim.run_id not in self._runs], f"not started: {error}")

    def give_back(self, claims: Sequence[Claim], why: str) -> None:
        """Hand back tasks that have not been started: that spends nothing of theirs."""
        self._recorder.finish(
            (Finish(claim.run_id, claim.task_id, RunOutcome.RETURNED, 0.0, error=why), False) for claim in claims
        )
        if not self._runs:
            self._empty.set()
        self._changed()

    def kill_all(self, outcome: RunOutcome, why: str) -> None:
        """End every run before its time."""
        for run in list(self._runs.values()):
            run.kill(outcome, why)

    def check(self, held: Held) -> None:
        """Obey what a heartbeat says of a run."""
        run = self._runs.get(held.run_id)
        if run is None:
            return
        if not held.held:
            run.kill(RunOutcome.SUPERSEDED, "its lease was taken away")
        elif held.cancel:
            run.kill(RunOutcome.CANCELLED, "cancelled by an operator")

    async def watch(self) -> None:
        """Look after budgets and progress, for ever."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            now = time.monotonic()
            for run in list(self._runs.values()):
                run.watch(now)

    async def empty(self) -> None:
        """Wait until no run is left."""
        await self._empty.wait()

    async def gone(self) -> None:
        """Wait until all processes are gone, which the zygote's end brings."""
        await self._hosts.gone()

    async def _alone(self, run: SoloRun, zygote: Zygote) -> None:
        claim = run.claim
        try:
            report = await run.execute(zygote, self._database, self._recorder)
        except Exception as error:
            log.exception("a run went wrong here", task=claim.task_id, run=claim.run_id)
            zygote.kill(claim.run_id, signal.SIGKILL)
            report = run.given_up(error)
        log.info("run ended", **_in_words(run, report))
        self._ended([(run, report)])

    def _ended(self, ends: Sequence[tuple[Run, Finish]]) -> None:
        self.ended += len(ends)
        for run, report in ends:
            self._runs.pop(report.run_id, None)
            run.over(report)
            self.unable = self.unable + 1 if run.unstarted else 0
            # One that went well beside others goes without a line, which would cost more than the run itself.
            if report.outcome is not RunOutcome.COMPLETED and not isinstance(run, SoloRun):
                log.info("run ended", **_in_words(run, report))
        self._recorder.finish([(report, run.unanswered) for run, report in ends])
        if not self._runs:
            self._empty.set()
            self._recorder.hurry()
        self._changed()

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _in_words(run: Run, report: Finish) -> dict[str, Any]:
    return {
        "task": report.task_id,
        "run": report.run_id,
        "crew": run.claim.crew,
        "outcome": str(report.outcome),
        "seconds": round(report.seconds, 3),
        "error": report.error and report.error[:200],
    }
