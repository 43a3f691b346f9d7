"""What a run costs beside its work: a process from the zygote against a fresh Python that imports CrewAI."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.servers import table
from crewtop.executor.client import Zygote
from crewtop.model.events import Assignment

RUNS = 30


def nothing(_: dict[str, object]) -> None:
    """The crew that is run: no work at all."""


def main() -> None:
    """Print seconds a run, median, one after another."""
    asyncio.run(_compare())


async def _compare() -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        zygote = await Zygote.start(path=Path.cwd(), log=None)
        ready = time.perf_counter() - start
        forked = [await _run(zygote, number, folder) for number in range(RUNS)]
        await zygote.close()
    spawned = [await _spawn() for _ in range(5)]
    ours, theirs = statistics.median(forked[1:]), statistics.median(spawned)
    table(
        "A run's overhead",
        [
            ("what", "seconds", "ratio"),
            ("a run in a child of the zygote", f"{ours:.4f}", f"{ours / theirs:.3f}"),
            ("a fresh Python that imports crewai", f"{theirs:.3f}", "1"),
            ("the zygote, once a worker", f"{ready:.2f}", ""),
        ],
    )


async def _run(zygote: Zygote, number: int, folder: str) -> float:
    start = time.perf_counter()
    process = await zygote.run(Assignment(number, number, "nothing", "benchmarks.runs:nothing", "{}", folder, {}))

    async def drain(source: object) -> None:
        async for _ in source:  # type: ignore[attr-defined]
            pass

    await asyncio.gather(drain(process.events), drain(process.log), process.wait())
    return time.perf_counter() - start


async def _spawn() -> float:
    start = time.perf_counter()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "import crewai")
    await process.wait()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
