"""What an operator orders of a worker, and what a worker says of itself."""

from __future__ import annotations

import asyncio

import pytest

from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import Unavailable
from crewtop.model.task import TaskStatus
from crewtop.monitor.monitor import Monitor
from crewtop.stores import Addresses, Stores
from tests.e2e.conftest import Site
from tests.store.helpers import counters_are_true, history_is_gapless


@pytest.fixture
def monitor(site: Site, live: FastLane) -> Monitor:
    return Monitor(Stores(site.database, live, Addresses("", None, "", embedded=False)), no_progress_seconds=60)


@pytest.mark.parametrize("flags", [(), ("--crews-per-process", "4")])
async def test_a_killed_worker_gives_back_what_it_runs_and_ends(
    site: Site, monitor: Monitor, flags: tuple[str, ...]
) -> None:
    worker = site.worker("--slots", "2", *flags)
    ids = [await site.queue.enqueue("gate", {"folder": str(site.folder)}) for _ in range(3)]
    await site.until("count(*) = 2 FROM crewtop.tasks WHERE status = 'running'")
    await site.until("count(*) = 2 FROM crewtop.runs WHERE activity IS NOT NULL")
    [row] = (await monitor.snapshot()).workers
    await monitor.drain(row.id)  # it would wait for its runs for ever
    await monitor.kill(row.id)
    assert await asyncio.to_thread(worker.wait, 60) == 0
    assert [await site.queue.status(task_id) for task_id in ids] == [TaskStatus.PENDING] * 3
    assert await site.sql("SELECT sum(failed_runs) = 0 AND sum(interrupted_runs) = 2 FROM crewtop.tasks")
    with pytest.raises(Unavailable, match="has ended"):
        await monitor.kill(row.id)
    await counters_are_true(site.database)
    await history_is_gapless(site.database)


async def test_a_worker_says_how_far_its_clock_is_from_the_databases(site: Site, monitor: Monitor) -> None:
    site.worker()
    await site.until("EXISTS (SELECT FROM crewtop.workers WHERE clock_offset_seconds IS NOT NULL)")
    [row] = (await monitor.snapshot()).workers
    assert row.clock_offset is not None
    assert abs(row.clock_offset) <= 0.5, "half of the longest round trip that is believed"
