"""What the layer around a call to a model costs: CrewAI's own call against the same with the worker asked and told.

Both go to a provider on the loopback, one after another, in alternating pairs, from one process; the worker's side
runs in a process of its own, as in production, and answers over a socket: limits in Redis, and a row sent to Postgres
before a call goes out. Limit: 3 ms in the median. `python -m benchmarks.llm_overhead`
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import statistics
import threading
import time
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection

from benchmarks.servers import fresh_servers, table
from crewtop import embedded
from crewtop.config_llm import CallLimit, Llm
from crewtop.demo.provider.server import serve
from crewtop.executor.desk import Desk
from crewtop.executor.reporter import Reporter
from crewtop.executor.wire import Lines
from crewtop.model.events import CallAsked, CallSettled, Event, Terms, Turn, from_line
from crewtop.model.task import NewTask, portion
from crewtop.store import lease, producer
from crewtop.store.database import Database
from crewtop.worker.calls import Calls, RunsCalls
from crewtop.worker.letting_out import letting_out
from crewtop.worker.story import Story

PAIRS, WARM = 2_500, 250
LIMIT_MS = 3.0
TERMS = Terms(connect=5.0, first_byte=30.0, whole=60.0, tries=3, wait=5.0, base_urls={}, windows={})
TURN = Turn(crew="bench", queue="default", priority=3, ends_at=float("inf"))
LIMIT = CallLimit(requests_per_minute=1_000_000, tokens_per_minute=1_000_000_000)
PROMPT = [{"role": "system", "content": "You help. " * 40}, {"role": "user", "content": "Tell about lamps. " * 60}]


def main() -> None:
    """Print milliseconds a call, median and 95th percentile, and what the layer adds to each pair."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = socket.socketpair()
    receive, send = spawn.Pipe(duplex=False)
    with fresh_servers() as servers:
        worker = spawn.Process(target=_work, args=(theirs, send, servers), daemon=True)
        worker.start()
        theirs.close()
        bare, layered = _measure(ours, receive.recv())
        worker.kill()
        worker.join()
    added = [late - early for early, late in zip(bare, layered, strict=True)]
    verdict = "held" if statistics.median(added) * 1000 <= LIMIT_MS else "MISSED"
    table(
        f"A call to a model on the loopback, {PAIRS:,} pairs, milliseconds",
        [
            ("what", "p50", "p95", ""),
            ("CrewAI alone", *_percentiles(bare), ""),
            ("with the layer, the worker asked and told", *_percentiles(layered), ""),
            ("added, by pair", *_percentiles(added), f"p50 at most {LIMIT_MS:g}: {verdict}"),
        ],
    )


def _percentiles(seconds: list[float]) -> tuple[str, str]:
    cuts = statistics.quantiles(seconds, n=20)
    return f"{cuts[9] * 1000:.2f}", f"{cuts[18] * 1000:.2f}"


def _measure(worker: socket.socket, address: str) -> tuple[list[float], list[float]]:
    from crewai import LLM

    from crewtop.llm import around
    from crewtop.llm.call import Caller

    reporter = Reporter(worker)
    desk = Desk(reporter.send, reporter.send_soon)
    threading.Thread(target=_hear, args=(worker, desk), daemon=True).start()
    managed = Caller(TERMS, TURN, desk, lambda task_id: None)
    running: list[Caller | None] = [None]
    around.install(lambda: running[0])
    llm = LLM(model="openai/gpt-4.1-mini", base_url=address, api_key="simulated", max_retries=0)
    bare: list[float] = []
    layered: list[float] = []
    for number in range(WARM + PAIRS):
        for caller, seconds in ((None, bare), (managed, layered))[:: 1 if number % 2 else -1]:
            running[0] = caller
            begin = time.perf_counter()
            llm.call(PROMPT)
            seconds.append(time.perf_counter() - begin)
    return bare[WARM:], layered[WARM:]


def _hear(worker: socket.socket, desk: Desk) -> None:
    lines = Lines()
    with suppress(ConnectionError):
        while piece := worker.recv(65_536):
            for line in lines.feed(piece):
                desk.answer(json.loads(line))


def _work(executor: socket.socket, address: Connection, servers: embedded.Servers) -> None:
    asyncio.run(_serve(executor, address, servers))


async def _serve(executor: socket.socket, address: Connection, servers: embedded.Servers) -> None:
    reader, writer = await asyncio.open_connection(sock=executor)
    settings = Llm(limits={"openai/gpt-4.1-mini": LIMIT})
    async with Database(servers.dsn, application_name="crewtop benchmark") as database:
        await producer.enqueue(database, [portion([NewTask("bench", "{}")])])
        [claim] = await lease.claim(database, "bench", None, ["bench"], 1, 3_600.0)
        story = Story(claim, {})
        run = RunsCalls(story.let_out, asked=story.asked)
        async with serve() as provider, letting_out(settings, {}, database, servers.redis_url, "bench") as calls:
            address.send(provider.url)
            while line := await reader.readline():
                await _obey(calls, run, from_line(line), writer)


async def _obey(calls: Calls, run: RunsCalls, event: Event, writer: asyncio.StreamWriter) -> None:
    if isinstance(event, CallAsked):
        calls.asked(run, event.ask, partial(_say, writer))
    elif isinstance(event, CallSettled):
        for entry in run.asked.values():
            entry.told = True  # as CrewAI's own event of the call would have it
        await calls.settled(run, event.settled)


def _say(writer: asyncio.StreamWriter, answer: dict[str, object]) -> None:
    writer.write(json.dumps(answer).encode("ascii") + b"\n")


if __name__ == "__main__":
    main()
