"""Runs that share processes: dense and cheap, at the price that what kills one process ends all runs in it."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from pathlib import Path

import structlog

from crewtop.executor.client import Zygote, ZygoteError
from crewtop.executor.processes import Batch, Host, Told
from crewtop.executor.wire import Hosting
from crewtop.model.errors import CrewtopError
from crewtop.model.events import CallAsked, CallSettled, DoneStep, Raised, Returned
from crewtop.model.task import Claim, Finish, RunOutcome
from crewtop.store import ledger
from crewtop.store.database import Database
from crewtop.worker.output import LiveLog
from crewtop.worker.recorder import Recorder
from crewtop.worker.results import inputs_with_results
from crewtop.worker.run import Run
from crewtop.worker.work import Work

log = structlog.get_logger()

LARGE_RESULT_CHARACTERS = 64 * 1024
"""A larger one is looked through in a thread, not in the loop that all runs share."""

PORTION_CHARACTERS = 8 * 1024 * 1024
"""Inputs that one message to a host carries, but for one that is larger by itself."""

LARGEST_INPUT_CHARACTERS = 16 * 1024 * 1024
"""A task with more has a process of its own, so that its neighbours need not wait for its message."""

SHARED_LOG_CHARACTERS = 500


class HostedRun(Run):
    """A run in a host's process."""

    __slots__ = ("shared",)

    def __init__(self, claim: Claim, work: Work, live_log: LiveLog, shared: SharedProcess) -> None:
        super().__init__(claim, work, live_log)
        self.shared = shared

    def _stop(self) -> None:
        self.shared.stop(self)


