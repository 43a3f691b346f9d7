"""`crewtop`: the screen on the configured stores, which are opened while it already shows."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crewtop import toml
from crewtop.model.errors import CrewtopError, Unavailable
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Action, Matching, Operation, OperationResult, Order, Scope, Target
from crewtop.model.snapshot import Body, Excerpt, LogLines, Snapshot, TaskDetail, TaskPage

if TYPE_CHECKING:
    from crewtop.config import Configuration
    from crewtop.monitor.monitor import Monitor
    from crewtop.stores import Stores

DEFAULT_THEME = "crewtop-dark"
SCREEN_CONNECTIONS = 3
SCREEN_TIMEOUT_SECONDS = 2.0
OPEN_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Style:
    """How the screen is to look, as far as flags say: None is left to the settings. interval in seconds."""

    theme: str | None = None
    interval: float | None = None
    ascii: bool = False
    colour: Literal["auto", "16", "none"] = "auto"
    read_only: bool = False
    title: str = ""


def open_screen(
    load: Callable[[], Configuration],
    style: Style,
    *,
    pool: int = 0,
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> int:
    """Show the screen until it is quit; answers the exit code.

    load reads the settings, which takes longer than the first frame may: it is called while the screen already shows.
    pool: slots of a worker beside it, 0 for none; beside: something that runs while the screen does.
    """
    # Importing makes a great many objects and no garbage: without this the collector costs a tenth of the start.
    gc.disable()
    from crewtop.tui.app import run_screen
    from crewtop.tui.options import ScreenOptions

    source = Opening(load)
    with ExitStack() as stack:
        worker_id = None
        if pool:
            from crewtop.commands.pool import pool_worker, store_environment, store_flags
            from crewtop.worker.identity import worker_id_of

            configuration = load()
            worker = stack.enter_context(
                pool_worker(configuration, pool, store_flags(configuration), store_environment(configuration))
            )
            worker_id = worker_id_of(worker.process.pid)
        options = ScreenOptions(
            theme=style.theme or DEFAULT_THEME,
            theme_folder=theme_folder(),
            interval=style.interval or 1.0,
            ascii=style.ascii,
            colour=style.colour,
            read_only=style.read_only,
            title=style.title,
            pool_worker=worker_id,
        )

        async def background() -> None:
            gc.enable()
            gc.freeze()
            async with asyncio.TaskGroup() as group:
                group.create_task(source.keep())
                if beside is not None:
                    group.create_task(beside())

        return run_screen(source, options, background=background)


def styled(style: Style, file: Path | None) -> Style:
    """The style with what flags left open filled in from the environment and the file, at a first look.

    The settings check it properly later; a mistake in the file is shown then.
    """
    try:
        path = toml.find(file)
        table = toml.read(path).get("screen", {}) if path else {}
    except CrewtopError:
        table = {}
    theme = style.theme or os.environ.get("CREWTOP_SCREEN__THEME") or table.get("theme")
    interval = style.interval or table.get("interval_seconds")
    return replace(
        style,
        theme=theme if isinstance(theme, str) else None,
        interval=float(interval) if isinstance(interval, int | float) and 0.1 <= interval <= 60 else None,
    )


def theme_folder() -> Path:
    """Where a user's own themes are looked for."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "crewtop" / "themes"


def _machinery() -> tuple[type[Monitor], Callable[..., AbstractAsyncContextManager[Stores]]]:
    """What reads the stores, imported in a thread while the first frame already shows."""
    from crewtop.monitor.monitor import Monitor
    from crewtop.stores import stores

    return Monitor, stores


class Opening:
    """The monitor before and after it is there: until the stores are open every read says why not."""

    def __init__(self, load: Callable[[], Configuration]) -> None:
        self._load = load
        self._monitor: Monitor | None = None
        self._why = "opening the database"

    async def keep(self) -> None:
        """Read the settings and open the stores, again and again until it works, and keep them open until cancelled.

        So a mistake in crewtop.toml is shown, and gone as soon as it is mended.
        """
        monitor, open_stores = await asyncio.to_thread(_machinery)
        while True:
            try:
                settings = (await asyncio.to_thread(self._load)).settings
                async with open_stores(
                    settings,
                    "crewtop screen",
                    connections=SCREEN_CONNECTIONS,
                    timeout=SCREEN_TIMEOUT_SECONDS,
                    prepared=False,
                ) as opened:
                    screen = settings.screen
                    self._monitor = monitor(opened, screen.no_progress_seconds, timedelta(minutes=screen.undo_minutes))
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

    async def act(self, order: Order, targets: Sequence[Target]) -> OperationResult:
        """As Monitor.act."""
        return await self._open.act(order, targets)

    async def price(self, action: Action, matching: Matching) -> Scope:
        """As Monitor.price."""
        return await self._open.price(action, matching)

    def act_on_all(self, order: Order, matching: Matching) -> AsyncIterator[Operation]:
        """As Monitor.act_on_all."""
        return self._open.act_on_all(order, matching)

    def undo(self, operation_id: int) -> AsyncIterator[Operation]:
        """As Monitor.undo."""
        return self._open.undo(operation_id)

    async def refusals(self, operation_id: int) -> Mapping[str, int]:
        """As Monitor.refusals."""
        return await self._open.refusals(operation_id)

    async def pause_queue(self, queue: str, *, paused: bool) -> None:
        """As Monitor.pause_queue."""
        await self._open.pause_queue(queue, paused=paused)

    async def set_slots(self, worker_id: str, slots: int) -> None:
        """As Monitor.set_slots."""
        await self._open.set_slots(worker_id, slots)

    async def drain(self, worker_id: str) -> None:
        """As Monitor.drain."""
        await self._open.drain(worker_id)
