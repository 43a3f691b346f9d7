"""When a worker claims, and how much: at once when it is idle, in large portions when it is not."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress

import structlog

from crewtop.executor.client import Zygote
from crewtop.model.errors import CrewtopError
from crewtop.model.task import Claim
from crewtop.store import lease
from crewtop.store.database import Database
from crewtop.worker.recorder import Recorder
from crewtop.worker.roster import Roster
from crewtop.worker.upkeep import pause
from crewtop.worker.work import Work

log = structlog.get_logger()

RETRY_SECONDS = (0.5, 10.0)

GATHER_SECONDS = 0.005
"""How long a worker with work for all its slots waits for more of them to be free: a claim of a hundred tasks costs
little more than one of ten."""


class Claimer:
    """Takes tasks while there are slots for them. zygote: None while nothing can be started; slots: runs at once."""

    def __init__(self, database: Database, worker_id: str, work: Work, roster: Roster, recorder: Recorder) -> None:
        self.zygote: Zygote | None = None
        self.slots = work.slots
        self._database = database
        self._worker_id = worker_id
        self._work = work
        self._roster = roster
        self._recorder = recorder
        self._crews = list(work.crews)
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self._look = True
        self._backlog = False
        self._look_at = 0.0
        self._failures = 0

    def wake(self) -> None:
        """Something may be ready."""
        self._look = True
        self._changed.set()

    def changed(self) -> None:
        """A slot may be free, or the last run over."""
        self._changed.set()

    def stop(self) -> None:
        """Claim no more."""
        self._stopped.set()
        self._changed.set()

    async def run(self) -> None:
        """Claim until told to stop, or in a burst until nothing is left; then wait for the runs to end."""
        while not self._stopped.is_set():
            if not self._look or self._free() <= 0:
                await self._rest()
                continue
            await self._gather()
            if not await self._claim() and self._is_spent():
                break
        await self._roster.empty()

    def _free(self) -> int:
        if self.zygote is None or self._recorder.full:
            return 0
        free = self.slots - len(self._roster)
        return min(free, 1) if self._roster.unable else free

    def _nothing_runs(self) -> bool:
        return not len(self._roster) and not self._recorder.unstored()

    def _is_spent(self) -> bool:
        return self._work.burst and not self._look and self._nothing_runs()

    async def _claim(self) -> bool:
        """Claim and start; answers whether there was anything."""
        self._look = False
        self._look_at = time.monotonic() + self._work.settings.poll_seconds * random.uniform(0.75, 1.25)
        free = self._free()
        try:
            claims = await lease.claim(
                self._database, self._worker_id, self._work.queues, self._crews, free,
                self._work.settings.lease_seconds,
            )  # fmt: skip
        except CrewtopError as error:
            self._failures += 1
            log.warning("cannot claim", reason=str(error))
            self._look = True
            await self._pause(self._failures)
            return True
        self._failures = 0
        self._start(claims)
        self._backlog = len(claims) == free
        self._look = self._look or self._backlog
        if claims and self._roster.unable:
            await self._pause(self._roster.unable)  # it could start nothing: others shall have a chance
        return bool(claims)

    def _start(self, claims: list[Claim]) -> None:
        if self._stopped.is_set():
            self._roster.give_back(claims, "its worker drains")
        elif self.zygote is None:
            self._roster.give_back(claims, "not started: this worker has no executors just now")
        else:
            self._roster.start(claims, self.zygote)

    async def _gather(self) -> None:
        """Where there is a backlog, wait a moment until half of the slots are free."""
        until = time.monotonic() + GATHER_SECONDS
        while self._backlog and self._free() * 2 < self.slots and not self._stopped.is_set():
            left = until - time.monotonic()
            if left <= 0:
                return
            await self._wait(left)

    async def _rest(self) -> None:
        """Until something changed, or it is time to look again and there is a slot for what may be found."""
        left = max(0.0, self._look_at - time.monotonic())
        await self._wait(left if self._free() > 0 else None)
        if time.monotonic() >= self._look_at or (self._work.burst and self._nothing_runs()):
            self._look = True

    async def _wait(self, seconds: float | None) -> None:
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def _pause(self, failures: int) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(pause(failures, RETRY_SECONDS)):
                await self._stopped.wait()
