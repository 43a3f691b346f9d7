"""The same crews one after another in plain CrewAI, and through the worker pool: what waiting together saves.

Each crew makes three calls of 2 to 6 s. One after another it takes all of them; in the pool crews wait side by side,
and what is left is the CPU that CrewAI itself takes for a crew, which is measured in the same run and gives the ideal.
`python -m benchmarks.llm_pool`; `--alone` is for the process that it starts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.llm_place import ROOT, Place, cores, place, provider, versions
from benchmarks.servers import table
from crewtop.admission import Task

GOAL = 35.0
LATENCY = ("--latency", "2", "--jitter", "2")
"""2 to 6 s, evenly spread."""

CONFIGURATION = """
[llm]
wait_seconds = 60
[llm.limits.openai]
at_once = 2000
"""
ALONE, POOLED = 5, 600
WORKERS, SLOTS, CREWS_PER_PROCESS = 2, 120, 120
TOPICS = ("late parcels", "desk lamps", "returns after the sale", "questions about invoices")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm_pool", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--crews", type=int, default=POOLED, help=f"in the pool (default {POOLED})")
    add("--one-by-one", type=int, default=ALONE, help=f"in plain CrewAI; scaled per crew (default {ALONE})")
    add("--slots", type=int, default=SLOTS, help=f"crews at once in each of {WORKERS} workers (default {SLOTS})")
    add("--alone", type=int, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.alone:
        print(json.dumps(_one_by_one(flags.alone)))
        return
    with provider(*LATENCY) as simulated, place(CONFIGURATION, CREWTOP_DEMO_PROVIDER=simulated.url) as at:
        seconds, cpu = _plain(at, flags.one_by_one)
        asyncio.run(_compare(at, flags.crews, flags.slots, seconds, cpu, flags.one_by_one))


def _plain(at: Place, crews: int) -> tuple[float, float]:
    """Seconds and CPU seconds a crew, in a process that knows nothing of crewtop's worker."""
    with (at.folder / "alone.log").open("wb") as log:
        ran = subprocess.run(
            [sys.executable, "-m", "benchmarks.llm_pool", "--alone", str(crews)],
            cwd=ROOT, env={**at.env, "CREWAI_STORAGE_DIR": str(at.folder / "crewai")}, stdout=subprocess.PIPE,
            stderr=log, check=True,
        )  # fmt: skip
    seconds, cpu = json.loads(ran.stdout.splitlines()[-1])
    return seconds, cpu


def _one_by_one(crews: int) -> tuple[float, float]:
    """A first crew warms up what later ones need no more, and is not counted."""
    os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
    from benchmarks.llm_crews import waits

    waits().kickoff(inputs=next(_inputs(1)))
    began, cpu = time.perf_counter(), time.process_time()
    for inputs in _inputs(crews):
        waits().kickoff(inputs=inputs)
    return (time.perf_counter() - began) / crews, (time.process_time() - cpu) / crews


def _inputs(crews: int) -> Iterator[dict[str, str]]:
    for number in range(crews):
        yield {"topic": TOPICS[number % len(TOPICS)], "audience": "the owner"}


async def _compare(at: Place, crews: int, slots: int, alone: float, cpu: float, measured: int) -> None:
    pooled, taken = await _pooled(at, crews, slots)
    [spent] = await at.sql("SELECT count(*) FILTER (WHERE status <> 'completed') AS failed FROM crewtop.tasks")
    ideal = cpu / cores()
    table(
        f"{crews:,} crews of three calls of 2 to 6 s each, {WORKERS} workers of {slots} slots; {await versions(at)}",
        [
            ("what", "seconds a crew", "crews a minute", "times one after another"),
            (f"one after another, plain CrewAI ({measured} crews, scaled)", f"{alone:.2f}", f"{60 / alone:,.1f}", "1"),
            ("the worker pool", f"{pooled:.3f}", f"{60 / pooled:,.0f}", f"{alone / pooled:.1f} (goal {GOAL:g})"),
            (
                f"ideal: CrewAI's own {cpu * 1000:.0f} ms of CPU a crew on {cores()} cores",
                f"{ideal:.3f}",
                f"{60 / ideal:,.0f}",
                f"{alone / ideal:.1f}",
            ),
        ],
    )
    print(
        f"\nNot completed: {spent['failed']}. Workers and their executors took {taken * 1000:.0f} ms of CPU a crew; "
        "the provider, PostgreSQL and Redis run on the same cores."
    )


async def _pooled(at: Place, crews: int, slots: int) -> tuple[float, float]:
    """Seconds a crew, from the first claim to the last end, workers being up by then; and CPU seconds a crew."""
    for _ in range(WORKERS):
        at.worker("--slots", str(slots), "--crews-per-process", str(min(slots, CREWS_PER_PROCESS)))
    await at.until_up()
    before = at.cpu_seconds()
    async with at.queue() as queue:
        await queue.enqueue_many([Task("waits", inputs) for inputs in _inputs(crews)])
    await at.until("NOT EXISTS (SELECT FROM crewtop.tasks WHERE finished_at IS NULL)")
    [row] = await at.sql(
        "SELECT extract(epoch FROM max(finished_at) - min(claimed_at))::float8 AS seconds FROM crewtop.runs"
    )
    return float(row["seconds"]) / crews, (at.cpu_seconds() - before) / crews


if __name__ == "__main__":
    main()
