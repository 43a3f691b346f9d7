"""The state cache: where tasks stand, kept in Redis for those that somebody asks for, never older over newer.

An entry is made by a reader alone, from Postgres, and only while nobody has told of a change since the reader put its
mark there; whoever changes a task replaces the entry, if there is one, after the commit. So the versions under a key
never go back: not over a FLUSHALL, not over an eviction, not when a change is told late. A reader that asks again and
again for a task keeps a copy of what it knows and hears what is told of it. A change that is never told, since its
worker died between commit and telling, is seen once copy and entry expire, after COPY_SECONDS and LIVE_SECONDS.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files

from crewtop.live import keys
from crewtop.live.fast_lane import FastLane
from crewtop.live.states import COPY_SECONDS, PORTION, milliseconds, told_stands
from crewtop.model.live import Ending, Stand, State
from crewtop.model.task import ENDED, TaskStatus

MARK_SECONDS = 2.0
"""A reader that takes longer to ask Postgres fills nothing in."""

ENDING_CHARACTERS = 8_192
"""An end whose result and error take more, as JSON, stays in Postgres."""

SEEN = 10_000
"""Tasks of which a reader remembers the newest version that it has seen."""

COUNT_SECONDS = 3_600.0
"""Hits and misses are counted for so long, then anew."""

GONE = 2**63
"""Newer than any version: what is gone does not come back."""

_LOOK = files("crewtop.live").joinpath("look_at_states.lua").read_text("utf-8")
_FILL = files("crewtop.live").joinpath("fill_state.lua").read_text("utf-8")
_MARK = "?"


class Told(asyncio.Event):
    """Set when a task may have ended. ended: that is said, and not only that it could have been missed."""

    ended = False


class StateCache:
    """One reader, which never goes back: it answers no version of a task that is older than one it has answered.

    Questions that come while one is on its way to Redis go there together, in the next round trip. Once somebody waits
    for a task or asks for it twice, one subscription hears what is told, until the lane is closed.
    """

    def __init__(self, lane: FastLane) -> None:
        self._lane = lane
        self._asked: list[tuple[int, asyncio.Future[str | None]]] = []
        self._asking: asyncio.Task[None] | None = None
        self._on_its_way = False
        self._seen: OrderedDict[int, int] = OrderedDict()
        self._copies: dict[int, tuple[State, float]] = {}
        self._dropped = 0
        self._answered_from_copies = 0
        self._waiting: dict[int, set[Told]] = {}
        self._hearing = False
        self._listening: asyncio.Task[None] | None = None

    async def poll(self, task_id: int, fetch: Callable[[], Awaitable[State | None]]) -> State | None:
        """As read, for those who ask again and again: by what was heard of the task, if it was asked for before."""
        if task_id in self._copies:
            await asyncio.sleep(0)  # however tightly somebody polls, what is heard has its turn
            if (copy := self._copies.get(task_id)) is not None and time.monotonic() < copy[1]:
                self._answered_from_copies += 1
                return copy[0]
        elif task_id in self._seen:
            self._listen()
        self._see(task_id, 0)
        dropped = self._dropped
        found = await self.read(task_id, fetch)
        if found is not None and found.version < self._seen.get(task_id, 0):
            found = await self.read(task_id, fetch)  # a newer one was heard meanwhile
        if found is not None and self._hearing and dropped == self._dropped:
            self._copy(task_id, found)
        return found

    async def read(
        self, task_id: int, fetch: Callable[[], Awaitable[State | None]], *, whole: bool = False, straight: bool = False
    ) -> State | None:
        """Where a task stands: by Redis if it knows, else by fetch, which asks Postgres; None: there is no such task.

        whole: with its Ending, if it has ended; straight: without a look at Redis, which is known not to have it.
        """
        known = None if straight else await self._look(task_id)
        state = None if known is None else parsed(known)
        enough = state is not None and (not whole or state.ending is not None or state.status not in ENDED)
        if state is not None and enough and self._is_news(task_id, state):
            return state
        found = await fetch()
        if found is not None and not self._is_news(task_id, found):
            found = await fetch()  # somebody else here read a newer one since this was asked for
        self._see(task_id, found.version if found is not None else GONE)
        if known is not None:
            await self._fill(task_id, known, found)
        return found

    def _is_news(self, task_id: int, state: State) -> bool:
        if state.version < self._seen.get(task_id, 0):
            return False
        self._see(task_id, state.version)
        return True

    def _see(self, task_id: int, version: int) -> None:
        self._seen[task_id] = max(version, self._seen.pop(task_id, 0))
        if len(self._seen) > SEEN:
            oldest, _ = self._seen.popitem(last=False)
            self._copies.pop(oldest, None)

    def _copy(self, task_id: int, state: State) -> None:
        self._copies[task_id] = state, time.monotonic() + COPY_SECONDS

    def drop_copies(self) -> None:
        """Believe no copy any more, nor an answer that is on its way: something may have changed them."""
        self._copies.clear()
        self._dropped += 1

    @contextmanager
    def waiting(self, task_id: int) -> Iterator[Told]:
        """An event that is set when the task may have ended: it is said, or could have been missed."""
        told = Told()
        self._waiting.setdefault(task_id, set()).add(told)
        self._listen()
        try:
            yield told
        finally:
            self._waiting[task_id].discard(told)
            if not self._waiting[task_id]:
                del self._waiting[task_id]

    def _listen(self) -> None:
        if self._listening is None and self._lane.whose() is not None:
            self._listening = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        try:
            async for message in self._lane.told():
                if isinstance(message, bool):
                    self._hearing = message
                    self.drop_copies()
                    self._wake(self._waiting, ended=False)
                else:
                    for stand in told_stands(message):
                        self._heard(stand)
        finally:
            self._hearing = False

    def _heard(self, stand: Stand) -> None:
        task_id, version, status = stand
        if status is None:
            self._copies.pop(task_id, None)
            self._dropped += 1
        elif task_id in self._seen and version >= self._seen[task_id]:
            self._see(task_id, version)
            self._copy(task_id, State(version, TaskStatus(status)))
        if status is None or status in ENDED:
            self._wake([task_id], ended=True)

    def _wake(self, task_ids: Iterable[int], *, ended: bool) -> None:
        for task_id in task_ids:
            for told in self._waiting.get(task_id, ()):
                told.ended = ended
                told.set()

    async def _look(self, task_id: int) -> str | None:
        """What stands under the task's key: an entry, or a mark. None where Redis is away."""
        if not self._on_its_way:
            self._on_its_way = True
            try:
                return (await self._states([task_id])).get(task_id)
            finally:
                self._next()
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._asked.append((task_id, answer))
        return await answer

    def _next(self) -> None:
        """A round trip is over: what has come meanwhile shares the next one."""
        if self._asked:
            asked, self._asked = self._asked[:PORTION], self._asked[PORTION:]
            self._asking = asyncio.create_task(self._ask(asked))
        else:
            self._on_its_way = False

    async def _ask(self, asked: list[tuple[int, asyncio.Future[str | None]]]) -> None:
        found: dict[int, str] = {}
        try:
            found = await self._states([task_id for task_id, _ in asked])
        finally:
            for task_id, answer in asked:
                if not answer.done():
                    answer.set_result(found.get(task_id))
            self._next()

    async def _states(self, task_ids: list[int]) -> dict[int, str]:
        if (database := self._lane.whose()) is None:
            return {}
        distinct = list(dict.fromkeys(task_ids))
        mark = _MARK + secrets.token_hex(8)
        times = (round(MARK_SECONDS * 1_000), round(COUNT_SECONDS * 1_000))
        names = [keys.tasks(database), keys.states(database)]
        answered, self._answered_from_copies = self._answered_from_copies, 0
        found = await self._lane.run(_LOOK, names, (mark, *times, " ".join(map(str, distinct)), answered))
        lines = found.split("\n") if isinstance(found, str) else ()
        return dict(zip(distinct, lines, strict=True)) if len(lines) == len(distinct) else {}

    async def _fill(self, task_id: int, known: str, found: State | None) -> None:
        entry = written(found) if found is not None else ""
        if entry != known and (database := self._lane.whose()) is not None:
            lasts = milliseconds(found.status) if found is not None else 1
            await self._lane.run(_FILL, [f"{keys.tasks(database)}{task_id}"], (known, entry, lasts))


def written(state: State) -> str:
    """A state as an entry: '<version> <status>', then its ending as JSON where that is short."""
    entry = f"{state.version} {state.status}"
    if state.ending is None:
        return entry
    ending = json.dumps(state.ending)
    return entry if len(ending) > ENDING_CHARACTERS else f"{entry} {ending}"


def parsed(entry: str) -> State | None:
    """The state of an entry; None for a mark, and for what others put there."""
    try:
        version, status, *ending = entry.split(" ", 2)
        return State(int(version), TaskStatus(status), _ending(ending[0]) if ending else None)
    except (ValueError, TypeError):
        return None


def _ending(text: str) -> Ending:
    result, error = json.loads(text)
    if not all(part is None or isinstance(part, str) for part in (result, error)):
        raise ValueError(text)
    return Ending(result, error)
