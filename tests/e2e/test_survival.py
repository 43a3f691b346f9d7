"""What is killed, flushed or cut off loses nothing and doubles nothing."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg
import psutil
import pytest
from redis.asyncio import Redis

from crewtop.model.task import SERVICE_LEVELS_SECONDS, Finish, RunOutcome, TaskStatus
from crewtop.queue import Task
from crewtop.store import lease
from tests.e2e.conftest import Site
from tests.shared_redis import hang_up_on_the_others
from tests.store.helpers import counters_are_true, history_is_gapless


async def test_a_killed_executor_costs_its_neighbours_nothing(site: Site) -> None:
    site.worker("--slots", "3")
    folders = []
    ids = []
    for name in ("killed", "neighbour"):
        folder = site.folder / name
        folder.mkdir()
        folders.append(folder)
        ids.append(await site.queue.enqueue("gate", {"folder": str(folder)}))
    [victim] = await site.until_started(folders[0])
    [neighbour] = await site.until_started(folders[1])
    os.kill(victim, signal.SIGKILL)
    await site.until_started(folders[0], 2)
    assert psutil.pid_exists(neighbour)
    for folder in folders:
        (folder / "open").touch()
    assert await site.queue.result(ids[0], timeout=60) == "through after 2 runs"
    assert await site.queue.result(ids[1], timeout=60) == "through after 1 runs"
    assert await site.sql("SELECT failed_runs FROM crewtop.tasks WHERE id = $1", ids[0]) == 0
    await history_is_gapless(site.database)


async def test_a_killed_worker_is_survived_and_its_late_write_changes_nothing(site: Site) -> None:
    """Case C16: within one lease another worker has the tasks; the dead one's processes are gone with it."""
    dead = site.worker("--slots", "4")
    folder = site.folder / "gate"
    folder.mkdir()
    ids = [await site.queue.enqueue("gate", {"folder": str(folder)}) for _ in range(4)]
    pids = await site.until_started(folder, 4)
    lost = await site.sql("SELECT array_agg(run_id ORDER BY id) FROM crewtop.tasks")
    dead.send_signal(signal.SIGKILL)
    dead.wait()
    await site.until(_all_gone(pids))
    (folder / "open").touch()
    site.worker("--slots", "4")
    await site.until_ended()
    assert {await site.queue.status(task_id) for task_id in ids} == {TaskStatus.COMPLETED}
    before = await site.sql("SELECT json_agg(t ORDER BY id)::text FROM crewtop.tasks AS t")
    reports = [
        Finish(run_id, task_id, RunOutcome.COMPLETED, 1.0, result='"late"')
        for task_id, run_id in zip(ids, lost, strict=True)
    ]
    ended = await lease.finish(site.database, "the dead one", reports, SERVICE_LEVELS_SECONDS)
    assert not any(item.accepted for item in ended)
    assert await site.sql("SELECT json_agg(t ORDER BY id)::text FROM crewtop.tasks AS t") == before
    assert await site.sql("SELECT count(*) FROM crewtop.runs WHERE late AND outcome = 'lost'") == 4
    await counters_are_true(site.database)
    await history_is_gapless(site.database)


async def test_a_killed_zygote_is_replaced_and_its_runs_run_again(site: Site) -> None:
    worker = site.worker("--slots", "2")
    folder = site.folder / "gate"
    folder.mkdir()
    task_id = await site.queue.enqueue("gate", {"folder": str(folder)})
    [pid] = await site.until_started(folder)
    [zygote] = [p for p in psutil.Process(worker.pid).children() if pid in {c.pid for c in p.children()}]
    zygote.kill()
    await site.until_started(folder, 2)
    await site.until(_all_gone([pid]))
    (folder / "open").touch()
    assert await site.queue.result(task_id, timeout=60) == "through after 2 runs"
    assert await site.sql("SELECT failed_runs FROM crewtop.tasks") == 0


async def test_an_operators_failing_kills_the_process_at_once(site: Site) -> None:
    site.worker()
    folder = site.folder / "gate"
    folder.mkdir()
    task_id = await site.queue.enqueue("gate", {"folder": str(folder)})
    [pid] = await site.until_started(folder)
    code, out, _ = await site.crewtop("fail", str(task_id), "--reason", "runs away", "--yes")
    assert (code, out) == (0, f"{task_id}: failed\n")
    await site.until(_all_gone([pid]))
    assert await site.queue.status(task_id) is TaskStatus.FAILED
    await site.until("outcome = 'superseded' AND late FROM crewtop.runs")


@pytest.mark.xdist_group("heavy")
async def test_each_of_five_thousand_tasks_on_two_workers_runs_exactly_once(site: Site) -> None:
    await site.queue.enqueue_many(_marks(range(5_000)))
    for _ in range(2):
        site.worker("--slots", "16", "--crews-per-process", "16", "--burst")
    await site.until("NOT EXISTS (SELECT FROM crewtop.tasks WHERE finished_at IS NULL)", patience=400)
    marks = Counter(map(int, Path(site.env["MARKS"]).read_text().split()))
    assert marks == Counter(range(5_000))
    assert await site.sql("SELECT count(*) FROM crewtop.runs WHERE outcome = 'completed'") == 5_000
    workers = await site.sql("SELECT count(DISTINCT worker_id) FROM crewtop.runs")
    assert workers == 2
    await counters_are_true(site.database)


async def test_a_flushed_and_a_missing_redis_lose_and_double_nothing(site: Site, redis_url: str) -> None:
    """Case C13: queued work goes on by polling, and the screen says what is down."""
    gone = f"unix://{site.folder}/no.sock"
    site.worker("--slots", "4")
    site.worker("--slots", "4", CREWTOP_REDIS=gone)
    await site.queue.enqueue_many(_marks(range(100)))
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        for _ in range(5):
            await client.flushdb()
            await hang_up_on_the_others(client)
    await site.queue.enqueue_many(_marks(range(100, 200)))
    await site.until_ended()
    assert Counter(map(int, Path(site.env["MARKS"]).read_text().split())) == Counter(range(200))
    code, out, _ = await site.crewtop("--redis", gone, "snapshot")
    assert code == 0
    assert "redis down" in out
    assert "2 workers" in out


async def test_cut_connections_lose_and_double_nothing(site: Site, dsn: str) -> None:
    """Case C14: results are kept in memory until the database takes them."""
    site.worker("--slots", "4")
    await site.queue.enqueue_many(_marks(range(200)))
    control = await asyncpg.connect(dsn)
    try:
        for _ in range(6):
            await site.until("count(*) > $1 FROM crewtop.tasks WHERE status = 'completed'", 10)
            await control.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name LIKE 'crewtop worker%' AND datname = current_database()"  # the server is shared
            )
        await site.until_ended()
    finally:
        await control.close()
    assert Counter(map(int, Path(site.env["MARKS"]).read_text().split())) == Counter(range(200))
    await counters_are_true(site.database)
    await history_is_gapless(site.database)


async def test_an_unreachable_database_is_one_line_and_exit_code_two(site: Site) -> None:
    code, out, err = await site.crewtop("--postgres", "postgresql://nobody@127.0.0.1:9/none", "tasks")
    assert (code, out) == (2, "")
    assert err.startswith("crewtop: postgres: ")
    assert err.count("\n") == 1


def _marks(numbers: range) -> list[Task]:
    return [Task("mark", {"n": n}) for n in numbers]


def _all_gone(pids: list[int]) -> Callable[[], Awaitable[bool]]:
    async def gone() -> bool:
        return not any(psutil.pid_exists(pid) for pid in pids)

    return gone
