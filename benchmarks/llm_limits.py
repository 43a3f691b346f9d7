"""500 requests at once, from three processes, against a provider that counts every minute to the letter.

Each process has its own Gate; the limits are shared in Redis. Beside it the same callers without a gate, which retry
with backoff as the OpenAI client does. In each process one caller more makes an urgent call (P0) every few seconds. The
provider's own books say what was admitted and what was refused.

`python -m benchmarks.llm_limits` is the whole of it, 300 s each way; `--role` is for the processes that it starts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.servers import table
from crewtop import embedded
from crewtop.live.allowances import SharedAllowances
from crewtop.llm.asking import CallAsk, Fault, Outcome, Permit, Settled
from crewtop.llm.gate import Gate, Rules
from crewtop.llm.keys import KeyPool
from crewtop.llm.outcomes import limit_headers, retry_after
from crewtop.model.allowance import Limits

MODEL = "gpt-4.1-mini"
REQUESTS, TOKENS = 3_000, 1_500_000
PROCESSES, CALLERS = 3, 500
LATENCY_SECONDS, JITTER = 2.0, 1.0
URGENT_SECONDS = 3.0
"""Between two urgent calls of a process: 60 a minute of all three, 2 % of what is allowed."""
PROMPT_TOKENS = 380
ESTIMATE = 500
"""What a caller reserves: the prompt, counted, and the most that the answer may take."""
BACKOFF_SECONDS = (0.5, 8.0)
"""The OpenAI client's: from half a second, doubling up to eight, a quarter less at random; Retry-After wins."""
KEY_NAME = "SIMULATED_KEY"


@dataclass(frozen=True, slots=True)
class Part:
    """What one process does: so many callers, for so many seconds, through a gate or without."""

    url: str
    redis_url: str
    callers: int
    seconds: float
    gated: bool
    name: str


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm_limits", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="how long each of the two runs lasts (default 300)"
    )
    parser.add_argument("--role", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.role:
        print(json.dumps(asyncio.run(_work(Part(**json.loads(flags.role))))))
        return
    table(
        f"{CALLERS} requests at once from {PROCESSES} processes, {REQUESTS:,} requests and {TOKENS:,} tokens a minute, "
        f"{flags.seconds:g} s",
        [
            (
                "",
                "answered",
                "429s",
                "of the requests allowed",
                "of the tokens allowed",
                "waits p50 / p99",
                "P0 waits p50 / p95 / max",
                "CPU a call",
            ),
            asyncio.run(_measure("through the gate", flags.seconds, gated=True)),
            asyncio.run(_measure("retries with backoff", flags.seconds, gated=False)),
        ],
    )


async def _measure(what: str, seconds: float, *, gated: bool) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory(prefix="crewtop-bench-") as folder:
        os.chmod(folder, 0o755)
        with embedded.running(Path(folder, "data")) as servers:
            provider = await _start(
                "crewtop.demo.provider", "--latency", str(LATENCY_SECONDS), "--jitter", str(JITTER),
                "--requests-per-minute", str(REQUESTS), "--tokens-per-minute", str(TOKENS),
            )  # fmt: skip
            try:
                assert provider.stdout
                url = (await provider.stdout.readline()).decode().split()[-1]
                parts = [
                    Part(url, servers.redis_url or "", callers, seconds, gated, f"w{number}")
                    for number, callers in enumerate(_portions(CALLERS, PROCESSES))
                ]
                told = await asyncio.gather(*map(_run, parts))
                async with httpx.AsyncClient(timeout=60) as client:
                    books = (await client.get(url.removesuffix("/v1") + "/__books")).json()
            finally:
                provider.terminate()
                await provider.wait()
    return _row(what, seconds, books, told)


def _row(what: str, seconds: float, books: dict[str, Any], told: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """By the provider's books. Allowed is what anybody could have had at most: a whole limit for each minute begun."""
    calls = books["calls"]
    answered = [call for call in calls if call["status"] == 200]
    refused = sum(call["status"] == 429 for call in calls) + books["dropped"]
    minutes = math.ceil(seconds / 60)
    tokens = sum(call["usage"]["total_tokens"] for call in answered)
    waits = sorted(wait for part in told for wait in part["waits"])
    urgent = sorted(wait for part in told for wait in part["urgent_waits"])
    cpu = sum(part["cpu"] for part in told) / max(1, len(answered))
    return (
        what,
        f"{len(answered):,}",
        f"{refused:,}",
        f"{len(answered) / (REQUESTS * minutes):.1%}",
        f"{tokens / (TOKENS * minutes):.1%}",
        f"{statistics.median(waits):.1f} s / {waits[int(len(waits) * 0.99)]:.1f} s",
        f"{statistics.median(urgent):.1f} s / {urgent[int(len(urgent) * 0.95)]:.1f} s / {urgent[-1]:.1f} s",
        f"{cpu * 1000:.1f} ms",
    )


async def _run(part: Part) -> dict[str, Any]:
    process = await _start("benchmarks.llm_limits", "--role", json.dumps({f: getattr(part, f) for f in part.__slots__}))
    output, _ = await process.communicate()
    if process.returncode:
        sys.exit(f"{part.name} ended with {process.returncode}")
    found: dict[str, Any] = json.loads(output)
    return found


async def _start(module: str, *arguments: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, KEY_NAME: "simulated-key", "PYTHONPATH": str(Path.cwd())}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments), stdout=asyncio.subprocess.PIPE, env=environment, limit=2**26
    )


