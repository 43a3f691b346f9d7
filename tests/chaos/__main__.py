"""`python -m tests.chaos 45s [SEED]`: kill, stop, cut and flush everything at random, then count what is left.

The last line says lost, doubled and stuck. Exit code 0 only if all are 0 and every history is whole.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
from redis import Redis
from redis.exceptions import RedisError

from crewtop import embedded
from crewtop.model.errors import CrewtopError
from crewtop.model.task import NewTask
from crewtop.store import producer, schema
from crewtop.store.database import Database

ROOT = Path(__file__).parents[2]
WORKERS = 3
LEASE_SECONDS = 3.0
SETTLE_SECONDS = 120.0

CONFIG = f"""
[crews]
work = "tests.chaos.crews:work"

[worker]
slots = 4
lease_seconds = {LEASE_SECONDS}
poll_seconds = 0.3
backoff_seconds = 0.1
backoff_limit_seconds = 1
grace_seconds = 1
"""

VERDICT = """
SELECT
  (SELECT count(*) FROM crewtop.tasks WHERE status NOT IN ('completed', 'failed')),
  (SELECT count(*) FROM crewtop.tasks AS t WHERE t.status = 'completed' AND
     (SELECT count(*) FROM crewtop.runs WHERE task_id = t.id AND outcome = 'completed') <> 1
     OR EXISTS (SELECT FROM crewtop.runs AS done JOIN crewtop.runs AS later
                  ON later.task_id = done.task_id AND later.id > done.id
                WHERE done.task_id = t.id AND done.outcome = 'completed')),
  (SELECT count(*) FROM crewtop.tasks
     WHERE status = 'running' AND lease_expires_at < now() - make_interval(secs => $1)),
  (SELECT count(*) FROM crewtop.tasks AS t WHERE
     (SELECT array_agg(version ORDER BY version) FROM crewtop.task_history WHERE task_id = t.id)
       IS DISTINCT FROM (SELECT array_agg(v) FROM generate_series(1, t.version) AS v)),
  (SELECT count(*) FROM (
     SELECT queue, crew, status, sum(n)::bigint FROM crewtop.depth GROUP BY 1, 2, 3 HAVING sum(n) <> 0
     EXCEPT SELECT queue, crew, status, count(*) FROM crewtop.tasks GROUP BY 1, 2, 3) AS wrong),
  (SELECT count(*) FROM crewtop.tasks WHERE status = 'failed'),
  (SELECT count(*) FROM crewtop.tasks)
"""


class Site:
    """The servers, the workers, and what can be done to them."""

    def __init__(self, folder: Path, servers: embedded.Servers, seed: int) -> None:
        self.folder, self.servers, self.draw = folder, servers, random.Random(seed)
        self.env = os.environ | {
            "CREWTOP_POSTGRES": servers.dsn, "CREWTOP_REDIS": servers.redis_url or "", "PYTHONPATH": str(ROOT),
            "CREWTOP_CONFIG": str(folder / "crewtop.toml"), "MARKS": str(folder / "marks"),
        }  # fmt: skip
        self.workers: list[subprocess.Popen[bytes]] = []
        self.done: dict[str, int] = {}

    def worker(self) -> None:
        """Start one more worker."""
        with (self.folder / "workers.log").open("ab") as log:
            self.workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "crewtop", "worker"], cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL,
                    stdout=log, stderr=log, start_new_session=True,
                )
            )  # fmt: skip

    def refill(self) -> None:
        """As a service manager would: a worker that is gone is started again."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < WORKERS:
            self.worker()

    def executors(self) -> list[psutil.Process]:
        """The processes of runs."""
        found = []
        for worker in self.workers:
            with suppress(psutil.Error):
                for zygote in psutil.Process(worker.pid).children():
                    found += zygote.children()
        return found

    # What can go wrong

    def kill_an_executor(self) -> None:
        if found := self.executors():
            with suppress(psutil.Error):
                self.draw.choice(found).kill()

    def kill_a_zygote(self) -> None:
        with suppress(psutil.Error, IndexError):
            psutil.Process(self.draw.choice(self.workers).pid).children()[0].kill()

    def kill_a_worker(self) -> None:
        self.draw.choice(self.workers).kill()

    def drain_a_worker(self) -> None:
        self.draw.choice(self.workers).terminate()

    def freeze_a_worker(self) -> None:
        """Past its lease: what it writes afterwards is late."""
        worker = self.draw.choice(self.workers)
        worker.send_signal(signal.SIGSTOP)
        time.sleep(LEASE_SECONDS * 1.3)
        worker.send_signal(signal.SIGCONT)

    def cut_connections(self) -> None:
        subprocess.run(
            [sys.executable, "-c", CUT, self.servers.dsn], check=False, capture_output=True, env=self.env, cwd=ROOT
        )

    def crash_postgres(self) -> None:
        self._kill_server("postgres")

    def crash_redis(self) -> None:
        self._kill_server("valkey-server")

    def flush_redis(self) -> None:
        with suppress(RedisError, OSError):
            Redis.from_url(self.servers.redis_url or "").flushall()

    def _kill_server(self, name: str) -> None:
        for process in psutil.process_iter(["name", "cwd"]):
            with suppress(psutil.Error):
                if process.name() == name and str(self.folder) in (process.cwd() or ""):
                    process.kill()
        with embedded.running(self.folder / "data"):  # joining starts again what no longer answers
            pass


