"""Retry 100,000 failed tasks at once while eight workers claim: how long it takes, and what the claims feel of it.

Limits: 10 s for the whole, and less than twice the claims' 95th percentile without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection

from benchmarks.servers import fresh_servers, table
from crewtop.live.fast_lane import FastLane
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Action, Matching, Order
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Finish, NewTask, RunOutcome, TaskStatus, portion
from crewtop.operations import act_on_all
from crewtop.store import lease, producer
from crewtop.store.database import Database

FAILED = 100_000
WORKERS = 8
CLAIM = 4
PACE_SECONDS = 0.05
"""Between a worker's claims: eight workers then claim 640 tasks a second, as those of busy crews do not."""

QUIET_SECONDS = 8.0
LIMIT_SECONDS = 10.0
LIMIT_RATIO = 2.0

FAIL_THEM = """
INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, finished_at, failed_runs, error)
SELECT 'old', 'gone', 3, 'failed', '{}', now(), 3, 'no money left' FROM generate_series(1, $1::integer)
"""


def main() -> None:
    """Print the table."""
    with fresh_servers() as servers:
        asyncio.run(_measure(servers.dsn))


async def _measure(dsn: str) -> None:
    async with Database(dsn, application_name="crewtop benchmark", connections=2, timeout=120) as database:
        await producer.enqueue(database, [portion([NewTask("noop", "{}", queue="q")] * 1_000)] * 60)
        async with database.connection() as connection:
            await connection.execute(FAIL_THEM, FAILED)
            await connection.execute("INSERT INTO crewtop.queues (name) VALUES ('old')")
            await connection.execute("VACUUM ANALYZE crewtop.tasks")
        ours, theirs = get_context("spawn").Pipe()
        workers = get_context("spawn").Process(target=_workers, args=(dsn, theirs), daemon=True)
        workers.start()
        await asyncio.to_thread(ours.recv)
        await asyncio.sleep(QUIET_SECONDS)
        ours.send("quiet")
        quiet: list[float] = await asyncio.to_thread(ours.recv)
        start = time.perf_counter()
        matching = Matching(TaskFilter(statuses=(TaskStatus.FAILED,), queues=("old",)), None)
        async with FastLane(None) as live:
            async for operation in act_on_all(database, live, Order(Action.RETRY), matching):
                done = operation.done
        seconds = time.perf_counter() - start
        ours.send("during")
        during: list[float] = await asyncio.to_thread(ours.recv)
        workers.terminate()
    before, meanwhile = _p95(quiet), _p95(during)
    table(
        f"Bulk retry of {done:,} failed tasks while {WORKERS} workers claim",
        [
            ("what", "figure", "of the limit"),
            ("the whole retry", f"{seconds:.1f} s", f"{seconds / LIMIT_SECONDS:.2f}"),
            (f"a claim before, p95 of {len(quiet)}", f"{before * 1e3:.1f} ms", ""),
            (
                f"a claim meanwhile, p95 of {len(during)}",
                f"{meanwhile * 1e3:.1f} ms",
                f"{meanwhile / before / LIMIT_RATIO:.2f}",
            ),
        ],
    )  # fmt: skip


def _p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


def _workers(dsn: str, pipe: Connection) -> None:
    asyncio.run(_claim_for_ever(dsn, pipe))


async def _claim_for_ever(dsn: str, pipe: Connection) -> None:
    """Eight workers in a process of their own; whenever asked, the seconds of the claims since the last time."""
    seconds: list[float] = []
    async with Database(dsn, application_name="crewtop benchmark", connections=WORKERS) as database:

        async def work(name: str) -> None:
            while True:
                start = time.perf_counter()
                claims = await lease.claim(database, name, ["q"], ["noop"], CLAIM, 30)
                seconds.append(time.perf_counter() - start)
                reports = [Finish(c.run_id, c.task_id, RunOutcome.COMPLETED, 0.01, result="1") for c in claims]
                await lease.finish(database, name, reports, SERVICE_LEVELS_SECONDS)
                await asyncio.sleep(PACE_SECONDS)

        tasks = [asyncio.create_task(work(f"w{n}")) for n in range(WORKERS)]
        await asyncio.sleep(2)
        seconds.clear()
        pipe.send("ready")
        with contextlib.suppress(EOFError):
            while await asyncio.to_thread(pipe.recv):
                pipe.send(list(seconds))
                seconds.clear()
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    main()
