"""For how long a worker's transactions hold locks on tasks while its crews take seconds.

A real worker runs crews that sleep; meanwhile pg_stat_activity is asked every two milliseconds how long each of the
worker's transactions that hold a lock on crewtop.tasks has been open.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.servers import fresh_servers, table
from crewtop import embedded
from crewtop.model.task import NewTask, portion
from crewtop.store import producer
from crewtop.store.database import Database

SLOTS = 20
TASKS = 100
SLEEP_SECONDS = 2.0
LOOK_SECONDS = 0.002

CONFIG = """
[crews]
sleeper = "benchmarks.claim_lock:sleeper"
"""

OPEN = """
SELECT a.pid, a.xact_start, extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds
FROM pg_stat_activity AS a
WHERE a.application_name LIKE 'crewtop worker%' AND a.xact_start IS NOT NULL AND EXISTS (
    SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.relation = 'crewtop.tasks'::regclass AND l.mode LIKE 'Row%')
"""


async def sleeper(_: dict[str, Any]) -> None:
    """The crew: it takes its time."""
    await asyncio.sleep(SLEEP_SECONDS)


def main() -> None:
    """Print the table."""
    with fresh_servers() as servers, tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "crewtop.toml")
        config.write_text(CONFIG)
        asyncio.run(_measure(servers, config))


async def _measure(servers: embedded.Servers, config: Path) -> None:
    environment = os.environ | {
        "CREWTOP_CONFIG": str(config), "CREWTOP_POSTGRES": servers.dsn, "CREWTOP_REDIS": servers.redis_url or "",
        "PYTHONPATH": str(Path.cwd()),
    }  # fmt: skip
    async with Database(servers.dsn, application_name="crewtop benchmark", connections=2) as database:
        await producer.enqueue(database, [portion([NewTask("sleeper", "{}")] * TASKS)])
        slots = str(SLOTS)
        worker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "crewtop", "worker", "--burst", "--slots", slots, "--crews-per-process", slots),
            env=environment,
            stderr=asyncio.subprocess.DEVNULL,
        )
        start = time.perf_counter()
        held: dict[tuple[int, Any], float] = {}
        async with database.connection() as connection:
            while worker.returncode is None:
                for row in await connection.fetch(OPEN):
                    held[row["pid"], row["xact_start"]] = row["seconds"]
                await asyncio.sleep(LOOK_SECONDS)
        seconds = time.perf_counter() - start
    lengths = sorted(held.values()) or [0.0]
    table(
        f"Locks on tasks while {TASKS} runs of {SLEEP_SECONDS:g} s each go through {SLOTS} slots",
        [
            ("what", "figure"),
            ("the worker was at work for", f"{seconds:.1f} s"),
            ("transactions seen with a lock on a task", f"{len(held)}"),
            ("the longest was open for", f"{lengths[-1] * 1e3:.1f} ms"),
            ("their median", f"{lengths[len(lengths) // 2] * 1e3:.1f} ms"),
            ("the longest, as a share of one run", f"{lengths[-1] / SLEEP_SECONDS:.4f}"),
        ],
    )


if __name__ == "__main__":
    main()
