"""What a worker keeps beside its work, whatever the disk does."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

from crewtop.commands.recording import keep_rolling
from crewtop.config import RecordingSettings
from crewtop.live.fast_lane import FastLane
from crewtop.monitor.monitor import Monitor
from crewtop.recording.reader import files_of
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores


async def test_a_full_disk_does_not_keep_a_worker_from_ending(database: Database, tmp_path: Path) -> None:
    opened = Stores(database, FastLane(None), Addresses("", None, "", embedded=False))
    keeping = asyncio.create_task(keep_rolling(Monitor(opened, 600), tmp_path, RecordingSettings()))
    async with asyncio.timeout(10):
        while not (files := files_of(tmp_path)) or files[0].stat().st_size < 500:  # noqa: ASYNC110  another's doing
            await asyncio.sleep(0.01)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (files[0].stat().st_size, limits[1]))
    try:
        keeping.cancel()
        await asyncio.wait([keeping], timeout=5)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert keeping.cancelled()
