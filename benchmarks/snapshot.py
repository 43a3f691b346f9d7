"""Database time of the screen's statement at 10 thousand, 1 million and 10 million tasks, GROUP BY status beside it.

`python -m benchmarks.snapshot 10000 1000000` takes these sizes alone. Limits: the largest at most 1.3 times the
smallest, and each under 10 ms, p50 of 30.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from collections.abc import Sequence

import asyncpg

from benchmarks.servers import fresh_servers, table
from crewtop.model.task import NewTask, portion
from crewtop.store import housekeeping, lease, producer
from crewtop.store.console import COUNTED_DUE
from crewtop.store.database import Database, statement

SIZES = (10_000, 1_000_000, 10_000_000)
TIMES = 30
PORTION = 500_000
RUNNING = 64
RATIO_LIMIT = 1.3
LIMIT_MILLISECONDS = 10.0
GROUP_BY = "SELECT status, count(*) FROM crewtop.tasks GROUP BY status"

# Of a hundred tasks two are ready and two have failed: a backlog grows with the table. What is put off does not.
FILL = """
INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, run_at, finished_at)
SELECT 'queue' || n % 5, 'crew' || n % 7, n % 4 + 1,
       CASE n % 100 WHEN 0 THEN 'pending' WHEN 1 THEN 'pending' WHEN 2 THEN 'failed'
                    WHEN 3 THEN 'failed' ELSE 'completed' END,
       '{"order": "A-1"}', now(), CASE WHEN n % 100 > 1 THEN now() END
FROM generate_series($1::bigint, $2::bigint) AS n
"""
PUT_OFF = """
INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, run_at)
SELECT 'queue' || n % 5, 'crew' || n % 7, 3, CASE n % 2 WHEN 0 THEN 'pending' ELSE 'retry' END, '{}',
       now() + interval '1 hour'
FROM generate_series(1, 1000) AS n
"""


def main() -> None:
    """Print the table."""
    sizes = [int(word) for word in sys.argv[1:]] or SIZES
    rows: list[tuple[str, ...]] = [("tasks", "snapshot, ms", "to the smallest", "GROUP BY status, ms", "")]
    first = 0.0
    for size in sorted(sizes):
        with fresh_servers() as servers:
            ours, theirs = asyncio.run(_measure(servers.dsn, size))
        first = first or ours
        held = ours < LIMIT_MILLISECONDS and ours / first <= RATIO_LIMIT
        verdict = f"under {LIMIT_MILLISECONDS:g} ms, at most {RATIO_LIMIT:g} times: {'held' if held else 'MISSED'}"
        rows.append((f"{size:,}", f"{ours:.2f}", f"{ours / first:.2f}", f"{theirs:.1f}", verdict))
    table(f"The snapshot's statement: planning and execution in the database, p50 of {TIMES}", rows)


async def _measure(dsn: str, size: int) -> tuple[float, float]:
    async with Database(
        dsn, application_name="crewtop benchmark", connections=1, timeout=900, prepared=False
    ) as database:
        async with database.connection() as connection:
            await connection.execute(
                "INSERT INTO crewtop.queues (name) SELECT 'queue' || n FROM generate_series(0, 4) AS n"
            )
            for start in range(0, size, PORTION):
                await connection.execute(FILL, start, min(start + PORTION, size) - 1)
            await connection.execute(PUT_OFF)
        await producer.enqueue(database, [portion([NewTask("runs", "{}", queue="queue0", priority=0)] * RUNNING)])
        await lease.claim(database, "w", ["queue0"], ["runs"], RUNNING, 3_600)
        await housekeeping.fold(database)
        async with database.connection() as connection:
            await connection.execute("VACUUM ANALYZE")
            since = await connection.fetchval("SELECT now() - interval '30 s'")
            ours = [
                await _milliseconds(connection, statement("snapshot"), (since, 900.0, 60.0, 200, False, COUNTED_DUE))
                for _ in range(TIMES)
            ]
            theirs = [await _milliseconds(connection, GROUP_BY, ()) for _ in range(3)]
    return statistics.median(ours), statistics.median(theirs)


async def _milliseconds(
    connection: asyncpg.Connection[asyncpg.Record], text: str, arguments: Sequence[object]
) -> float:
    """What planning and executing it took in the database."""
    explained = await connection.fetchval(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {text}", *arguments)
    [plan] = json.loads(explained)
    return float(plan["Planning Time"]) + float(plan["Execution Time"])


if __name__ == "__main__":
    main()
