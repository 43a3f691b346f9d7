"""`python -m tests.chaos 45s [SEED] [--engine NAME]`: kill, stop, cut and flush everything, then count what is left.

Jobs are put in all the while, each sleeps a moment and leaves marks. Then all is left in peace until nothing is left
to do, or for two minutes. The last line says lost, doubled and stuck, as in `verdict.Verdict`. Exit code 0 only if all
are 0 and, with crewtop, every history is whole, every counter right and memory flat.

Other queues run from `.venv-peers`, each set up to recover as well as it can: heartbeats, rescues, sweeps and polling
as often as crewtop's lease of three seconds asks for.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import asyncpg
from redis.exceptions import RedisError

from benchmarks.peers.catalog import CONTESTANTS
from benchmarks.peers.contest import ready
from crewtop import embedded
from tests.chaos import records
from tests.chaos.harms import Harm, harms_for
from tests.chaos.site import Site
from tests.chaos.verdict import judge, read_marks

BATCH = 8
SETTLE_SECONDS = 120.0
WARM_SECONDS = 30.0
LOOK_SECONDS = 0.3
GROWTH_ALLOWED = 1.25
NAMED = 10
AWAY = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, RedisError)


def main() -> int:
    """Run and clean up."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("duration", nargs="?", default="45s", help="such as 45s or 30m")
    parser.add_argument("seed", nargs="?", type=int, default=int(time.time()))
    parser.add_argument("--engine", choices=CONTESTANTS, default="crewtop")
    asked = parser.parse_args()
    queue = CONTESTANTS[asked.engine]
    ready([queue])
    print(f"{queue.title}, seed {asked.seed}")
    folder = Path(tempfile.mkdtemp(prefix="crewtop-chaos-"))
    folder.chmod(0o755)
    with embedded.running(folder / "data") as servers:
        site = Site(folder, servers, queue, random.Random(asked.seed))
        try:
            whole = asyncio.run(chaos(site, _seconds(asked.duration)))
        finally:
            site.end()
    if whole:
        shutil.rmtree(folder)
    else:
        print(f"kept for a look: {folder}", file=sys.stderr)
    return 0 if whole else 1


def _seconds(text: str) -> float:
    return float(text.rstrip("sm")) * (60 if text.endswith("m") else 1)


async def chaos(site: Site, seconds: float) -> bool:
    """Let it loose for so long, let it settle, and print the verdict; answers whether every promise was kept."""
    if await asyncio.to_thread(site.start("prepare").wait):
        raise SystemExit(f"{site.queue.name} cannot be set up: see {site.folder / 'prepare.log'}")
    site.marks.touch()
    site.refill()
    start, warm, memory = time.monotonic(), min(WARM_SECONDS, seconds / 2), None
    done: Counter[str] = Counter()
    for harm in _deck(site):
        if time.monotonic() > start + seconds:
            break
        await asyncio.gather(site.produce(BATCH), asyncio.to_thread(harm, site))
        done[harm.__name__.replace("_", " ")] += 1
        site.refill()
        if memory is None and time.monotonic() > start + warm:
            memory = site.memory()
        await asyncio.sleep(site.draw.uniform(0, 0.5))
    await settle(site)
    print(", ".join(f"{name} {times}" for name, times in sorted(done.items())))
    flat = _print_memory(memory, site.memory(), warm)
    return await _print_verdict(site) and (flat or site.queue.peer)


def _deck(site: Site) -> Iterator[Harm]:
    """All harms in random order, again and again: a short run meets each of them too."""
    while True:
        deck = list(harms_for(site))
        site.draw.shuffle(deck)
        yield from deck


async def settle(site: Site) -> None:
    """Wait until all is done or time is up."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline:
        site.refill()
        with suppress(*AWAY):
            if not await records.left(site):
                return
        await asyncio.sleep(LOOK_SECONDS)


def _print_memory(before: int | None, after: int | None, warm: float) -> bool:
    """Answers whether the spared worker did not grow; one that ended by itself says nothing about memory."""
    if before is None or after is None:
        print("memory: the spared worker ended before it could be compared")
        return True
    print(f"memory of the spared worker: {before / 1e6:.0f} MB after {warm:.0f} s, {after / 1e6:.0f} MB at the end")
    # A short run is compared with a worker that has hardly started.
    return warm < WARM_SECONDS or after < before * GROWTH_ALLOWED


async def _print_verdict(site: Site) -> bool:
    verdict = judge(site.known, await records.jobs(site), read_marks(site.marks.read_text().splitlines()))
    faults = (0, 0, 0) if site.queue.peer else await records.crewtop_faults(site)
    print(
        f"{verdict.total} jobs, {len(site.known)} of them promised; {verdict.failed} failed, {verdict.repeated} worked "
        f"more than once, {len(verdict.unworked)} completed without work"
    )
    if not site.queue.peer:
        print("{} broken histories, {} wrong counters, {} not completed exactly once".format(*faults))
    for name in ("lost", "doubled", "stuck", "unworked"):
        if numbers := getattr(verdict, name):
            print(f"{name}: {', '.join(numbers[:NAMED])}{' ...' if len(numbers) > NAMED else ''}")
    print(f"lost {len(verdict.lost)}, doubled {len(verdict.doubled)}, stuck {len(verdict.stuck)}", flush=True)
    return verdict.whole and not any(faults)


if __name__ == "__main__":
    raise SystemExit(main())
