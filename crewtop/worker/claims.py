"""When a worker claims, and how much: at once when it is idle, in large portions when it is not."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress

import structlog

from crewtop.executor.client import Zygote
from crewtop.model.backoff import pause
from crewtop.model.errors import CrewtopError
from crewtop.model.task import Claim
from crewtop.store import lease
from crewtop.store.database import Database
from crewtop.worker.recorder import Recorder
from crewtop.worker.roster import Roster
from crewtop.worker.telling import Telling
from crewtop.worker.work import Work

log = structlog.get_logger()

RETRY_SECONDS = (0.5, 10.0)

GATHER_SECONDS = 0.005
"""How long a worker with work for all its slots waits for more of them to be free: a claim of a hundred tasks costs
little more than one of ten."""

QUICK_SECONDS = 0.05
"""Where half of the slots' runs were over within this, and none has lasted longer, more is claimed than there are slots
for: the next runs are there when these end, instead of after another round trip."""

AHEAD_SECONDS = 0.5
"""What was claimed ahead and has not been started after this goes back: its turn may be elsewhere."""


class Claimer:
    """Takes tasks while there are slots for them. zygote: None while nothing can be started; slots: runs at once."""

    def __init__(
        self,
        database: Database,
        worker_id: str,
        work: Work,
        roster: Roster,
        recorder: Recorder,
        telling: Telling,
    ) -> None:
        self.zygote: Zygote | None = None
        self.slots = work.slots
        self._database = database
        self._worker_id = worker_id
        self._work = work
        self._roster = roster
        self._recorder = recorder
        self._telling = telling
        self._crews = list(work.crews)
        self._changed = asyncio.Event()
        self._stopped = asyncio.Event()
        self._ahead: list[Claim] = []
        self._ahead_since = 0.0
        self._ended = 0
        self._quick_until = 0.0
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
        if self._roster.ended - self._ended >= self.slots / 2:
            self._ended = self._roster.ended
            self._quick_until = time.monotonic() + QUICK_SECONDS
        free = self.slots - len(self._roster)
        if self._ahead and time.monotonic() - self._ahead_since > AHEAD_SECONDS:
            self._hand_back(
                "not started: this worker's slots are taken"
            )  # or it was stopped, and their leases are gone
        elif self._ahead and free > 0 and self.zygote is not None:
            now, self._ahead = self._ahead[:free], self._ahead[free:]
            self._ahead_since = time.monotonic()
            self._roster.start(now, self.zygote)
        self._changed.set()

    def stop(self) -> None:
        """Claim no more, and hand back what has not been started."""
        self._stopped.set()
        self._hand_back("its worker drains")
        self._changed.set()

    def held(self) -> dict[int, int]:
        """What is claimed and not started, as run_id to task_id."""
        return {claim.run_id: claim.task_id for claim in self._ahead}

    async def run(self) -> None:
        """Claim until told to stop, or in a burst until nothing is left; then wait for the runs to end."""
        while not self._stopped.is_set():
            if not self._look or self._wanted() <= 0:
                await self._rest()
                continue
            await self._gather()
            if not await self._claim() and self._is_spent():
                break
        await self._roster.empty()

    def _wanted(self) -> int:
        """How many tasks to claim."""
        if self.zygote is None or self._recorder.full:
            return 0
        free = self.slots - len(self._roster) - len(self._ahead)
        if self._roster.unable:
            return min(free, 1)
        return min(self.slots, free + (self.slots if self._is_quick() else 0))

    def _is_quick(self) -> bool:
        now = time.monotonic()
        shared = self._work.settings.crews_per_process > 1
        return shared and now < self._quick_until and now - self._roster.oldest(now) < QUICK_SECONDS

    def _nothing_runs(self) -> bool:
        return not len(self._roster) and not self._recorder.unstored()

    def _is_spent(self) -> bool:
        return self._work.burst and not self._look and self._nothing_runs()

    async def _claim(self) -> bool:
        """Claim and start; answers whether there was anything."""
        wanted = self._wanted()
        if wanted <= 0:  # no longer, after a moment of gathering
            return True
        self._look = False
        asked = time.monotonic()
        self._look_at = asked + self._work.settings.poll_seconds * random.uniform(0.75, 1.25)
        try:
            claims = await lease.claim(
                self._database, self._worker_id, self._work.queues, self._crews, wanted,
                self._work.settings.lease_seconds,
            )  # fmt: skip
        except CrewtopError as error:
            self._failures += 1
            log.warning("cannot claim", reason=str(error))
            self._look = True
            await self._pause(self._failures)
            return True
        self._failures = 0
        self._telling.claimed(claims)
        if time.monotonic() - asked > self._work.settings.lease_seconds:
            self._roster.give_back(claims, "not started: their leases may have run out before they were here")
            return True
        self._take(claims)
        self._backlog = len(claims) == wanted
        self._look = self._look or self._backlog or any(claim.cut for claim in claims)
        if claims and self._roster.unable:
            await self._pause(self._roster.unable)  # it could start nothing: others shall have a chance
        return bool(claims)

    def _take(self, claims: list[Claim]) -> None:
        """Start them as far as there are slots."""
        if not self._ahead:
            self._ahead_since = time.monotonic()
        self._ahead += claims
        if self._stopped.is_set():
            self._hand_back("its worker drains")
        elif self.zygote is None:
            self._hand_back("not started: this worker has no executors just now")
        else:
            self.changed()

    def _hand_back(self, why: str) -> None:
        claims, self._ahead = self._ahead, []
        self._roster.give_back(claims, why)

    async def _gather(self) -> None:
        """Where there is a backlog, wait a moment until it can be a large portion."""
        until = time.monotonic() + GATHER_SECONDS
        while self._backlog and self._wanted() * 2 < self.slots and not self._stopped.is_set():
            left = until - time.monotonic()
            if left <= 0:
                return
            await self._wait(left)

    async def _rest(self) -> None:
        """Until something changed, or it is time to look again and there is a slot for what may be found."""
        left = max(0.0, self._look_at - time.monotonic())
        if self._ahead:
            await self._wait(AHEAD_SECONDS)
            self.changed()
        else:
            await self._wait(left if self._wanted() > 0 else None)
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
