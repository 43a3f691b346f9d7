"""Where a task stands, through the state cache and from Postgres, in one run; and how soon a change shows.

Limits: at least 5 times faster, also while Postgres is busy; a change within 5 ms p95.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from benchmarks.servers import fresh_servers, table
from crewtop.embedded import Servers
from crewtop.live.fast_lane import FastLane
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Finish, NewTask, RunOutcome, TaskStatus, portion
from crewtop.queue import Queue
from crewtop.store import housekeeping, lease, producer
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from crewtop.worker.telling import Telling

POLLERS = 50
CALLS = 2_000
ROUNDS = 5
DRAINERS = 2
DRAIN_BATCH = 100
CHANGES = 400
RATIO_LIMIT = 5.0
VISIBLE_LIMIT_SECONDS = 0.005


def main() -> None:
    """Print milliseconds a call, median of five rounds in turn, and how long changes take to show."""
    with fresh_servers() as servers:
        asyncio.run(_measure(servers))


async def _measure(servers: Servers) -> None:
    async with (
        Database(servers.dsn, application_name="crewtop benchmark", connections=4) as database,
        FastLane(servers.redis_url, whose=lambda: database.identity) as live,
    ):
        queue = Queue(Stores(database, live, Addresses("", None, "", embedded=False)), 1_000)
        ids = await producer.enqueue(database, [portion([NewTask("polled", "{}", queue="polled")] * POLLERS)])
        rows: list[tuple[str, ...]] = [
            ("pollers", "Postgres is", "from Postgres, ms", "from the cache, ms", "ratio", "")
        ]
        rows += [await _compared(database, queue, ids[:pollers], "idle") for pollers in (1, POLLERS)]
        with _draining(servers.dsn):
            await asyncio.sleep(2)
            rows += [await _compared(database, queue, ids[:pollers], "draining") for pollers in (1, POLLERS)]
        table(f"A poller's status(), median of {ROUNDS} rounds of {CALLS:,} calls in one process", rows)
        await _visible(database, live, queue)


async def _compared(database: Database, queue: Queue, ids: list[int], postgres: str) -> tuple[str, ...]:
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(await _a_call(lambda task_id: producer.status(database, task_id), ids))
        ours.append(await _a_call(queue.status, ids))
    truth, cache = statistics.median(theirs), statistics.median(ours)
    verdict = _verdict(truth / cache >= RATIO_LIMIT, f"at least {RATIO_LIMIT:g}")
    return str(len(ids)), postgres, f"{truth * 1_000:.2f}", f"{cache * 1_000:.3f}", f"{truth / cache:.1f}", verdict


async def _a_call(ask: Callable[[int], Awaitable[object]], ids: list[int]) -> float:
    """Seconds that a call takes whoever makes it, in the median, while all poll as fast as they can."""
    took: list[float] = []

    async def poll(task_id: int) -> None:
        for _ in range(CALLS // len(ids)):
            start = time.perf_counter()
            await ask(task_id)
            took.append(time.perf_counter() - start)

    await asyncio.gather(*map(poll, ids))
    return statistics.median(took)


async def _visible(database: Database, live: FastLane, queue: Queue) -> None:
    """From the answer to the statement that commits an end to the poller's answer, or to that of result()."""
    telling = Telling(live, "w")
    keeper = asyncio.create_task(telling.run_states())
    rows: list[tuple[str, ...]] = [("what", "p50, ms", "p95, ms", "p99, ms", "")]
    for what, see in (("status() every millisecond", _polled), ("result() that waits", _awaited)):
        took = [await _end(database, telling, lambda task_id, see=see: see(queue, task_id)) for _ in range(CHANGES)]
        at = statistics.quantiles(took, n=100)
        verdict = _verdict(at[94] <= VISIBLE_LIMIT_SECONDS, f"p95 at most {VISIBLE_LIMIT_SECONDS * 1_000:g} ms")
        rows.append((what, *(f"{at[rank - 1] * 1_000:.2f}" for rank in (50, 95, 99)), verdict))
    keeper.cancel()
    table(f"How long after its commit an end shows, of {CHANGES} ends", rows)


async def _end(database: Database, telling: Telling, see: Callable[[int], Awaitable[float]]) -> float:
    """Seconds from the commit of a task's end until it was seen."""
    [task_id] = await producer.enqueue(database, [portion([NewTask("seen", "{}", queue="seen")])])
    [claim] = claims = await lease.claim(database, "w", ["seen"], ["seen"], 1, 30)
    telling.claimed(claims)
    seen = asyncio.ensure_future(see(task_id))
    await asyncio.sleep(0.1)  # result() has begun to listen
    report = Finish(claim.run_id, task_id, RunOutcome.COMPLETED, 0.01, result="1")
    ended = await lease.finish(database, "w", [report], SERVICE_LEVELS_SECONDS)
    committed = time.perf_counter()
    telling.ended(ended, {report.run_id: (report, False)})
    return max(0.0, await seen - committed)


async def _polled(queue: Queue, task_id: int) -> float:
    while True:
        if await queue.status(task_id) is TaskStatus.COMPLETED:
            return time.perf_counter()
        await asyncio.sleep(0.001)


async def _awaited(queue: Queue, task_id: int) -> float:
    await queue.result(task_id)
    return time.perf_counter()


@contextmanager
def _draining(dsn: str) -> Iterator[None]:
    """Processes that enqueue, claim and finish as fast as they can."""
    spawn = multiprocessing.get_context("spawn")
    drainers = [spawn.Process(target=_drain, args=(dsn, f"q{n}"), daemon=True) for n in range(DRAINERS)]
    for drainer in drainers:
        drainer.start()
    try:
        yield
    finally:
        for drainer in drainers:
            drainer.terminate()
            drainer.join()


def _drain(dsn: str, name: str) -> None:
    asyncio.run(_drain_for_ever(dsn, name))


async def _drain_for_ever(dsn: str, name: str) -> None:
    async with Database(dsn, application_name="crewtop benchmark", connections=1) as database:
        while True:
            await producer.enqueue(database, [portion([NewTask("noop", '{"n": 1}', queue=name)] * 1_000)])
            while claims := await lease.claim(database, name, [name], ["noop"], DRAIN_BATCH, 30):
                reports = [Finish(c.run_id, c.task_id, RunOutcome.COMPLETED, 0.01, result="1") for c in claims]
                await lease.finish(database, name, reports, SERVICE_LEVELS_SECONDS)
            await housekeeping.fold(database)


def _verdict(held: bool, limit: str) -> str:
    return f"{limit}: {'held' if held else 'MISSED'}"


if __name__ == "__main__":
    main()