def _portions(whole: int, parts: int) -> list[int]:
    return [whole // parts + (number < whole % parts) for number in range(parts)]


async def _work(part: Part) -> dict[str, Any]:
    """One process: its callers make one call after another until the time is over."""
    headers = {"authorization": f"Bearer {os.environ[KEY_NAME]}"}
    rules = Rules({f"openai/{MODEL}": Limits(REQUESTS, TOKENS)}, patience=math.inf)
    until, waits, urgent, seen = time.monotonic() + part.seconds, list[float](), list[float](), Counter[int]()
    async with (
        SharedAllowances(part.redis_url, part.name) as shared,
        Gate(shared, rules, KeyPool({"openai": [KEY_NAME]}), lambda: PROCESSES) as gate,
    ):

        async def caller(name: str, priority: int, waited: list[float], rest: float = 0.0) -> None:
            call = 0
            # A client each, as runs have: one with hundreds of connections looks through all of them for every call.
            async with httpx.AsyncClient(base_url=part.url, headers=headers, timeout=60, verify=False) as client:
                while time.monotonic() < until:
                    await asyncio.sleep(rest)
                    call += 1
                    start = time.monotonic()
                    if part.gated:
                        seen[await _gated(client, gate, f"{part.name}-{name}-{call}", priority, waited)] += 1
                    else:
                        await _retrying(client, seen, until)
                        waited.append(time.monotonic() - start)

        callers = [asyncio.create_task(caller(str(number), 3, waits)) for number in range(part.callers)]
        callers.append(asyncio.create_task(caller("urgent", 0, urgent, URGENT_SECONDS)))
        await asyncio.sleep(part.seconds)
        for task in callers:
            task.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
    return {"waits": waits, "urgent_waits": urgent, "cpu": time.process_time(), "statuses": seen}


async def _gated(client: httpx.AsyncClient, gate: Gate, call: str, priority: int, waits: list[float]) -> int:
    queue = "urgent" if priority == 0 else "support"
    permit = await gate.enter(CallAsk(call, "openai", MODEL, ESTIMATE, "crew", queue, priority))
    assert isinstance(permit, Permit)
    waits.append(permit.waited)
    response = await _post(client)
    usage = response.json().get("usage") or {}
    await gate.settle(
        Settled(
            call,
            Outcome.ANSWERED if response.is_success else Outcome.REFUSED,
            usage.get("total_tokens"),
            response.status_code,
            retry_after(response.headers),
            limit_headers(response.headers),
            Fault.RATE_LIMIT if response.status_code == 429 else None,
        )
    )
    return response.status_code


async def _retrying(client: httpx.AsyncClient, seen: Counter[int], until: float) -> None:
    rest = BACKOFF_SECONDS[0]
    while time.monotonic() < until:
        response = await _post(client)
        seen[response.status_code] += 1
        if response.is_success:
            return
        asked = retry_after(response.headers)
        await asyncio.sleep(asked if asked is not None and asked <= 60 else rest * random.uniform(0.75, 1.0))
        rest = min(BACKOFF_SECONDS[1], 2 * rest)


async def _post(client: httpx.AsyncClient) -> httpx.Response:
    message = {"role": "user", "content": "lamp " * (PROMPT_TOKENS * 4 // 5)}
    return await client.post("/chat/completions", json={"model": MODEL, "messages": [message]})


if __name__ == "__main__":
    main()
