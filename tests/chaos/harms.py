"""What can go wrong, each once in a while, and each as it would from outside."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
from redis import Redis
from redis.exceptions import RedisError

from benchmarks.peers.catalog import ROOT
from crewtop import embedded
from crewtop.embedded.server import wait_gone
from tests.chaos.site import LEASE_SECONDS, Site

PAUSE_SECONDS = 2.0

# All that would wait for an answer is cut: workers, listeners and producers, but not the one who judges.
CUT = """
import asyncio, asyncpg, sys
async def cut():
    connection = await asyncpg.connect(sys.argv[1], timeout=5)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND application_name <> 'chaos' AND pid <> pg_backend_pid()"
    )
asyncio.run(cut())
"""


def kill_a_worker(site: Site) -> None:
    site.victim().kill()


def drain_a_worker(site: Site) -> None:
    site.victim().terminate()


def freeze_a_worker(site: Site) -> None:
    """Past its lease: what it writes afterwards is late."""
    worker = site.victim()
    worker.send_signal(signal.SIGSTOP)
    time.sleep(LEASE_SECONDS * 1.3)
    worker.send_signal(signal.SIGCONT)


def cut_connections(site: Site) -> None:
    subprocess.run([sys.executable, "-c", CUT, site.servers.dsn], check=False, capture_output=True, cwd=ROOT)


def crash_postgres(site: Site) -> None:
    """As the power would: every process of it at once."""
    _crash(site, "postgres")


def restart_postgres(site: Site) -> None:
    """An immediate restart: sessions end without a goodbye, and the start replays the log."""
    processes = _servers(site, "postgres")
    pids = {process.pid for process in processes}
    for process in processes:
        with suppress(psutil.Error):
            if process.ppid() not in pids:
                process.send_signal(signal.SIGQUIT)
    _start_again(site, processes)


def crash_redis(site: Site) -> None:
    _crash(site, "valkey-server")


def flush_redis(site: Site) -> None:
    with suppress(RedisError, OSError):
        _redis(site).flushall()


def pause_redis(site: Site) -> None:
    """It takes commands and answers none."""
    with suppress(RedisError, OSError):
        _redis(site).execute_command("CLIENT", "PAUSE", int(PAUSE_SECONDS * 1_000), "ALL")


def away(site: Site) -> None:
    """Both servers are gone for some seconds."""
    _absent(site, "postgres", "valkey-server")


def postgres_away(site: Site) -> None:
    """PostgreSQL is gone for some seconds."""
    _absent(site, "postgres")


def redis_away(site: Site) -> None:
    """Valkey is gone for some seconds."""
    _absent(site, "valkey-server")


def postgres_frozen(site: Site) -> None:
    """It takes connections and answers nothing."""
    processes = _servers(site, "postgres")
    for process in processes:
        with suppress(psutil.Error):
            process.suspend()
    time.sleep(site.draw.uniform(1, 5))
    for process in processes:
        with suppress(psutil.Error):
            process.resume()


def _absent(site: Site, *names: str) -> None:
    processes = [process for name in names for process in _servers(site, name)]
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    time.sleep(site.draw.uniform(0.5, 5))
    _start_again(site, processes)


def kill_an_executor(site: Site) -> None:
    _signal_an_executor(site, signal.SIGKILL)


def terminate_an_executor(site: Site) -> None:
    _signal_an_executor(site, signal.SIGTERM)


def freeze_an_executor(site: Site) -> None:
    if (executor := _signal_an_executor(site, signal.SIGSTOP)) is not None:
        time.sleep(site.draw.uniform(0.5, 2))
        with suppress(psutil.Error):
            executor.resume()


def kill_a_zygote(site: Site) -> None:
    with suppress(psutil.Error, IndexError):
        psutil.Process(site.victim().pid).children()[0].kill()


Harm = Callable[[Site], None]

HARMS: tuple[Harm, ...] = (
    kill_a_worker, drain_a_worker, freeze_a_worker, cut_connections, crash_postgres, restart_postgres,
    crash_redis, flush_redis, pause_redis,
)  # fmt: skip
EXECUTOR_HARMS: tuple[Harm, ...] = (kill_an_executor, terminate_an_executor, freeze_an_executor, kill_a_zygote)
"""Only crewtop has such processes."""


def harms_for(site: Site) -> tuple[Harm, ...]:
    """All that can happen to this queue."""
    return HARMS if site.queue.peer else HARMS + EXECUTOR_HARMS


def _signal_an_executor(site: Site, number: signal.Signals) -> psutil.Process | None:
    with suppress(psutil.Error, IndexError):
        executor = site.draw.choice(site.executors())
        executor.send_signal(number)
        return executor
    return None


def _servers(site: Site, name: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == name and str(site.folder) in (process.cwd() or ""):
                found.append(process)
    return found


def _crash(site: Site, name: str) -> None:
    processes = _servers(site, name)
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    _start_again(site, processes)


def _start_again(site: Site, ending: list[psutil.Process]) -> None:
    wait_gone(ending)
    with embedded.running(site.servers.data_dir):  # joining starts again what no longer answers
        pass


def _redis(site: Site) -> Redis:
    return Redis.from_url(site.servers.redis_url or "", socket_timeout=PAUSE_SECONDS * 2)
