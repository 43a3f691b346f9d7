"""Writes calls to models down before they go out: what is killed a moment later has been paid for all the same."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from crewtop.model.errors import CrewtopError
from crewtop.model.ledger import CallEntry
from crewtop.store import ledger
from crewtop.store.database import Database

log = structlog.get_logger()

PATIENCE_SECONDS = 0.4
"""A call waits no longer for its row: the recorder writes it too, and is lost only with this worker."""


class Starts:
    """One worker's. One statement at a time is under way; what comes meanwhile goes with the next."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[tuple[CallEntry, asyncio.Future[None]]] = []
        self._taken_back: list[CallEntry] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, entry: CallEntry) -> None:
        """Return when it is stored, or soon after where the database does not answer."""
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, stored))
        self._begin()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.shield(stored)

    def take_back(self, entry: CallEntry) -> None:
        """It never went out."""
        self._taken_back.append(entry)
        self._begin()

    def _begin(self) -> None:
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        try:
            while self._waiting or self._taken_back:
                await self._write_batch()
        except CrewtopError as error:
            log.warning("starts of calls not recorded yet", reason=str(error))
        except Exception:
            log.exception("starts of calls went wrong")
        finally:
            self._writing = None
            if self._waiting:
                self._begin()

    async def _write_batch(self) -> None:
        begun, self._waiting = self._waiting, []
        unsent, self._taken_back = self._taken_back, []  # each was begun here, or before
        try:
            await self._store([entry for entry, _ in begun])
            for _, stored in begun:
                if not stored.done():
                    stored.set_result(None)
            await ledger.take_back_calls(self._database, unsent)
        except CrewtopError:
            self._taken_back[:0] = unsent
            raise

    async def _store(self, entries: list[CallEntry]) -> None:
        try:
            await ledger.start_calls(self._database, entries)
        except CrewtopError:
            raise
        except Exception as error:
            if len(entries) > 1:
                for entry in entries:
                    await self._store([entry])
                return
            log.error("a start cannot be recorded as it is", entry=repr(entries[0])[:500], reason=str(error)[:300])
