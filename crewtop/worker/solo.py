"""A run in a process of its own."""

from __future__ import annotations

import asyncio
import codecs
import shutil
import signal
from pathlib import Path

from crewtop.executor.client import Zygote, ZygoteError
from crewtop.executor.processes import Process
from crewtop.model.errors import CrewtopError
from crewtop.model.events import Assignment, CallAsked, CallSettled
from crewtop.model.task import Claim, Finish, RunOutcome
from crewtop.store import ledger
from crewtop.store.database import Database
from crewtop.worker.output import LiveLog
from crewtop.worker.recorder import Recorder
from crewtop.worker.results import inputs_with_results
from crewtop.worker.run import Run
from crewtop.worker.work import Work


class SoloRun(Run):
    """A run whose end is its process's end, and the other way round. folder: its own working folder, made here."""

    __slots__ = ("_folder", "_kill")

    def __init__(self, claim: Claim, work: Work, live_log: LiveLog, folder: Path) -> None:
        super().__init__(claim, work, live_log)
        self._folder = folder
        self._kill = asyncio.Event()

    async def execute(self, zygote: Zygote, database: Database, recorder: Recorder) -> Finish:
        """Run it to its end; answers what to record."""
        status: int | None = None
        if self.killed_for is None:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                process = await zygote.run(await self._assignment(database))
            except (ZygoteError, OSError, CrewtopError) as error:
                self.cannot_start(error)
            else:
                status = await self._follow(process, zygote, recorder)
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        # In a thread, since a result of many megabytes is looked through for what PostgreSQL cannot hold.
        return await asyncio.to_thread(self.judged, status)

    def given_up(self, error: BaseException) -> Finish:
        """What to record where this worker itself went wrong: the task is handed back."""
        self.kill(RunOutcome.INTERRUPTED, f"its worker went wrong: {type(error).__name__}: {error}"[:500])
        return self.judged(None)

    def _stop(self) -> None:
        self._kill.set()

    async def _assignment(self, database: Database) -> Assignment:
        """With what an earlier run completed, which has not to be paid for again, and with dependencies' results."""
        claim = self.claim
        inputs = await inputs_with_results(database, claim)
        done = await ledger.finished_steps(database, claim.task_id, claim.run_id) if claim.earlier_runs else []
        target = self._work.crews[claim.crew].target
        return Assignment(
            claim.run_id, claim.task_id, claim.crew, target, inputs, str(self._folder), dict(self._work.env), done,
            self._work.terms(claim.crew), self.turn(),
        )  # fmt: skip

    async def _follow(self, process: Process, zygote: Zygote, recorder: Recorder) -> int | None:
        async with asyncio.TaskGroup() as group:
            readers = [
                group.create_task(self._read_events(process, recorder)),
                group.create_task(self._read_log(process)),
            ]
            guard = group.create_task(self._guard(zygote))
            status = await process.wait()
            guard.cancel()
            await asyncio.wait(readers)
        return status

    async def _read_events(self, process: Process, recorder: Recorder) -> None:
        async for event in process.events:
            if isinstance(event, CallAsked | CallSettled):
                await self.call(event, lambda answer: process.say({"answer": answer}), recorder.kept)
                continue
            entries = self.tell(event)
            if entries:
                await recorder.add(entries)

    async def _read_log(self, process: Process) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for chunk in process.log:
            self.write(decoder.decode(chunk))

    async def _guard(self, zygote: Zygote) -> None:
        """Kill when told to: first politely, then for good."""
        await self._kill.wait()
        zygote.kill(self.claim.run_id, signal.SIGTERM)
        await asyncio.sleep(self._work.settings.kill_grace_seconds)
        zygote.kill(self.claim.run_id, signal.SIGKILL)
