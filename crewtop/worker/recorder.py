"""Batches what runs report into few statements, and keeps it in memory until the database has taken it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import structlog

from crewtop.model.backoff import pause
from crewtop.model.errors import CrewtopError
from crewtop.model.task import Finish, Finished
from crewtop.store import lease, ledger
from crewtop.store.database import Database
from crewtop.worker.pending import Pending, bare_entry, portions
from crewtop.worker.story import Entry
from crewtop.worker.telling import Telling

log = structlog.get_logger()
T = TypeVar("T")

FLUSH_SECONDS = 0.05
"""How long entries are gathered before they are written."""

ENOUGH = 100
"""Ends that are written without waiting for more: larger batches cost hardly less a task."""

FULL = 5_000
"""Entries that may wait; beyond it runs are held up until some are written."""

PATIENCE_SECONDS = 0.4
"""A call waits no longer for the steps before it."""

BACKOFF_SECONDS = (0.2, 10.0)


class Recorder:
    """The one writer of a worker. finished is called after each write with what became of the ended runs in it.

    telling: who watches is told of them through it.
    """

    def __init__(
        self,
        database: Database,
        worker_id: str,
        service_levels: Sequence[float],
        finished: Callable[[list[Finished]], Awaitable[None]],
        telling: Telling,
    ) -> None:
        self._database = database
        self._worker_id = worker_id
        self._service_levels = service_levels
        self._finished = finished
        self._telling = telling
        self._pending = Pending()
        self._writing = Pending()
        self._written = asyncio.Event()
        self._news = asyncio.Event()
        self._enough = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._failures = 0
        self._ending = False

    async def add(self, entries: Sequence[Entry]) -> None:
        """Take entries; waits while too many are pending, so that a run cannot outpace the database for ever."""
        await self._room.wait()
        for entry in entries:
            self._pending.add(entry)
        self._changed()

    @property
    def full(self) -> bool:
        """Whether no more should be begun until some of it is written."""
        return not self._room.is_set()

    async def room(self) -> None:
        """Wait until it is not full."""
        await self._room.wait()

    def finish(self, ends: Iterable[tuple[Finish, bool]]) -> None:
        """Take the ends of runs, each with whether a call of it never ended."""
        self._pending.finishes.update((end[0].run_id, end) for end in ends)
        if len(self._pending.finishes) >= ENOUGH:
            self._enough.set()
        self._changed()

    def hurry(self) -> None:
        """Write at once: nothing else is coming."""
        self._enough.set()

    def unstored(self) -> dict[int, int]:
        """Runs that ended but are not recorded yet, as run_id to task_id: their leases have to be held on."""
        ended = self._writing.finishes | self._pending.finishes
        return {run_id: report.task_id for run_id, (report, _) in ended.items()}

    async def kept(self, run_id: int) -> None:
        """Return when the steps that a run has completed are stored, or soon after where the database does not answer:
        what it pays for next rests on them.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                while self._pending.completed_a_step(run_id) or self._writing.completed_a_step(run_id):
                    self.hurry()
                    await self._written.wait()

    def end(self) -> None:
        """Let run() return as soon as everything is written."""
        self._ending = True
        self._news.set()
        self._enough.set()

    async def run(self) -> None:
        """Write until told to end. What the database cannot take now is kept and tried again."""
        while self._pending or not self._ending:
            await self._news.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._enough.wait()
            try:
                written = await self.flush()
            except Exception:
                log.exception("recording went wrong")
                written = False
            if not written:
                await asyncio.sleep(pause(self._failures, BACKOFF_SECONDS))

    async def flush(self) -> bool:
        """Write everything that is pending; answers whether the database took it."""
        self._news.clear()
        self._enough.clear()
        batch, self._pending = self._pending, Pending()
        self._writing = batch  # unstored() must not forget a lease in between
        try:
            ended = await self._write(batch)
        except BaseException as error:
            # Whatever it was, a cancellation at the end of a drain too: every write can be done again.
            self._failures += 1
            self._writing = Pending()
            self._pending.take_back(batch)
            self._changed()
            if not isinstance(error, CrewtopError):
                raise
            log.warning("not recorded yet", pending=len(batch), reason=str(error))
            return False
        if self._failures:
            log.info("recording again", after_failures=self._failures)
        self._failures = 0
        self._writing = Pending()
        self._written.set()
        self._written = asyncio.Event()
        self._changed()
        self._telling.ended(ended, batch.finishes)
        await self._finished(ended)
        return True

    async def _write(self, batch: Pending) -> list[Finished]:
        now = time.monotonic()
        await self._each(
            ledger.record_calls, [replace(e, started_ago=max(0.0, now - e.started_ago)) for e in batch.calls.values()]
        )
        await self._each(ledger.keep_steps, list(batch.kept.values()))
        await self._each(
            ledger.record_steps, [replace(e, started_ago=max(0.0, now - e.started_ago)) for e in batch.steps.values()]
        )
        await self._each(
            ledger.record_tools, [replace(e, started_ago=max(0.0, now - e.started_ago)) for e in batch.tools.values()]
        )
        await self._each(
            ledger.record_progress, [replace(e, ago=max(0.0, now - e.ago)) for e in batch.progress.values()]
        )
        ended: list[Finished] = []
        if batch.finishes:
            for reports in portions([report for report, _ in batch.finishes.values()]):
                ended += await self._finish(reports)
            killed = [run_id for run_id, (_, unanswered) in batch.finishes.items() if unanswered]
            if killed:
                await ledger.close_calls(self._database, killed)
        return ended

    async def _each(self, write: Callable[[Database, Sequence[T]], Awaitable[None]], entries: list[T]) -> None:
        """Write entries together; if one spoils the batch, one by one, and the spoiler without what could spoil it."""
        for portion in portions(entries):
            await self._portion(write, portion)

    async def _portion(self, write: Callable[[Database, Sequence[T]], Awaitable[None]], entries: list[T]) -> None:
        try:
            await write(self._database, entries)
        except CrewtopError:
            raise
        except Exception as error:
            if len(entries) > 1:
                for entry in entries:
                    await self._portion(write, [entry])
                return
            bare = bare_entry(entries[0])
            log.error("an entry cannot be recorded as it is", entry=repr(entries[0])[:500], reason=_line(error))
            if bare != entries[0]:
                await self._portion(write, [bare])

    async def _finish(self, reports: list[Finish], *, bare: bool = False) -> list[Finished]:
        """Record ends together; one that spoils the batch is recorded with its content replaced by the reason."""
        try:
            return await lease.finish(self._database, self._worker_id, reports, self._service_levels)
        except CrewtopError:
            raise
        except Exception as error:
            if len(reports) > 1:
                return [done for report in reports for done in await self._finish([report])]
            [report] = reports
            log.error("an end cannot be recorded as it is", run_id=report.run_id, bare=bare, reason=_line(error))
            if bare:
                return [Finished(report.run_id, report.task_id, accepted=False, status=None)]  # its lease will run out
            return await self._finish([_bare(report, _line(error))], bare=True)

    def _changed(self) -> None:
        if self._pending:
            self._news.set()
        if len(self._pending) < FULL:
            self._room.set()
        else:
            self._room.clear()


def _bare(report: Finish, why: str) -> Finish:
    """The same end without anything that the database could refuse."""
    note = f"the result or error could not be stored: {why}".encode("ascii", "backslashreplace").decode()
    return report._replace(
        result=None, error_type=None, error=note[:500], traceback=None, log_tail=None, delay_seconds=0.0
    )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
