"""`crewtop`: the screen on the configured stores, which are opened while it already shows."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from crewtop.config import Configuration
from crewtop.model.errors import CrewtopError, Unavailable
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Action, OperationResult, Target
from crewtop.model.snapshot import Body, Excerpt, LogLines, Snapshot, TaskDetail, TaskPage

if TYPE_CHECKING:
    from crewtop.monitor.monitor import Monitor

SCREEN_CONNECTIONS = 3
SCREEN_TIMEOUT_SECONDS = 2.0
OPEN_RETRY_SECONDS = 2.0


def open_screen(
    configuration: Configuration,
    *,
    pool: int,
    ascii_only: bool,
    read_only: bool,
    beside: Callable[[], Awaitable[None]] | None = None,
) -> int:
    """Show the screen until it is quit; answers the exit code.

    pool: slots of a worker beside it, 0 for none; beside: something that runs while the screen does.
    """
    from crewtop.tui.app import run_screen
    from crewtop.tui.options import ScreenOptions

    settings = configuration.settings
    source = Opening(configuration)
    with ExitStack() as stack:
        if pool:
            from crewtop.commands.pool import pool_worker, store_environment, store_flags

            stack.enter_context(
                pool_worker(configuration, pool, store_flags(configuration), store_environment(configuration))
            )
        options = ScreenOptions(
            theme=settings.screen.theme,
            theme_folder=theme_folder(),
            interval=settings.screen.interval_seconds,
            ascii=ascii_only,
            read_only=read_only,
        )

        async def background() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(source.keep())
                if beside is not None:
                    group.create_task(_forever(beside))

        return run_screen(source, options, background=background)


async def _forever(beside: Callable[[], Awaitable[None]]) -> None:
    await beside()


def theme_folder() -> Path:
    """Where a user's own themes are looked for."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "crewtop" / "themes"


class Opening:
    """The monitor before and after it is there: until the stores are open every read says why not."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._monitor: Monitor | None = None
        self._why = "opening the database"

    async def keep(self) -> None:
        """Open the stores, again and again until it works, and keep them open until cancelled."""
        from crewtop.monitor.monitor import Monitor
        from crewtop.stores import stores

        settings = self._configuration.settings
        while True:
            try:
                async with stores(
                    settings,
                    "crewtop screen",
                    connections=SCREEN_CONNECTIONS,
                    timeout=SCREEN_TIMEOUT_SECONDS,
                    prepared=False,
                ) as opened:
                    self._monitor = Monitor(opened, settings.screen.no_progress_seconds)
                    await asyncio.Event().wait()
            except CrewtopError as error:
                self._why = str(error)
                await asyncio.sleep(OPEN_RETRY_SECONDS)
            finally:
                self._monitor = None

    @property
    def _open(self) -> Monitor:
        if self._monitor is None:
            raise Unavailable(self._why)
        return self._monitor

    async def snapshot(self) -> Snapshot:
        """As Monitor.snapshot."""
        return await self._open.snapshot()

    async def tasks(self, task_filter: TaskFilter, sort: str, limit: int) -> TaskPage:
        """As Monitor.tasks."""
        return await self._open.tasks(task_filter, sort, limit)

    async def detail(self, task_id: int) -> TaskDetail | None:
        """As Monitor.detail."""
        return await self._open.detail(task_id)

    async def body(self, task_id: int, run_id: int | None, body: Body, limit: int) -> Excerpt:
        """As Monitor.body."""
        return await self._open.body(task_id, run_id, body, limit)

    def log(self, run_id: int) -> AsyncIterator[LogLines]:
        """As Monitor.log."""
        return self._open.log(run_id)

    async def act(self, action: Action, targets: Sequence[Target], reason: str | None) -> OperationResult:
        """As Monitor.act."""
        return await self._open.act(action, targets, reason)

    async def set_slots(self, worker_id: str, slots: int) -> None:
        """As Monitor.set_slots."""
        await self._open.set_slots(worker_id, slots)

    async def drain(self, worker_id: str) -> None:
        """As Monitor.drain."""
        await self._open.drain(worker_id)
