"""Writes calls to models down before they go out: what is killed a moment later has been paid for all the same."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self

import structlog

from crewtop.model.errors import CrewtopError
from crewtop.model.ledger import CallEntry
from crewtop.store import ledger
from crewtop.store.database import Database, Prepared

log = structlog.get_logger()

PATIENCE_SECONDS = 0.4
"""A call waits no longer for its row: the recorder writes it too, and is lost only with this worker."""
RESTS_SECONDS = 0.5
"""After a database that did not answer."""
LAST_SECONDS = 2.0
"""A worker that ends waits no longer for what it has not written yet."""


class Starts:
    """One worker's. `async with` it. One statement at a time is under way; what comes meanwhile goes with the next.

    It keeps a connection on which the statement is prepared: what is sent there arrives whatever becomes of the worker,
    so that no call has to wait for the answer.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[CallEntry, asyncio.Future[None]]] = []
        self._taken_back: list[CallEntry] = []
        self._news, self._idle = asyncio.Event(), asyncio.Event()
        self._idle.set()
        self._serving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._serving = asyncio.create_task(self._serve(), name="starts of calls")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._serving is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await self._idle.wait()
            self._serving.cancel()
            await asyncio.wait([self._serving])

    async def write(self, entry: CallEntry) -> None:
        """Return when it is on its way to the database, or soon after where that does not answer."""
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, sent))
        self._is_news()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await sent

    def take_back(self, entry: CallEntry) -> None:
        """It never went out."""
        self._taken_back.append(entry)
        self._is_news()

    def _is_news(self) -> None:
        self._idle.clear()
        self._news.set()

    async def _serve(self) -> None:
        while True:
            try:
                async with self._database.prepared(ledger.START_CALLS) as start:
                    while True:
                        if not self._waiting and not self._taken_back:
                            self._news.clear()
                            self._idle.set()
                            await self._news.wait()
                        await self._write_batch(start)
            except CrewtopError as error:
                log.warning("starts of calls not recorded yet", reason=str(error))
            except Exception:
                log.exception("starts of calls went wrong")
            await asyncio.sleep(RESTS_SECONDS)

    async def _write_batch(self, start: Prepared) -> None:
        begun, self._waiting = self._waiting, []
        unsent, self._taken_back = self._taken_back, []  # each was begun here, or before
        try:
            await self._store(start, begun)
            await ledger.take_back_calls(self._database, unsent)
        except CrewtopError:
            self._waiting[:0], self._taken_back[:0] = begun, unsent
            raise

    async def _store(self, start: Prepared, begun: list[tuple[CallEntry, asyncio.Future[None]]]) -> None:
        if not begun:
            return
        answer = await start.send(*ledger.started([entry for entry, _ in begun]))
        for _, sent in begun:
            if not sent.done():
                sent.set_result(None)
        try:
            await answer
        except CrewtopError:
            raise
        except Exception as error:
            if len(begun) > 1:
                for each in begun:
                    await self._store(start, [each])
                return
            log.error("a start cannot be recorded as it is", entry=repr(begun[0][0])[:500], reason=str(error)[:300])
