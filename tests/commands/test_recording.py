"""What a worker keeps beside its work, whatever the disk does."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from pathlib import Path

import pytest

from crewtop.commands.recording import keep_rolling
from crewtop.config import RecordingSettings
from crewtop.live.fast_lane import FastLane
from crewtop.monitor.monitor import Monitor
from crewtop.recording.reader import files_of, open_recording
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores


async def test_a_disk_that_hangs_holds_up_no_heartbeat(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, goes_on, written = threading.Event(), threading.Event(), threading.Event()

    def slow(file: int, data: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{file}").startswith(str(tmp_path)):
            hangs.set()
            goes_on.wait(5)
            written.set()
        return write(file, data)

    write = os.write
    monkeypatch.setattr(os, "write", slow)
    opened = Stores(database, FastLane(None), Addresses("", None, "", embedded=False))
    keeping = asyncio.create_task(keep_rolling(Monitor(opened, 600), tmp_path, RecordingSettings()))
    async with asyncio.timeout(10):
        while not hangs.is_set():  # noqa: ASYNC110  another thread's doing
            await asyncio.sleep(0.01)
    assert not written.is_set()
    goes_on.set()
    keeping.cancel()
    await asyncio.wait([keeping], timeout=5)
    assert keeping.cancelled()
    assert open_recording(tmp_path).begin


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