class SharedProcess:
    """One host and the runs in it. ended is told of runs' ends."""

    def __init__(
        self,
        host: Host,
        zygote: Zygote,
        folder: Path,
        recorder: Recorder,
        grace_seconds: float,
        ended: Callable[[Sequence[tuple[Run, Finish]]], None],
        clean: Callable[[str], str],
    ) -> None:
        self._clean = clean
        self.runs: dict[int, HostedRun] = {}
        self._ending: tuple[RunOutcome, str] | None = None
        self._host = host
        self._zygote = zygote
        self._folder = folder
        self._recorder = recorder
        self._grace_seconds = grace_seconds
        self._ended = ended

    @property
    def closing(self) -> bool:
        """Whether it is being killed, or dead."""
        return self._ending is not None or self._host.ended.done()

    def assign(self, runs: Sequence[HostedRun], done: Sequence[DoneStep] = ()) -> None:
        """Start runs; done: what an earlier run completed of the one task that they then are."""
        for portion in _portions(runs):
            self._host.assign(
                [(run.claim.run_id, run.claim.crew, run.claim.inputs, done, run.turn()) for run in portion]
            )

    def stop(self, run: HostedRun) -> None:
        """End one run: politely, and if that is not enough with its process."""
        self._host.cancel(run.claim.run_id)
        asyncio.get_running_loop().call_later(self._grace_seconds, self._stop_for_good, run)

    def _stop_for_good(self, run: HostedRun) -> None:
        if run.claim.run_id in self.runs and not self.closing:
            log.info("a shared process is killed", run=run.claim.run_id, why=run.why, neighbours=len(self.runs) - 1)
            self._kill(RunOutcome.RETURNED, f"its process was killed for run {run.claim.run_id} in it: {run.why}")

    def _kill(self, neighbours: RunOutcome, why: str) -> None:
        self._ending = neighbours, why
        self._zygote.kill(self._host.key, signal.SIGKILL)

    async def follow(self) -> None:
        """Read what it tells and prints until it is gone, and end the runs that are left in it."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read_reports())
                group.create_task(self._read_log())
        except* Exception:
            log.exception("a shared process went wrong here", host=-self._host.key)
            self._kill(RunOutcome.INTERRUPTED, "its worker went wrong")
        status = await self._host.wait()
        if self.runs and self._ending is None:
            log.warning("a shared process ended", host=-self._host.key, status=status, runs=len(self.runs))
        for run in list(self.runs.values()):
            self._end(run, status)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def _end(self, run: HostedRun, status: int | None) -> None:
        """End a run that was in it when it died."""
        if self._ending is not None:
            run.kill(*self._ending)
        elif status is None and not self._zygote.closed.is_set():
            run.cannot_start(ZygoteError("no process can be started"))
        self._over(run, run.judged(status))

    async def _read_reports(self) -> None:
        async for report in self._host.reports():
            if isinstance(report, Batch):
                await self._take(report)
            else:
                await self._told(report)

    async def _take(self, batch: Batch) -> None:
        for run_id, text in batch.printed:
            if run := self.runs.get(run_id):
                run.write(text)
        over: list[tuple[Run, Finish]] = []
        try:
            for run_id, at, result in batch.returned:
                if run := self.runs.get(run_id):
                    run.last = Returned(at, result)
                    large = len(result) > LARGE_RESULT_CHARACTERS
                    over.append((run, await asyncio.to_thread(run.judged, 0) if large else run.judged(0)))
                    del self.runs[run_id]
        finally:
            self._ended(over)
        await self._recorder.room()

    async def _told(self, told: Told) -> None:
        run = self.runs.get(told.run_id)
        if run is None:
            return  # a thread that it left behind
        if isinstance(told.event, CallAsked | CallSettled):
            await run.call(
                told.event, lambda answer: self._host.say({"run": told.run_id, "answer": answer}), self._recorder.kept
            )
            return
        entries = run.tell(told.event)
        if entries:
            await self._recorder.add(entries)
        if isinstance(told.event, Raised):
            self._over(run, run.judged(0))

    def _over(self, run: HostedRun, report: Finish) -> None:
        del self.runs[run.claim.run_id]
        self._ended([(run, report)])

    async def _read_log(self) -> None:
        async for piece in self._host.log:
            text = self._clean(piece.decode("utf-8", "replace").strip())[-SHARED_LOG_CHARACTERS:]
            if text:
                log.info("shared output", host=-self._host.key, text=text)


class Hosts:
    """The shared processes of a worker, started when they are needed. scratch: where each has a folder of its own."""

    def __init__(
        self,
        work: Work,
        database: Database,
        recorder: Recorder,
        live_log: LiveLog,
        scratch: Path,
        ended: Callable[[Sequence[tuple[Run, Finish]]], None],
    ) -> None:
        self._work = work
        self._database = database
        self._recorder = recorder
        self._live_log = live_log
        self._scratch = scratch
        self._ended = ended
        self._numbers = itertools.count(1)
        self._processes: list[SharedProcess] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def takes(self, claim: Claim) -> bool:
        """Whether a task runs beside others: not if it may be what kills processes."""
        shares = self._work.settings.crews_per_process > 1
        return shares and not claim.crashes and len(claim.inputs) <= LARGEST_INPUT_CHARACTERS

    def start(self, claims: Sequence[Claim], zygote: Zygote) -> Iterator[HostedRun]:
        """Start runs in the emptiest processes, and yield them. Raises ZygoteError if no process can be started."""
        started = 0
        while started < len(claims):
            process, room = self._emptiest(zygote)
            portion = claims[started : started + room]
            started += len(portion)
            runs = [HostedRun(claim, self._work, self._live_log, process) for claim in portion]
            process.runs.update((run.claim.run_id, run) for run in runs)
            process.assign([run for run in runs if not _needs_more(run.claim)])
            for run in runs:
                if _needs_more(run.claim):
                    self._keep(self._prepare(run))
            yield from runs

    async def gone(self) -> None:
        """Wait until all processes are gone, which the zygote's end brings."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _emptiest(self, zygote: Zygote) -> tuple[SharedProcess, int]:
        """The process with the most room, and how much: a new one where none has any."""
        self._processes = [process for process in self._processes if not process.closing]
        most = self._work.settings.crews_per_process
        process = min(self._processes, key=lambda process: len(process.runs), default=None)
        if process is None or len(process.runs) >= most:
            process = self._begin(zygote)
            self._processes.append(process)
        return process, most - len(process.runs)

    def _begin(self, zygote: Zygote) -> SharedProcess:
        number = next(self._numbers)
        folder = self._scratch / f"host-{number}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ZygoteError(f"host {number} cannot start: {error}") from None
        targets = {name: crew.target for name, crew in self._work.crews.items()}
        settings = self._work.settings
        work, slots = self._work, settings.crews_per_process
        host = zygote.host(Hosting(-number, slots, str(folder), dict(work.env), targets, work.terms()))
        process = SharedProcess(
            host, zygote, folder, self._recorder, settings.kill_grace_seconds, self._ended, work.secrets.text
        )
        self._keep(process.follow())
        return process

    async def _prepare(self, run: HostedRun) -> None:
        """Start a run after what an earlier one completed, which has not to be paid for again, with others' results."""
        done: list[DoneStep] = []
        try:
            if run.claim.earlier_runs:
                done = await ledger.finished_steps(self._database, run.claim.task_id, run.claim.run_id)
            run.claim = run.claim._replace(inputs=await inputs_with_results(self._database, run.claim))
        except CrewtopError as error:
            run.cannot_start(error)
        except Exception as error:
            log.exception("a run could not be prepared", task=run.claim.task_id, run=run.claim.run_id)
            run.cannot_start(error)
        if run.killed_for is None:
            run.shared.assign([run], done)
        elif run.shared.runs.pop(run.claim.run_id, None):
            self._ended([(run, run.judged(None))])

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _needs_more(claim: Claim) -> bool:
    """Whether there is something to be looked up before it can start."""
    return bool(claim.earlier_runs or claim.dependencies)


def _portions(runs: Iterable[HostedRun]) -> Iterator[list[HostedRun]]:
    """Runs in portions whose inputs one message can carry."""
    portion: list[HostedRun] = []
    size = 0
    for run in runs:
        size += len(run.claim.inputs)
        if portion and size > PORTION_CHARACTERS:
            yield portion
            portion, size = [], len(run.claim.inputs)
        portion.append(run)
    if portion:
        yield portion
