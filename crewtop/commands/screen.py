"""`crewtop`: the screen on the configured stores, which are opened while it already shows."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from crewtop.commands.style import Style, first_run, first_run_marker, keys_file, theme_folder
from crewtop.model.errors import CrewtopError, Unavailable

if TYPE_CHECKING:
    from crewtop.config import Configuration
    from crewtop.monitor.monitor import Monitor
    from crewtop.stores import Stores

SCREEN_CONNECTIONS = 3
SCREEN_TIMEOUT_SECONDS = 2.0
OPEN_RETRY_SECONDS = 2.0


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
    from crewtop.tui.app import HUNG_UP, run_screen
    from crewtop.tui.options import ScreenOptions
    from crewtop.tui.theme import DEFAULT, PRODUCTION

    source = Opening(load)
    with ExitStack() as stack:
        worker_id, finish = None, None
        if pool:
            from crewtop.commands.pool import pool_worker, store_environment, store_flags
            from crewtop.worker.identity import worker_id_of

            configuration = load()
            worker = stack.enter_context(
                pool_worker(configuration, pool, store_flags(configuration), store_environment(configuration))
            )
            worker_id = worker_id_of(worker.process.pid)
            finish = worker.leave if configuration.settings.screen.on_hangup == "finish" else None
        options = ScreenOptions(
            theme=style.theme or DEFAULT,
            theme_folder=theme_folder(),
            interval=style.interval or 1.0,
            ascii=style.ascii,
            colour=style.colour,
            read_only=style.read_only,
            title=style.title,
            pool_worker=worker_id,
            utc=style.utc,
            keys_file=keys_file(),
            mouse=style.mouse,
            bell=style.bell,
            columns=style.columns,
            production=style.production,
            production_theme=style.production_theme or PRODUCTION,
            first_run=first_run(first_run_marker()),
            views=style.views,
        )

        async def background() -> None:
            gc.enable()
            gc.freeze()
            async with asyncio.TaskGroup() as group:
                group.create_task(source.keep())
                if beside is not None:
                    group.create_task(beside())

        try:
            code = run_screen(source.reach, options, background=background)
        except SystemExit as left:  # a signal
            code = int(left.code or 0)
        if code == HUNG_UP and finish is not None:
            finish()
        return code


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

    def reach(self) -> Monitor:
        """The monitor. Raises Unavailable, with the reason, while the stores are not open."""
        if self._monitor is None:
            raise Unavailable(self._why)
        return self._monitor
