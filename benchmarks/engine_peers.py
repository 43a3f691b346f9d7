"""`make bench-engine`: crewtop against the other queues, on one fresh Postgres and Valkey, in the same run.

Throughput: no-op jobs, one worker process that runs 100 at once, every round from empty tables, contestants in turn;
between enqueue and drain, VACUUM ANALYZE and a checkpoint, as time would bring them. Enqueue is timed in the producer,
over an open connection, from the list of inputs to the answer of the library's bulk call. Drain is timed from the first
line of the first job (so that nobody's start counts, nor anybody's first claim) until Postgres, or Redis, says that no
job is left un-ended, which is asked every 10 ms.

Latency: an idle worker, one job at a time at random moments; from before the producer's call to the job's first line.

Backlog: how fast crewtop drains when a million tasks wait behind, against how fast it does when none do, by its own
counters, from the first line of the first job; the two databases are on the same server and take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg
from redis.asyncio import Redis

from benchmarks.peers.catalog import CONTESTANTS, Contestant
from benchmarks.peers.contest import Arena, ready, until
from benchmarks.servers import fresh_servers, table
from crewtop import embedded

SLOTS = 100
FORKING = CONTESTANTS["crewtop"]  # a process a run: for isolation, not for throughput
SHARING = CONTESTANTS["crewtop-dense"]

DRAIN_GOAL, ENQUEUE_GOAL, BACKLOG_GOAL = 1.3, 2.0, 0.9
P50_GOAL_SECONDS, P99_GOAL_SECONDS = 0.010, 0.050


def main() -> None:
    """Print a table for each part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_peers", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(CONTESTANTS)}; default all")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latencies", type=int, default=200, help="0 leaves this part out")
    parser.add_argument("--backlog", type=int, default=0, help="tasks that wait behind; 0 leaves this part out")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(CONTESTANTS):
        parser.error(f"{', '.join(sorted(unknown))}: use some of {', '.join(CONTESTANTS)}")
    contestants = [CONTESTANTS[name] for name in asked.names or CONTESTANTS]
    ready(contestants)
    with fresh_servers() as servers, tempfile.TemporaryDirectory() as folder:
        asyncio.run(_all(servers, Path(folder), contestants, asked))


async def _all(
    servers: embedded.Servers, folder: Path, contestants: list[Contestant], asked: argparse.Namespace
) -> None:
    os.mkfifo(folder / "stamps")
    async with _arena(servers, folder) as arena:
        for one in contestants:
            await arena.ask(one, "prepare")
        racing = [one for one in contestants if one is not FORKING]
        if asked.jobs and asked.rounds:
            await _throughput(arena, racing, asked.jobs, asked.rounds)
        if asked.latencies:
            await _latency(arena, contestants, asked.latencies)
        if asked.backlog:
            await _backlog(arena, asked.backlog, asked.jobs, asked.rounds)


@asynccontextmanager
async def _arena(servers: embedded.Servers, folder: Path) -> AsyncIterator[Arena]:
    connection = await asyncpg.connect(servers.dsn, server_settings={"application_name": "arena"})
    redis = Redis.from_url(servers.redis_url or "")
    try:
        yield Arena(servers, folder, connection, redis)
    finally:
        await redis.aclose()
        await connection.close()


# Throughput


async def _throughput(arena: Arena, contestants: list[Contestant], jobs: int, rounds: int) -> None:
    enqueued: dict[Contestant, list[float]] = defaultdict(list)
    drained: dict[Contestant, list[float]] = defaultdict(list)
    for number in range(rounds):
        for one in contestants[number:] + contestants[:number]:  # nobody is always first
            await arena.clear(one)
            enqueued[one].append((await arena.ask(one, "enqueue", str(jobs)))["rate"])
            await arena.settle()
            drained[one].append(await _drain(arena, one, jobs))
    title = f"{jobs:,} no-op jobs, one worker process, {SLOTS} at once, median of {rounds}"
    heading = ("queue", "enqueue, jobs/s", "crewtop is", "drain, jobs/s", "crewtop is")
    put, done = _medians(enqueued), _medians(drained)
    rows = [(one.title, f"{put[one]:,.0f}", _times(put, one), f"{done[one]:,.0f}", _times(done, one)) for one in put]
    table(title, [heading, *rows])
    if SHARING in put and len(put) > 1:
        leads = f"enqueue {_lead(put):.2f} (goal {ENQUEUE_GOAL}), drain {_lead(done):.2f} (goal {DRAIN_GOAL})"
        print(f"\nAgainst the best of them: {leads}")


