"""The worker: claims as many tasks as it has free slots, holds their leases, rescues, drains."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

import structlog

import crewtop
from crewtop.executor.client import Zygote, ZygoteError
from crewtop.live.fast_lane import FastLane, Kill
from crewtop.model.backoff import pause
from crewtop.model.errors import CrewtopError
from crewtop.model.ledger import BEATS_A_LEASE, Beat
from crewtop.model.task import Finished, Orders, RunOutcome, TaskStatus
from crewtop.store import lease
from crewtop.store.database import Database
from crewtop.worker.claims import RETRY_SECONDS, Claimer
from crewtop.worker.identity import Identity
from crewtop.worker.output import LiveLog
from crewtop.worker.recorder import Recorder
from crewtop.worker.roster import Roster
from crewtop.worker.telling import Telling
from crewtop.worker.upkeep import Upkeep, every
from crewtop.worker.usage import Usage
from crewtop.worker.work import Work

log = structlog.get_logger()

PROMPT_SECONDS = 1.0
"""A heartbeat that took longer than this says too little of how far the clocks are apart."""


class Supervisor:
    """One worker process. run() ends when it has drained, or when a burst found nothing left.

    scratch: where each run gets a folder of its own.
    """

    def __init__(self, identity: Identity, work: Work, database: Database, live: FastLane, scratch: Path) -> None:
        self._me = identity
        self._work = work
        self._database = database
        self._live = live
        self._held_since: float | None = None
        self._held_at = 0.0
        self._draining = False
        self._killed = False
        self._clock_offset: float | None = None
        self._hurrying: asyncio.TimerHandle | None = None
        self._beat_now = asyncio.Event()
        self._telling = Telling(live, identity.id)
        self._recorder = Recorder(database, identity.id, work.service_levels, self._recorded, self._telling)
        self._live_log = LiveLog(live, work.secrets.text)
        self._roster = Roster(work, database, self._recorder, self._live_log, scratch, self._run_ended)
        self._claimer = Claimer(database, identity.id, work, self._roster, self._recorder, self._telling)
        self._starting: asyncio.Task[Zygote] | None = None
        self._recording: asyncio.Task[None] | None = None
        self._usage = Usage()

    async def run(self) -> None:
        """Work until drained. Raises ZygoteError where executors cannot be started at all."""
        keepers: list[asyncio.Task[None]] = []
        try:
            await self._heartbeat()  # seen while CrewAI is still being imported
            self._starting = asyncio.create_task(
                Zygote.start(path=self._work.folder, log=None, clean=self._work.secrets.line)
            )
            await asyncio.wait([self._starting])
            if self._starting.cancelled():
                return  # told to stop before there was anything to stop
            zygote = self._claimer.zygote = self._starting.result()
            keepers = self._keepers(zygote)
            work = asyncio.create_task(self._claimer.run())
            self._recording = asyncio.create_task(self._recorder.run())
            keepers += [work, self._recording]
            await asyncio.wait(keepers, return_when=asyncio.FIRST_COMPLETED)
            for keeper in keepers:
                if keeper.done():
                    keeper.result()
        finally:
            await self._close(keepers)

    def _keepers(self, zygote: Zygote) -> list[asyncio.Task[None]]:
        log.info(
            "worker started", worker=self._me.id, slots=self._work.slots, crews=sorted(self._work.crews),
            queues=self._work.queues or "all", crews_per_process=self._work.settings.crews_per_process,
            crewai=zygote.crewai, executors=zygote.mode,
        )  # fmt: skip
        lease_seconds = self._work.settings.lease_seconds
        loops = [
            self._listens(),
            self._zygotes(zygote),
            self._roster.watch(),
            self._live_log.run(),
            self._telling.run(),
            self._telling.run_states(),
            every(lease_seconds / BEATS_A_LEASE, "heartbeat", self._heartbeat, self._beat_now),
            *Upkeep(
                self._database, self._live, self._me.id, self._work, self._held_safely, self._back_in_queue
            ).loops(),
        ]
        return [asyncio.create_task(loop) for loop in loops]

    def drain(self, grace_seconds: float | None) -> None:
        """Stop claiming and end when the last run has: after the grace (None: however long) runs are handed back.

        Asked a second time under a grace, they are handed back at once.
        """
        if grace_seconds is not None and self._hurrying is not None:
            log.info("hurrying", running=len(self._roster))
            self._hurry()
            return
        log.info("draining", running=len(self._roster), grace_seconds=grace_seconds)
        self._draining = True
        self._claimer.stop()
        self._beat_now.set()
        if self._starting is not None:
            self._starting.cancel()  # does nothing to one that has started
        if grace_seconds is not None:
            self._hurrying = asyncio.get_running_loop().call_later(grace_seconds, self._hurry)

    def _hurry(self) -> None:
        self._roster.kill_all(RunOutcome.INTERRUPTED, "its worker was stopped")

    def _run_ended(self) -> None:
        self._claimer.changed()

    async def _recorded(self, ended: list[Finished]) -> None:
        self._claimer.changed()
        for item in ended:
            if not item.accepted:
                log.warning("late: the lease was gone", task=item.task_id, run=item.run_id)
            elif item.status is TaskStatus.PENDING:
                self._claimer.wake()
        freed = {queue for item in ended for queue in item.freed}
        if freed:
            await self._back_in_queue(freed)

    async def _back_in_queue(self, queues: set[str]) -> None:
        self._claimer.wake()
        await self._live.wake(queues)

    async def _heartbeat(self) -> None:
        sent, sent_at = time.time(), time.monotonic()
        orders = await lease.heartbeat(self._database, self._beat())
        took = time.monotonic() - sent_at
        if took <= PROMPT_SECONDS:
            # The database read its clock somewhere in between: wrong by half of the round trip at most.
            self._clock_offset = sent + took / 2 - orders.at
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
        return set(self._held())

    def _beat(self) -> Beat:
        cpu, memory = self._usage.measure()
        return Beat(
            worker_id=self._me.id,
            host=self._me.host,
            pid=self._me.pid,
            boot_id=self._me.boot_id,
            version=crewtop.__version__,
            queues=self._work.queues,
            crews=tuple(self._work.crews),
            slots=self._claimer.slots,
            runs=self._held(),
            lease_seconds=self._work.settings.lease_seconds,
            draining=self._draining,
            cpu_percent=cpu,
            memory_bytes=memory,
            drain_seconds_left=self._drain_seconds_left(),
            clock_offset=self._clock_offset,
        )

    def _held(self) -> dict[int, int]:
        return self._roster.held() | self._claimer.held()

    def _drain_seconds_left(self) -> float | None:
        if self._hurrying is None:
            return None
        return max(0.0, self._hurrying.when() - asyncio.get_running_loop().time())

    def _obey(self, orders: Orders) -> None:
        for held in orders.runs:
            self._roster.check(held)
        if orders.desired_slots is not None and orders.desired_slots != self._claimer.slots:
            log.info("slots changed", slots=orders.desired_slots)
            self._claimer.slots = orders.desired_slots
            self._claimer.changed()
        if orders.killed and not self._killed:
            self._killed = True
            self.drain(0.0)
        elif orders.draining and not self._draining:
            self.drain(None)

    async def _listens(self) -> None:
        async for message in self._live.listen(self._me.id, self._work.queues):
            if isinstance(message, Kill):
                self._beat_now.set()  # Redis only says that something is up; Postgres says what
            else:
                self._claimer.wake()
        await asyncio.Event().wait()

    async def _zygotes(self, zygote: Zygote) -> None:
        """Start another zygote whenever the last one died."""
        while True:
            await zygote.closed.wait()
            log.error("the executors' parent died: starting another")
            self._claimer.zygote = None
            zygote = self._claimer.zygote = await self._another_zygote()
            self._claimer.wake()

    async def _another_zygote(self) -> Zygote:
        failures = 0
        while True:
            try:
                return await Zygote.start(path=self._work.folder, log=None, clean=self._work.secrets.line)
            except ZygoteError as error:
                failures += 1
                log.error("no executors", reason=str(error))
                await asyncio.sleep(pause(failures, RETRY_SECONDS))

    async def _close(self, keepers: list[asyncio.Task[None]]) -> None:
        if self._starting is not None:
            self._starting.cancel()
        self._hurry()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._work.settings.lease_seconds):
                await self._roster.empty()
        self._recorder.end()
        if self._recording is not None:
            # Until the database has taken it, or another worker has the tasks anyway.
            await asyncio.wait([self._recording], timeout=self._work.settings.lease_seconds)
        for keeper in keepers:
            keeper.cancel()
        if keepers:
            await asyncio.wait(keepers)
        await self._live_log.flush()
        await self._telling.flush()
        with contextlib.suppress(CrewtopError):
            await lease.stop_worker(self._database, self._me.id)
        if self._claimer.zygote is not None:
            await self._claimer.zygote.close()
        await self._roster.gone()
        log.info("worker ended", worker=self._me.id)