CUT = """
import asyncio, asyncpg, sys
async def cut():
    connection = await asyncpg.connect(sys.argv[1])
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'crewtop worker'"
    )
asyncio.run(cut())
"""


async def chaos(site: Site, seconds: float) -> bool:
    """Let it loose for so long, let it settle, and print the verdict; answers whether nothing was lost."""
    harms: list[Callable[[], None]] = [
        site.kill_an_executor, site.kill_an_executor, site.kill_a_zygote, site.kill_a_worker, site.drain_a_worker,
        site.freeze_a_worker, site.cut_connections, site.crash_postgres, site.crash_redis, site.flush_redis,
    ]  # fmt: skip
    async with Database(site.servers.dsn, application_name="chaos", connections=1) as database:
        await schema.init(database)
        site.refill()
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            tasks = [
                NewTask("work", f'{{"n": {number + i}, "seconds": {site.draw.uniform(0, 0.8):.2f}}}', max_attempts=20)
                for i in range(4)
            ]
            with suppress(CrewtopError):
                number += len(await producer.enqueue(database, tasks))
            harm = site.draw.choice(harms)
            site.done[harm.__name__] = site.done.get(harm.__name__, 0) + 1
            await asyncio.to_thread(harm)
            site.refill()
            await asyncio.sleep(site.draw.uniform(0, 0.5))
        return await settle(site, database)


async def settle(site: Site, database: Database) -> bool:
    """Wait until all is done or time is up, then judge."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        site.refill()
        with suppress(CrewtopError):
            async with database.connection() as connection:
                row = await connection.fetchrow(VERDICT, LEASE_SECONDS)
            if row[0] == 0 or time.monotonic() > deadline:
                break
        await asyncio.sleep(0.3)
    lost, doubled, stuck, gaps, counters, failed, total = row
    marks = {int(line) for line in (site.folder / "marks").read_text().split()}
    unmarked = max(0, total - failed - len(marks))
    print(", ".join(f"{name.replace('_', ' ')} {times}" for name, times in sorted(site.done.items())))
    print(
        f"{total} tasks, {failed} failed, {unmarked} without work, {gaps} broken histories, {counters} wrong counters"
    )
    print(f"lost {lost}, doubled {doubled}, stuck {stuck}")
    return not any((lost, doubled, stuck, gaps, counters, unmarked))


def main() -> int:
    """Run and clean up."""
    asked = sys.argv[1] if len(sys.argv) > 1 else "45s"
    seconds = float(asked.rstrip("sm")) * (60 if asked.endswith("m") else 1)
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    print(f"seed {seed}")
    folder = Path(tempfile.mkdtemp(prefix="crewtop-chaos-"))
    folder.chmod(0o755)
    (folder / "crewtop.toml").write_text(CONFIG)
    with embedded.running(folder / "data") as servers:
        site = Site(folder, servers, seed)
        try:
            whole = asyncio.run(chaos(site, seconds))
        finally:
            for worker in site.workers:
                worker.kill()
                worker.wait()
    if whole:
        shutil.rmtree(folder)
    else:
        print(f"kept for a look: {folder}")
    return 0 if whole else 1


if __name__ == "__main__":
    raise SystemExit(main())
