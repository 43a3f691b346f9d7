"""What a worker tells whoever watches: which tasks it took, and how they ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from crewtop.live.fast_lane import FastLane
from crewtop.model.live import UNKNOWN, Change, Changes, Stand, let_go
from crewtop.model.task import Claim, Finish, Finished, Settled, TaskStatus

TELL_SECONDS = 0.2
RUNNING, COMPLETED = TaskStatus.RUNNING.value, TaskStatus.COMPLETED.value
"""At hand, since to ask the enumeration takes longer than all the rest, and every task passes here."""

MOST_STANDS = 10_000
"""Tasks of which Redis has not taken yet where they stand: of more, the first are seen when their entries expire."""

REASON_CHARACTERS = 2_000
"""Of an error: the rest is in the database."""


class Telling:
    """Tells what was committed: the state cache at once, who watches a few times a second.

    Without Redis it goes nowhere, and costs nothing.

    Where Redis takes it too slowly, changes become fewer entries with counts; what
    Redis does not take is dropped, and how many were is told with what comes next.
    """

    def __init__(self, live: FastLane, worker_id: str) -> None:
        self._live = live
        self._actor = f"worker:{worker_id}"
        self._tasks: dict[int, tuple[str, str]] = {}
        self._changes = Changes()
        self._lost = 0
        self._news = asyncio.Event()
        self._stands: list[Stand] = []
        self._stood = asyncio.Event()

    def claimed(self, claims: Iterable[Claim]) -> None:
        """These are the worker's now."""
        for claim in claims:
            self._tasks[claim.run_id] = claim.queue, claim.crew
            self._stand(Stand(claim.task_id, claim.version, RUNNING))
            # What ran before may have been resting, or have been put back.
            old = UNKNOWN if claim.earlier_runs else "pending"
            kind = claim.queue, claim.crew, old, "running", self._actor
            if not self._changes.counted(kind):
                self._changes.add(Change(claim.task_id, *kind, claim.run_id))
                self._news.set()

    def ended(self, ended: Iterable[Finished], reports: Mapping[int, tuple[Finish, bool]]) -> None:
        """These have been recorded, as reported. What had lost its lease is told by whoever took that."""
        settled: list[Settled] = []
        for item in ended:
            settled += item.settled
            queue, crew = self._tasks.pop(item.run_id, (UNKNOWN, UNKNOWN))
            if item.status is None:
                continue
            self._stand(Stand(item.task_id, item.version, item.status))
            new = COMPLETED if item.status is TaskStatus.COMPLETED else item.status.value
            kind = queue, crew, "running", new, self._actor
            if not self._changes.counted(kind):
                reason = _in_words(reports[item.run_id][0]) if new != COMPLETED else None
                self._changes.add(Change(item.task_id, *kind, item.run_id, reason))
                self._news.set()
        for task in settled:  # after the ends that they follow from
            self._changes.add(let_go(task, self._actor))
            self._news.set()
            self._stand(Stand(task.task_id, task.version, task.status))

    def _stand(self, stand: Stand) -> None:
        self._stands.append(stand)
        self._stood.set()

    async def run(self) -> None:
        """Tell who watches, for ever."""
        while True:
            await self._news.wait()
            await asyncio.sleep(TELL_SECONDS)
            await self._tell_changes()

    async def run_states(self) -> None:
        """Tell the state cache, for ever: while one answer is under way, what comes is gathered for the next."""
        while True:
            await self._stood.wait()
            await self._tell_states()

    async def _tell_states(self) -> None:
        self._stood.clear()
        stands, self._stands = self._stands[-MOST_STANDS:], []
        await self._live.stand(stands)

    async def flush(self) -> None:
        """Tell what there is."""
        await self._tell_changes()
        await self._tell_states()

    async def _tell_changes(self) -> None:
        self._news.clear()
        changes = self._changes.take()
        if not changes:
            return
        if await self._live.tell(changes, self._lost):
            self._lost = 0
        else:
            self._lost += sum(change.number for change in changes)


def _in_words(report: Finish) -> str:
    """As the task's history has it."""
    return (report.error or report.outcome.replace("_", " "))[:REASON_CHARACTERS]
