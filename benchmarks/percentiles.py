"""Percentiles from the rollups against the exact ones, over 1,000,000 durations from each of four distributions.

The durations are parted among 100 workers' rollups, merged by the statement behind `crewtop stats`. Limit: 1 %.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections import Counter
from collections.abc import Callable

from benchmarks.servers import fresh_servers, table
from crewtop.model.histogram import RELATIVE_ERROR, bucket, rank_of
from crewtop.store import statistics
from crewtop.store.database import Database

DURATIONS = 1_000_000
PARTS = 100
RANKS = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
PUT = "INSERT INTO crewtop.stats (queue, crew, worker_id, completed, run_ok) VALUES ('q', $1, $2, $3, $4)"

DISTRIBUTIONS: dict[str, Callable[[random.Random], float]] = {
    "uniform, 0 to 60 s": lambda chance: chance.uniform(0.0, 60.0),
    "exponential, mean 10 s": lambda chance: chance.expovariate(0.1),
    "lognormal, median 8 s": lambda chance: chance.lognormvariate(math.log(8.0), 1.5),
    "bimodal, 0.2 s and 90 s": lambda chance: abs(
        chance.gauss(0.2, 0.05) if chance.random() < 0.7 else chance.gauss(90.0, 9.0)
    ),
}


def main() -> None:
    """Print the table."""
    with fresh_servers() as servers:
        asyncio.run(_measure(servers.dsn))


async def _measure(dsn: str) -> None:
    rows: list[tuple[str, ...]] = [("distribution", "figure", "exact, s", "from rollups, s", "off by", "")]
    async with Database(dsn, application_name="crewtop benchmark", connections=1) as database:
        for name, draw in DISTRIBUTIONS.items():
            chance = random.Random(name)
            durations = [draw(chance) for _ in range(DURATIONS)]
            await _put(database, name, durations)
            durations.sort()
            exact = {rank: durations[rank_of(q, DURATIONS)] for rank, q in RANKS}
            exact["mean"] = math.fsum(durations) / DURATIONS
            found = await statistics.read(database, "crew", 3_600)
            [run] = [row.run for row in found.rows if row.name == name]
            for figure, true in exact.items():
                told = getattr(run, figure)
                off = abs(told - true) / true
                verdict = "at most 1%: " + ("held" if off <= RELATIVE_ERROR * (1 + 1e-9) else "MISSED")
                rows.append((name, figure, f"{true:.4f}", f"{told:.4f}", f"{off:.2%}", verdict))
    table(f"Percentiles of {DURATIONS:,} durations in {PARTS} rollups", rows)


async def _put(database: Database, name: str, durations: list[float]) -> None:
    async with database.connection() as connection:
        for part in range(PARTS):
            counts = Counter(map(bucket, durations[part::PARTS]))
            await connection.execute(PUT, name, f"w{part}", counts.total(), json.dumps(counts))


if __name__ == "__main__":
    main()
