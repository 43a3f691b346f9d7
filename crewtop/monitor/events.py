"""What happens, as it is told over Redis: the stream of changes, and lines of running tasks' output among them."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from crewtop.live import keys
from crewtop.live.events import lost_before, told_at, transition
from crewtop.live.fast_lane import Entries, FastLane
from crewtop.model.backoff import pause
from crewtop.model.live import UNKNOWN, Happening, Happenings, LogLine, Transition
from crewtop.model.snapshot import RunningRow

NEWEST = 200
"""Changes that are told of the time before anybody watched."""

A_READ = 200
"""Entries of one stream that one read brings; where there are more, the next read goes on."""

MOST = 1_000
"""Happenings of one answer: of more, the newest."""

FOLLOWED_RUNS = 50
"""Runs whose output is read at once: the newest."""

LINGER_SECONDS = 3.0
"""How long a run's output is read after it has ended: its last lines come after its end."""

KNOWN_TASKS = 5_000
RETRY_SECONDS = (0.5, 5.0)
BEGINNING = "0-0"

Running = Callable[[], Sequence[RunningRow]]


async def follow(live: FastLane, logs: bool, running: Running) -> AsyncIterator[Happenings]:
    """The newest changes, then what happens, until the caller stops; with logs, lines that runs print from now on too.

    running: the runs in progress, as they were last seen. The first answer may be empty. While Redis is away it says so
    again and again, and then goes on from where it was.
    """
    reader = _Reader(live, running if logs else None)
    failures, silent = 0, True
    while True:
        happened = await reader.read()
        if happened is None:
            failures, silent = failures + 1, True
            yield Happenings((), note=f"no live events: {live.down or 'redis is away'}")
            await asyncio.sleep(pause(failures, RETRY_SECONDS))
            continue
        if silent or happened.items or happened.lost:
            yield happened
        failures, silent = 0, False


class _Reader:
    """Where it has read to in each stream. running None: no output is asked for."""

    def __init__(self, live: FastLane, running: Running | None) -> None:
        self._live = live
        self._running = running
        self._at: str | None = None
        self._runs: dict[int, _FollowedRun] = {}
        self._since = time.monotonic()
        self._tasks = _Tasks()

    async def read(self) -> Happenings | None:
        """What has happened since the last call; waits up to half a second for something. None: Redis is away."""
        if not await self._look_at_runs():
            return None
        if self._at is None:
            found = await self._live.newest([keys.EVENT], NEWEST)
        else:
            newest = heapq.nlargest(FOLLOWED_RUNS, self._runs)
            logs = {keys.log(run_id): self._runs[run_id].at for run_id in newest}
            found = await self._live.read({keys.EVENT: self._at, **logs}, A_READ)
        return None if found is None else self._take(found)

    async def _look_at_runs(self) -> bool:
        """Follow the runs that are new, and those no longer that have ended; answers whether Redis was there."""
        if self._running is None:
            return True
        now = time.monotonic()
        rows = self._running()
        new = [row for row in rows if row.run_id not in self._runs]
        # Of what began before anybody watched only the lines from now on are wanted, else all.
        old = [keys.log(row.run_id) for row in new if row.age > now - self._since]
        ends = await self._live.newest(old, 1) if old else {}
        if ends is None:
            return False
        for row in new:
            end = ends.get(keys.log(row.run_id))
            self._runs[row.run_id] = _FollowedRun(row, end[-1][0] if end else BEGINNING, now)
            self._tasks.row(row)
        for row in rows:
            self._runs[row.run_id].seen = now
        self._runs = {run_id: run for run_id, run in self._runs.items() if now - run.seen < LINGER_SECONDS}
        return True

    def _take(self, found: Mapping[str, Entries]) -> Happenings:
        changes = found.get(keys.EVENT, [])
        self._at = changes[-1][0] if changes else self._at or BEGINNING
        lost = sum(lost_before(fields) for _, fields in changes)
        told = self._changes(changes)
        for run_id, run in self._runs.items():
            if lines := found.get(keys.log(run_id)):
                run.at = lines[-1][0]
                told += _lines(run.row, lines)
        told.sort(key=lambda happening: happening.at)  # stable: within a stream the order is what it was
        cut = max(0, len(told) - MOST)
        lost += sum(happening.count if isinstance(happening, Transition) else 1 for happening in told[:cut])
        return Happenings(tuple(told[cut:]), lost)

    def _changes(self, entries: Entries) -> list[Happening]:
        read = [transition(position, fields) for position, fields in entries]
        return [self._tasks.completed(change) for change in read if change is not None]


@dataclass(slots=True)
class _FollowedRun:
    """at: where it has been read to; seen: the monotonic second at which it was last known to run."""

    row: RunningRow
    at: str
    seen: float


class _Tasks:
    """What is known of tasks, so that what the next news of one leaves out can be said all the same."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, str, str]] = {}

    def row(self, row: RunningRow) -> None:
        """Take note of a running task."""
        self._keep(row.task_id, row.queue, row.crew, "running")

    def completed(self, change: Transition) -> Transition:
        """The change with what is known already, which it is from then on."""
        if change.count > 1:
            return change
        queue, crew, status = self._known.get(change.task_id, (UNKNOWN, UNKNOWN, UNKNOWN))
        full = replace(
            change,
            queue=change.queue if change.queue != UNKNOWN else queue,
            crew=change.crew if change.crew != UNKNOWN else crew,
            old_status=change.old_status if change.old_status != UNKNOWN else status,
        )
        self._keep(full.task_id, full.queue, full.crew, full.new_status)
        return full

    def _keep(self, task_id: int, *what: str) -> None:
        self._known.pop(task_id, None)
        queue, crew, status = what
        self._known[task_id] = (queue, crew, status)
        if len(self._known) > KNOWN_TASKS:
            del self._known[next(iter(self._known))]


def _lines(row: RunningRow, entries: Entries) -> list[Happening]:
    return [
        LogLine(told_at(position), row.task_id, row.run_id, row.crew, fields.get("line", ""))
        for position, fields in entries
    ]
