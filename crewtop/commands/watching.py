"""What `crewtop worker` does for alerts beside its runs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial

from crewtop.config import Settings
from crewtop.model.errors import CrewtopError
from crewtop.monitor.monitor import Monitor
from crewtop.monitor.watch import LOOK_SECONDS, Watch
from crewtop.store.database import Database
from crewtop.stores import Stores
from crewtop.worker.main import Beside
from crewtop.worker.upkeep import every

LOOK_TIMEOUT_SECONDS = 10.0


def watching(settings: Settings) -> Beside:
    """Judge alerts and deliver them, if no other worker does."""

    async def watch(opened: Stores, worker_id: str) -> None:
        # A connection of its own, which only the worker that judges opens: a slow look holds up no claim.
        own = Database(
            opened.addresses.dsn, application_name="crewtop alerts", connections=1, timeout=LOOK_TIMEOUT_SECONDS,
            prepared=False,
        )  # fmt: skip
        async with own as database:
            # The primary's word: a standby may lag behind what was just written here, and knows of no other standby.
            primary = replace(opened, database=database, replica=None)
            monitor = Monitor(primary, settings.screen.no_progress_seconds)
            watch = Watch(
                opened.database,
                worker_id,
                monitor.snapshot,
                settings.alerts.rows(),
                settings.alerts.deliver,
                settings.queue.service_levels_seconds,
            )
            try:
                await asyncio.gather(
                    every(LOOK_SECONDS, "judge alerts", watch.judge),
                    *(
                        every(LOOK_SECONDS, "deliver alerts", partial(watch.deliver, target), owed)
                        for target, owed in watch.owed.items()
                    ),
                )
            finally:
                with suppress(CrewtopError):
                    await watch.release()

    return watch
