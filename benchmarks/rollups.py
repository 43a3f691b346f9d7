"""What the rollups cost a drain: claims and ends with the rollups written, and with a statement that lacks them.

The statement without them is made here, by taking them out of its text. Batches in turn. Limit: under 10 % of
throughput.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from benchmarks.servers import fresh_servers, table
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Finish, NewTask, RunOutcome, portion
from crewtop.store import database as store
from crewtop.store import housekeeping, lease, producer
from crewtop.store.database import Database

TASKS = 20_000
ROUNDS = 7
CREWS = 4
BATCHES = (100, 10)
LIMIT = 0.10


def main() -> None:
    """Print tasks a second with and without, medians of seven drains."""
    with fresh_servers() as servers:
        asyncio.run(_compare(servers.dsn))


async def _compare(dsn: str) -> None:
    rows: list[tuple[str, ...]] = [("batches of", "with rollups, tasks/s", "without, tasks/s", "cost", "")]
    async with Database(dsn, application_name="crewtop benchmark", connections=1, timeout=120) as database:
        for batch in BATCHES:
            await _drain(database, batch)
            drains = [await _drain(database, batch) for _ in range(ROUNDS)]
            ours, bare = (TASKS / 2 / statistics.median(seconds) for seconds in zip(*drains, strict=True))
            cost = statistics.median(1 - without / on for on, without in drains)
            verdict = f"under {LIMIT:.0%}: {'held' if cost < LIMIT else 'MISSED'}"
            rows.append((str(batch), f"{ours:,.0f}", f"{bare:,.0f}", f"{cost:.1%}", verdict))
    table(f"Rollups: drains of {TASKS:,} tasks of {CREWS} crews, one worker, every other batch without", rows)


@contextmanager
def _without_rollups() -> Iterator[None]:
    """The end of a run is recorded without its rollup."""
    whole = store.statement
    text, taken_out = re.subn(
        r"\), buckets AS \(.*?FROM buckets GROUP BY queue, crew\n\)", ")", whole("finish"), flags=re.DOTALL
    )
    assert taken_out == 1
    store.statement = lambda name: text if name == "finish" else whole(name)  # type: ignore[assignment]
    try:
        yield
    finally:
        store.statement = whole


async def _drain(database: Database, batch: int) -> tuple[float, float]:
    """Seconds that half of the tasks took with rollups, and the other half without, batch by batch in turn."""
    crews = [f"crew{n}" for n in range(CREWS)]
    async with database.connection() as connection:
        await connection.execute("TRUNCATE crewtop.tasks, crewtop.runs, crewtop.stats")
    tasks = [NewTask(crews[n % CREWS], '{"n": 1}', queue="q") for n in range(1_000)]
    await producer.enqueue(database, [portion(tasks)] * (TASKS // 1_000))
    await housekeeping.fold(database)
    took = [0.0, 0.0]
    for place in range(TASKS // batch):
        with _without_rollups() if place % 2 else nullcontext():
            start = time.perf_counter()
            claims = await lease.claim(database, "w", ["q"], crews, batch, 30)
            reports = [
                Finish(claim.run_id, claim.task_id, RunOutcome.COMPLETED, 0.01 * n, result="1")
                for n, claim in enumerate(claims)
            ]
            await lease.finish(database, "w", reports, SERVICE_LEVELS_SECONDS)
            took[place % 2] += time.perf_counter() - start
    return took[0], took[1]


if __name__ == "__main__":
    main()
