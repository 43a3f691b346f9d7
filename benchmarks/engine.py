"""The queue's statements against bare SQL on the same server: what history, runs, fence and counters cost."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

from benchmarks.servers import fresh_servers, table
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Finish, NewTask, RunOutcome, portion
from crewtop.store import housekeeping, lease, producer
from crewtop.store.database import Database

TASKS = 10_000
ROUNDS = 3
BARE = """
DROP TABLE IF EXISTS bare;
CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text, status text, inputs json);
CREATE INDEX bare_ready ON bare (queue, id) WHERE status = 'pending';
"""
BARE_CLAIM = """
UPDATE bare SET status = 'running' WHERE id = ANY (ARRAY(
    SELECT id FROM bare WHERE queue = 'q' AND status = 'pending' ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
RETURNING id
"""


def main() -> None:
    """Print tasks a second, median of three rounds, for ours and for a bare table with an index."""
    with fresh_servers() as servers:
        asyncio.run(_compare(servers.dsn))


async def _compare(dsn: str) -> None:
    async with Database(dsn, application_name="crewtop benchmark", connections=2, timeout=120) as database:
        rows: list[tuple[str, ...]] = [("what", "crewtop, tasks/s", "bare table, tasks/s", "ratio")]
        ours, bare = await _rounds(_enqueue, database), await _rounds(_bare_enqueue, database)
        rows.append(("enqueue, batches of 1,000", f"{ours:,.0f}", f"{bare:,.0f}", f"{ours / bare:.2f}"))
        for batch in (100, 10):
            ours = await _rounds(lambda d, b=batch: _drain(d, b), database)
            bare = await _rounds(lambda d, b=batch: _bare_drain(d, b), database)
            rows.append((f"claim and finish, batches of {batch}", f"{ours:,.0f}", f"{bare:,.0f}", f"{ours / bare:.2f}"))
        table("Engine: crewtop keeps runs, history, fence, counters and rollups; the bare table keeps a status", rows)


async def _rounds(work: Callable[[Database], Awaitable[float]], database: Database) -> float:
    return statistics.median([await work(database) for _ in range(ROUNDS)])


async def _enqueue(database: Database) -> float:
    batch = [NewTask("noop", '{"n": 1}', queue="q")] * 1_000
    start = time.perf_counter()
    for _ in range(TASKS // 1_000):
        await producer.enqueue(database, [portion(batch)])
    return TASKS / (time.perf_counter() - start)


async def _drain(database: Database, batch: int) -> float:
    await _enqueue(database)
    await housekeeping.fold(database)
    start, done = time.perf_counter(), 0
    while done < TASKS:
        claims = await lease.claim(database, "w", ["q"], ["noop"], batch, 30)
        reports = [Finish(c.run_id, c.task_id, RunOutcome.COMPLETED, 0.01, result="1") for c in claims]
        await lease.finish(database, "w", reports, SERVICE_LEVELS_SECONDS)
        done += len(claims)
    return TASKS / (time.perf_counter() - start)


async def _bare_enqueue(database: Database) -> float:
    async with database.connection() as connection:
        await connection.execute(BARE)
        start = time.perf_counter()
        for _ in range(TASKS // 1_000):
            await connection.execute(
                "INSERT INTO bare (queue, status, inputs) SELECT 'q', 'pending', unnest($1::text[])::json",
                ['{"n": 1}'] * 1_000,
            )
        return TASKS / (time.perf_counter() - start)


async def _bare_drain(database: Database, batch: int) -> float:
    await _bare_enqueue(database)
    async with database.connection() as connection:
        start, done = time.perf_counter(), 0
        while done < TASKS:
            ids = [row["id"] for row in await connection.fetch(BARE_CLAIM, batch)]
            await connection.execute("UPDATE bare SET status = 'completed' WHERE id = ANY ($1)", ids)
            done += len(ids)
        return TASKS / (time.perf_counter() - start)


if __name__ == "__main__":
    main()
