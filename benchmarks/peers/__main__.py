"""`python -m benchmarks.peers NAME COMMAND`: what one process of a queue does. Answers are lines of JSON.

prepare       creates its tables
enqueue N     puts N no-op jobs in at once; answers {"rate": jobs a second}
latency N     puts a job in N times when all is idle; answers {"seconds": [...]}
produce       reads a JSON list of inputs a line, puts jobs `work` in, answers {"known": [...]} or {"error": ...}
work          works until SIGTERM
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import random
import select
import sys
import time
from contextlib import AsyncExitStack
from types import ModuleType
from typing import Any

from benchmarks.peers.contract import Setting, from_environment

WARM_UP = 5
IDLE_SECONDS = (0.02, 0.12)  # at random, so that no polling falls into step
PATIENCE_SECONDS = 20.0


def main() -> None:
    """Do one command of one queue."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("name")
    parser.add_argument("command", choices=["prepare", "enqueue", "latency", "produce", "work"])
    parser.add_argument("number", type=int, nargs="?", default=0)
    parser.add_argument("--slots", type=int, default=100)
    parser.add_argument("--rescue", type=float, help="seconds")
    asked = parser.parse_args()
    queue = importlib.import_module(f"benchmarks.peers.{asked.name.replace('-', '_')}")
    setting = from_environment(asked.slots, asked.rescue)
    with asyncio.Runner(loop_factory=queue.LOOP) as runner:
        runner.run(_do(asked.command, queue, setting, asked.number))


async def _do(command: str, queue: ModuleType, setting: Setting, number: int) -> None:
    match command:
        case "prepare":
            await queue.prepare(setting)
        case "enqueue":
            _answer({"rate": await _enqueue(queue, setting, number)})
        case "latency":
            _answer({"seconds": await _latencies(queue, setting, number)})
        case "produce":
            await _produce(queue, setting)
        case "work":
            await queue.work(setting)


def _answer(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


async def _enqueue(queue: ModuleType, setting: Setting, number: int) -> float:
    """Jobs a second, from the list of inputs to all committed; the first job, not timed, opens the connection."""
    async with queue.producer(setting) as enqueue:
        await enqueue("noop", [{"n": 0}])
        inputs = [{"n": n} for n in range(1, number)]
        start = time.perf_counter()
        await enqueue("noop", inputs)
        return len(inputs) / (time.perf_counter() - start)


async def _latencies(queue: ModuleType, setting: Setting, number: int) -> list[float]:
    """Seconds from before the call to the job's first line."""
    stamps = os.open(os.environ["STAMPS"], os.O_RDWR)  # for writing too: no end of file while no job holds it open
    seconds = []
    async with queue.producer(setting) as enqueue:
        for n in range(WARM_UP + number):
            before = time.time()
            await enqueue("stamp", [{"n": n}])
            seconds.append(await asyncio.to_thread(_began, stamps) - before)
            await asyncio.sleep(random.uniform(*IDLE_SECONDS))
    return seconds[WARM_UP:]


def _began(stamps: int) -> float:
    if not select.select([stamps], [], [], PATIENCE_SECONDS)[0]:
        raise SystemExit(f"no job began within {PATIENCE_SECONDS:g} s")
    return float(os.read(stamps, 4_096).split()[1])


async def _produce(queue: ModuleType, setting: Setting) -> None:
    """Each batch over a fresh connection, since any may have been cut in between."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            async with asyncio.timeout(10), AsyncExitStack() as stack:
                enqueue = await stack.enter_async_context(queue.producer(setting))
                answer: dict[str, Any] = {"known": await enqueue("work", json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        _answer(answer)


if __name__ == "__main__":
    main()
