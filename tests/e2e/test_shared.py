"""Many runs in one process (--crews-per-process): what is told apart, and who pays when the process is killed."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from crewtop.model.task import TaskStatus
from crewtop.queue import Task, TaskCancelled, TaskFailed
from tests.e2e.conftest import Site
from tests.store.helpers import counters_are_true, history_is_gapless

SHARED = ("--slots", "8", "--crews-per-process", "8")


async def waiting(site: Site, number: int) -> list[int]:
    """Put in so many tasks that wait for the gate."""
    tasks = [Task("wait", {"folder": str(site.folder), "n": n}) for n in range(number)]
    return list(await site.queue.enqueue_many(tasks))


async def began(site: Site, number: int, times: int = 1) -> set[str]:
    """Wait until each of the tasks has begun so often; answers the pids of the processes."""

    async def all_begun() -> list[str]:
        files = sorted(site.folder.glob("began-*"))
        pids = [file.read_text().split() for file in files]
        complete = len(files) == number and all(len(lines) >= times for lines in pids)
        return [pid for lines in pids for pid in lines] if complete else []

    return set(await site.until(all_begun))


def open_gate(site: Site) -> None:
    (site.folder / "open").touch()


async def test_eight_coroutines_share_a_process_and_return_and_print_each_their_own(site: Site) -> None:
    site.worker(*SHARED)
    ids = await waiting(site, 8)
    assert len(await began(site, 8)) == 1
    open_gate(site)
    assert [await site.queue.result(task_id, timeout=60) for task_id in ids] == list(range(8))
    for n, task_id in enumerate(ids):
        assert await site.sql("SELECT log_tail FROM crewtop.runs WHERE task_id = $1", task_id) == f"number {n} waits"


async def test_a_cancelled_coroutine_ends_alone(site: Site) -> None:
    site.worker(*SHARED)
    ids = await waiting(site, 3)
    [pid] = await began(site, 3)
    assert await site.queue.cancel(ids[1])
    with pytest.raises(TaskCancelled):
        await site.queue.result(ids[1], timeout=60)
    open_gate(site)
    assert await site.queue.result(ids[0], timeout=60) == 0
    assert await began(site, 3) == {pid}
    assert await site.sql("SELECT count(*) FROM crewtop.runs") == 3


async def test_killing_one_that_is_deaf_takes_its_neighbours_back_without_an_attempt(site: Site) -> None:
    site.worker(*SHARED)
    ids = await waiting(site, 3)
    await began(site, 3)
    deaf = await site.queue.enqueue("deaf", {"folder": str(site.folder)}, max_attempts=1, budget=timedelta(seconds=1))
    with pytest.raises(TaskFailed, match="over its budget of 1 s"):
        await site.queue.result(deaf, timeout=60)
    assert len(await began(site, 3, times=2)) == 2
    open_gate(site)
    assert [await site.queue.result(task_id, timeout=60) for task_id in ids] == [0, 1, 2]
    assert await site.sql("SELECT count(*) FROM crewtop.runs WHERE outcome = 'returned'") == 3
    assert await site.sql("SELECT sum(failed_runs + crashed_runs) FROM crewtop.tasks WHERE crew = 'wait'") == 0
    await counters_are_true(site.database)
    await history_is_gapless(site.database)


async def test_what_dies_with_its_process_runs_alone_until_the_guilty_one_is_found(site: Site) -> None:
    site.worker(*SHARED)
    ids = await waiting(site, 2)
    await began(site, 2)
    guilty = await site.queue.enqueue("die_shared", {"folder": str(site.folder)})
    with pytest.raises(TaskFailed, match=r"killed by signal 9 \(SIGKILL\)"):
        await site.queue.result(guilty, timeout=60)
    assert len(await began(site, 2, times=2)) == 3
    open_gate(site)
    assert [await site.queue.result(task_id, timeout=60) for task_id in ids] == [0, 1]
    crashes = await site.sql("SELECT array_agg(crashed_runs ORDER BY id) FROM crewtop.tasks")
    assert crashes == [1, 1, 3]
    assert await site.sql("SELECT sum(failed_runs) FROM crewtop.tasks") == 0


async def test_a_drain_hands_back_what_shares_a_process_and_says_how_long_it_waits(site: Site) -> None:
    """Case C18."""
    worker = site.worker(*SHARED, CREWTOP_WORKER__GRACE_SECONDS="60")
    ids = await waiting(site, 4)
    await began(site, 4)
    worker.terminate()
    await site.until("drain_ends_at > now() + interval '20 s' FROM crewtop.workers")
    worker.terminate()
    assert await asyncio.to_thread(worker.wait, 60) == 0
    assert {await site.queue.status(task_id) for task_id in ids} == {TaskStatus.PENDING}
    assert await site.sql("SELECT sum(interrupted_runs) FROM crewtop.tasks") == 4
    assert await site.sql("SELECT sum(failed_runs) FROM crewtop.tasks") == 0


async def test_a_thousand_coroutines_run_each_exactly_once(site: Site) -> None:
    await site.queue.enqueue_many([Task("mark", {"n": n}) for n in range(1_000)])
    worker = site.worker("--slots", "100", "--crews-per-process", "50", "--burst")
    assert await asyncio.to_thread(worker.wait, 60) == 0
    assert sorted(map(int, Path(site.env["MARKS"]).read_text().split())) == list(range(1_000))
    await counters_are_true(site.database)
    await history_is_gapless(site.database)


async def test_a_run_that_makes_no_progress_is_ended_where_that_is_wanted(site: Site) -> None:
    """Case C19: the progress clock. Only what tells of progress is judged by it: a plain function never is."""
    site.worker("--slots", "2", CREWTOP_WORKER__NO_PROGRESS_SECONDS="1")
    stalled = await site.queue.enqueue("stalls", max_attempts=1)
    waits = (await waiting(site, 1))[0]
    with pytest.raises(TaskFailed, match=r"no progress for 1 s in loading the crew"):
        await site.queue.result(stalled, timeout=60)
    open_gate(site)
    assert await site.queue.result(waits, timeout=60) == 0
    assert await site.sql("SELECT outcome FROM crewtop.runs WHERE task_id = $1", stalled) == "stalled"


async def test_what_was_claimed_ahead_of_slow_runs_goes_back_to_the_queue(site: Site) -> None:
    await site.queue.enqueue_many([Task("mark", {"n": n}) for n in range(200)])
    ids = await waiting(site, 12)
    site.worker("--slots", "4", "--crews-per-process", "4")
    await began(site, 4)
    await site.until("count(*) = 4 FROM crewtop.tasks WHERE crew = 'wait' AND status = 'running'")
    open_gate(site)
    assert [await site.queue.result(task_id, timeout=60) for task_id in ids] == list(range(12))
    assert await site.sql("SELECT sum(failed_runs + crashed_runs + interrupted_runs) FROM crewtop.tasks") == 0
