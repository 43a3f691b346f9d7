"""The worker: claims as many tasks as it has free slots, holds their leases, rescues, drains."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import time
from pathlib import Path

import structlog

import crewtop
from crewtop.executor.client import Zygote, ZygoteError
from crewtop.live.fast_lane import FastLane, Kill
from crewtop.model.errors import CrewtopError
from crewtop.model.ledger import Beat
from crewtop.model.task import Claim, Finished, Held, Orders, RunOutcome
from crewtop.store import lease
from crewtop.store.database import Database
from crewtop.worker.identity import Identity
from crewtop.worker.recorder import Recorder
from crewtop.worker.run import Run
from crewtop.worker.upkeep import every, pause, upkeep
from crewtop.worker.usage import Usage
from crewtop.worker.work import Work

log = structlog.get_logger()

BEATS_A_LEASE = 4
RETRY_SECONDS = (0.5, 10.0)


class Supervisor:
    """One worker process. run() ends when it has drained, or when a burst found nothing left.

    scratch: where each run gets a folder of its own.
    """

    def __init__(self, identity: Identity, work: Work, database: Database, live: FastLane, scratch: Path) -> None:
        self._me = identity
        self._work = work
        self._database = database
        self._live = live
        self._slots = work.slots
        self._runs: dict[int, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._unable = 0
        self._held_since: float | None = None
        self._held_at = 0.0
        self._draining = False
        self._hurrying: asyncio.TimerHandle | None = None
        self._woken = asyncio.Event()
        self._beat_now = asyncio.Event()
        self._done = asyncio.Event()
        self._recorder = Recorder(database, identity.id, work.service_levels, self._recorded)
        self._zygote: Zygote | None = None
        self._scratch = scratch
        self._usage = Usage()

    async def run(self) -> None:
        """Work until drained. Raises ZygoteError where executors cannot be started at all."""
        keepers: list[asyncio.Task[None]] = []
        try:
            await self._heartbeat()  # seen while CrewAI is still being imported
            self._zygote = await Zygote.start(path=self._work.folder, log=None)
            keepers = self._keepers(self._zygote)
            ended = asyncio.create_task(self._done.wait())
            await asyncio.wait([ended, *keepers], return_when=asyncio.FIRST_COMPLETED)
            for keeper in keepers:
                if keeper.done():
                    keeper.result()
        finally:
            await self._close(keepers)

    def _keepers(self, zygote: Zygote) -> list[asyncio.Task[None]]:
        log.info(
            "worker started", worker=self._me.id, slots=self._slots, crews=sorted(self._work.crews),
            queues=self._work.queues or "all", crewai=zygote.crewai, executors=zygote.mode,
        )  # fmt: skip
        lease_seconds = self._work.settings.lease_seconds
        loops = [
            self._claims(),
            self._listens(),
            self._zygotes(),
            every(lease_seconds / BEATS_A_LEASE, "heartbeat", self._heartbeat, self._beat_now),
            *upkeep(self._database, self._me.id, self._work, self._held_safely, self._back_in_queue),
            self._recorder.run(),
        ]
        return [asyncio.create_task(loop) for loop in loops]

    def drain(self, grace_seconds: float | None) -> None:
        """Stop claiming and end when the last run has: after the grace (None: however long) runs are handed back.

        Asked a second time under a grace, they are handed back at once.
        """
        log.info("draining", running=len(self._runs), grace_seconds=grace_seconds)
        self._draining = True
        self._woken.set()
        if grace_seconds is None:
            return
        if self._hurrying is not None:
            self._hurry()
        else:
            self._hurrying = asyncio.get_running_loop().call_later(grace_seconds, self._hurry)

    def _hurry(self) -> None:
        for run in self._runs.values():
            run.kill(RunOutcome.INTERRUPTED, "its worker was stopped")

    # Claiming ------------------------------------------------------------------------------------------------

    async def _claims(self) -> None:
        failures = 0
        while not self._draining:
            free = self._slots - len(self._runs) if self._zygote is not None else 0
            if self._unable:
                free = min(free, 1)
            if free <= 0:
                await self._wait(None)
                continue
            try:
                claims = await self._claim(free)
                failures = 0
            except CrewtopError as error:
                failures += 1
                log.warning("cannot claim", reason=str(error))
                await self._wait(pause(failures, RETRY_SECONDS))
                continue
            if claims:
                if self._unable:
                    # It could start nothing: others shall have a chance before it tries again.
                    await asyncio.sleep(pause(self._unable, RETRY_SECONDS))
                continue
            if self._work.burst and not self._runs:
                break
            await self._wait(self._work.settings.poll_seconds * random.uniform(0.75, 1.25))
        while self._runs:
            await self._wait(None)
        self._done.set()

    async def _claim(self, free: int) -> list[Claim]:
        self._woken.clear()
        claims = await lease.claim(
            self._database, self._me.id, self._work.queues, list(self._work.crews), free,
            self._work.settings.lease_seconds,
        )  # fmt: skip
        for claim in claims:
            self._start(claim)
        return claims

    def _start(self, claim: Claim) -> None:
        settings = self._work.settings
        run = Run(
            claim,
            target=self._work.crews[claim.crew].target,
            folder=self._scratch / str(claim.run_id),
            env=self._work.env,
            rates=self._work.rates,
            budget_seconds=self._work.budget_seconds(claim),
            kill_grace_seconds=settings.kill_grace_seconds,
            backoff=self._work.backoff(claim.crew),
            max_result_bytes=settings.max_result_bytes,
        )
        self._runs[claim.run_id] = run
        if self._draining:
            run.kill(RunOutcome.RETURNED, "its worker drains")
        task = asyncio.create_task(self._execute(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _execute(self, run: Run) -> None:
        claim = run.claim
        zygote = self._zygote
        try:
            report, unanswered = await run.execute(zygote, self._database, self._recorder, self._live)
        except Exception as error:
            log.exception("a run went wrong here", task=claim.task_id, run=claim.run_id)
            if zygote is not None:
                zygote.kill(claim.run_id, signal.SIGKILL)
            report, unanswered = run.given_up(error), True
        self._unable = self._unable + 1 if report.outcome is RunOutcome.RETURNED and not self._draining else 0
        self._recorder.finish(report, unanswered)
        del self._runs[claim.run_id]
        self._woken.set()
        log.info(
            "run ended", task=claim.task_id, run=claim.run_id, crew=claim.crew, outcome=str(report.outcome),
            seconds=round(report.seconds, 3), error=report.error and report.error[:200],
        )  # fmt: skip

    async def _recorded(self, ended: list[Finished]) -> None:
        for item in ended:
            if not item.accepted:
                log.warning("late: the lease was gone", task=item.task_id, run=item.run_id)

    async def _wait(self, seconds: float | None) -> None:
        """Until something happened, or so many seconds went by."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()

    # Keeping -------------------------------------------------------------------------------------------------

    async def _back_in_queue(self, queues: set[str]) -> None:
        self._woken.set()
        await self._live.wake(queues)

    async def _heartbeat(self) -> None:
        orders = await lease.heartbeat(self._database, self._beat())
        now, lease_seconds = time.monotonic(), self._work.settings.lease_seconds
        if self._held_since is None or now - self._held_at > lease_seconds / 2:
            self._held_since = now
        self._held_at = now
        self._obey(orders)

    def _held_safely(self) -> set[int] | None:
        """The runs that it holds, or None while it may rescue nothing.

        After an outage every lease has run out, and every worker is about to extend its own: whoever rescues before
        they could takes live runs. So a worker has to have held its own leases for a while.
        """
        now, lease_seconds = time.monotonic(), self._work.settings.lease_seconds
        if self._held_since is None or now - self._held_at > lease_seconds / 2:
            return None
        if now - self._held_since < lease_seconds / 2:
            return None
        return set(self._runs) | set(self._recorder.unstored())

    def _beat(self) -> Beat:
        held = {run_id: run.claim.task_id for run_id, run in self._runs.items()} | self._recorder.unstored()
        cpu, memory = self._usage.measure()
        return Beat(
            worker_id=self._me.id,
            host=self._me.host,
            pid=self._me.pid,
            boot_id=self._me.boot_id,
            version=crewtop.__version__,
            queues=self._work.queues,
            crews=tuple(self._work.crews),
            slots=self._slots,
            runs=held,
            lease_seconds=self._work.settings.lease_seconds,
            draining=self._draining,
            cpu_percent=cpu,
            memory_bytes=memory,
        )

    def _obey(self, orders: Orders) -> None:
        for held in orders.runs:
            self._check(held)
        if orders.desired_slots is not None and orders.desired_slots != self._slots:
            log.info("slots changed", slots=orders.desired_slots)
            self._slots = orders.desired_slots
            self._woken.set()
        if orders.draining and not self._draining:
            self.drain(None)

    def _check(self, held: Held) -> None:
        run = self._runs.get(held.run_id)
        if run is None:
            return
        if not held.held:
            run.kill(RunOutcome.SUPERSEDED, "its lease was taken away")
        elif held.cancel:
            run.kill(RunOutcome.CANCELLED, "cancelled by an operator")

    async def _listens(self) -> None:
        async for message in self._live.listen(self._me.id, self._work.queues):
            if isinstance(message, Kill):
                self._beat_now.set()  # Redis only says that something is up; Postgres says what
            else:
                self._woken.set()
        await asyncio.Event().wait()

    async def _zygotes(self) -> None:
        """Start another zygote whenever the last one died."""
        failures = 0
        while True:
            if self._zygote is not None:
                await self._zygote.closed.wait()
                log.error("the executors' parent died: starting another")
                self._zygote = None
            try:
                self._zygote = await Zygote.start(path=self._work.folder, log=None)
                failures = 0
                self._woken.set()
            except ZygoteError as error:
                failures += 1
                log.error("no executors", reason=str(error))
                await asyncio.sleep(pause(failures, RETRY_SECONDS))

    async def _close(self, keepers: list[asyncio.Task[None]]) -> None:
        self._hurry()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._work.settings.lease_seconds)
        for keeper in keepers:
            keeper.cancel()
        await asyncio.wait(keepers)
        await self._record_the_rest()
        with contextlib.suppress(CrewtopError):
            await lease.stop_worker(self._database, self._me.id)
        if self._zygote is not None:
            await self._zygote.close()
        log.info("worker ended", worker=self._me.id)

    async def _record_the_rest(self) -> None:
        """Until the database has taken it, or another worker has the tasks anyway."""
        deadline = time.monotonic() + self._work.settings.lease_seconds
        try:
            while not await self._recorder.flush() and time.monotonic() < deadline:  # noqa: ASYNC110  a server's return
                await asyncio.sleep(0.2)
        except Exception:
            log.exception("recording went wrong")