async def _drain(arena: Arena, contestant: Contestant, jobs: int) -> float:
    async def empty() -> bool:
        return not await arena.left(contestant)

    with arena.worker(contestant, SLOTS) as process:
        start = await arena.first_job(process)
        return jobs / (await until(empty, process) - start)


def _medians(rates: dict[Contestant, list[float]]) -> dict[Contestant, float]:
    return {one: statistics.median(found) for one, found in rates.items()}


def _times(rates: dict[Contestant, float], other: Contestant) -> str:
    return f"{rates[SHARING] / rates[other]:.2f} times" if SHARING in rates and other is not SHARING else ""


def _lead(rates: dict[Contestant, float]) -> float:
    return rates[SHARING] / max(rate for one, rate in rates.items() if one is not SHARING)


# Latency


async def _latency(arena: Arena, contestants: list[Contestant], number: int) -> None:
    rows = [("queue", "p50, ms", "p95, ms", "p99, ms", "p50 of the goal", "p99 of the goal")]
    for one in contestants:
        await arena.clear(one)
        with arena.worker(one, SLOTS):
            seconds = (await arena.ask(one, "latency", str(number)))["seconds"]
        p50, p95, p99 = (_percentile(seconds, percent) for percent in (50, 95, 99))
        milliseconds = [f"{value * 1_000:.1f}" for value in (p50, p95, p99)]
        rows.append((one.title, *milliseconds, f"{p50 / P50_GOAL_SECONDS:.2f}", f"{p99 / P99_GOAL_SECONDS:.2f}"))
    goals = f"goals {P50_GOAL_SECONDS * 1_000:.0f} and {P99_GOAL_SECONDS * 1_000:.0f} ms"
    table(f"From enqueue to start on an idle system, {number} times ({goals})", rows)


def _percentile(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


# Backlog


async def _backlog(arena: Arena, backlog: int, jobs: int, rounds: int) -> None:
    await arena.postgres.execute("CREATE DATABASE deep")
    deep = replace(arena.servers, dsn=arena.servers.dsn.replace("/crewtop?", "/deep?"))
    async with _arena(deep, arena.folder) as behind:
        await behind.ask(SHARING, "prepare")
        await _fill(behind, backlog + jobs * rounds)
        rates: dict[str, list[float]] = defaultdict(list)
        for _ in range(rounds):
            await arena.clear(SHARING)
            await _fill(arena, jobs)
            rates["none"].append(await _first(arena, jobs))
            rates["behind"].append(await _first(behind, jobs))
    none, deep_rate = statistics.median(rates["none"]), statistics.median(rates["behind"])
    rows = [
        ("crewtop drains", "jobs/s", "ratio"),
        (f"{jobs:,}, none behind", f"{none:,.0f}", "1"),
        (f"{jobs:,}, {backlog:,} behind", f"{deep_rate:,.0f}", f"{deep_rate / none:.2f}"),
    ]
    table(f"Drain at a backlog, median of {rounds} (goal {BACKLOG_GOAL})", rows)


async def _fill(arena: Arena, tasks: int) -> None:
    chunk = 50_000
    for start in range(0, tasks, chunk):
        await arena.ask(SHARING, "enqueue", str(min(chunk, tasks - start)))
    await arena.settle()


async def _first(arena: Arena, jobs: int) -> float:
    """Jobs a second until so many more have completed."""
    target = await _completed(arena) + jobs

    async def enough() -> bool:
        return await _completed(arena) >= target

    with arena.worker(SHARING, SLOTS) as process:
        start = await arena.first_job(process)
        return jobs / (await until(enough, process) - start)


async def _completed(arena: Arena) -> int:
    found = await arena.postgres.fetchval("SELECT sum(n) FROM crewtop.depth WHERE status = 'completed'")
    return int(found or 0)


if __name__ == "__main__":
    main()
