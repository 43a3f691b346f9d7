"""What the open view is told beside its questions: a stream that it follows, and long texts that a thread prepares."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from crewtop.tui.feed import pause_after
from crewtop.tui.reading import Job
from crewtop.tui.session import Session
from crewtop.tui.source import Source, Unavailable
from crewtop.tui.views.page import Page
from crewtop.tui.wants import Stream, follow


class Following:
    """Follows what the open view follows, and nothing else.

    reach answers the source or raises Unavailable; spawn runs something beside the screen; soon is called for each
    item of a stream, changed where something is to be shown at once. heard: the stream of the last item.
    """

    def __init__(
        self,
        session: Session,
        reach: Callable[[], Source],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        soon: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self._session, self._reach, self._spawn = session, reach, spawn
        self._soon, self._changed = soon, changed
        self.heard: Stream | None = None
        self._followed: tuple[Page, Stream | None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._job: Job | None = None
        self._moves = asyncio.Event()  # the picture, since it is not frozen

    def attend(self) -> None:
        """Follow and prepare what the view that is open now needs."""
        if self._session.picture.frozen:
            self._moves.clear()
        else:
            self._moves.set()
        page = self._session.page
        stream, job = page.stream, page.job
        if (page, stream) != self._followed:
            if self._reader is not None:
                self._reader.cancel()
            self._followed = page, stream
            self._reader = self._spawn(self._read(page, stream)) if stream is not None else None
        if job is not None and self._job is None:
            self._job = job
            self._spawn(self._prepare(page, job))

    async def _read(self, page: Page, stream: Stream) -> None:
        """Hand items on until the stream ends; whatever goes wrong it is followed anew, from its beginning.

        While the picture is frozen nothing is read: what comes then is told afterwards. What the operator opens
        meanwhile is told all the same.
        """
        failures = 0
        freezes = self._moves.is_set()
        while True:
            page.begin(stream)
            try:
                async for item in follow(self._reach(), stream):
                    failures = 0
                    if freezes:
                        await self._moves.wait()
                    if (self._session.page, page.stream) == (page, stream):
                        self.heard = stream
                        page.told(stream, item)
                        self._soon()
                return
            except Unavailable:  # the banner says so already
                failures += 1
            except Exception as error:  # a defect below must not silence the view for good
                failures += 1
                if failures == 1:
                    self._session.say(f"not followed: unexpected {type(error).__name__}: {error}", "wrong")
                    self._changed()
            await asyncio.sleep(pause_after(failures, self._session.interval, random.random()))

    async def _prepare(self, page: Page, job: Job) -> None:
        """Cut a long text into rows in a thread; a key never waits for it."""
        try:
            rows = await asyncio.to_thread(job.rows)
        finally:
            self._job = None
        page.finish(job, rows)
        self._changed()
