"""The ledger against the provider's own books, call by call, while executors and workers are killed.

Calls of every kind (plain, streamed, cached, reasoning, with tools; in threads and in an event loop) meet 429s, 500s,
answers without usage and calls that hang; every few seconds an executor or a worker gets a -9. Each request carries the
ledger's name of its call, so that nothing is compared by sums alone. `python -m benchmarks.llm_books --calls 10000`
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import psutil

from benchmarks.llm_place import Place, Provider, place, provider, versions
from benchmarks.servers import table
from crewtop.admission import Task

RATES = {"gpt-4.1": ("2", "0.5", "8"), "gpt-4.1-mini": ("0.4", "0.1", "1.6"), "o4-mini": ("1.1", "0.275", "4.4")}
"""What the provider takes, in dollars a million tokens: uncached input, cached input, output with its reasoning."""

CONFIGURATION = """
[llm]
first_byte_seconds = 3
[llm.limits.openai]
at_once = 200
[llm.prices]
""" + "\n".join(
    f'"openai/{model}" = {{ input = {plain}, cache_read = {cached}, output = {out} }}'
    for model, (plain, cached, out) in RATES.items()
)
FAULTS = (
    "--latency", "0.25", "--jitter", "1", "--rate-429", "0.01", "--retry-after", "0", "--rate-500", "0.02",
    "--rate-no-usage", "0.03", "--rate-hang", "0.002",
)  # fmt: skip
WORKERS, CALLS_A_TASK, DESK_SHARE = 2, 20, 0.15
HARM_SECONDS, EXECUTOR_SHARE = 8.0, 0.75
PATIENCE_SECONDS = 1_800.0
KINDS = ("input", "cache_read", "output", "reasoning")
UNKNOWN = ("answered without usage", "failed with 500", "never answered in time", "cut by a kill")
LEDGER = """
SELECT call_id, outcome, input_tokens, cache_read_tokens, output_tokens, reasoning_tokens, cost
FROM crewtop.llm_calls
"""


@dataclass(slots=True)
class Sums:
    """One side's: calls by what became of them, tokens by kind and dollars of those that are known to both."""

    calls: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    dollars: Decimal = Decimal(0)

    def count(self, what: str) -> None:
        """One more call."""
        self.calls[what] = self.calls.get(what, 0) + 1

    def add(self, tokens: Mapping[str, int], dollars: Decimal) -> None:
        """Its tokens and its price."""
        for kind in KINDS:
            self.tokens[kind] += tokens[kind]
        self.dollars += dollars


@dataclass(slots=True)
class Comparison:
    """wrong: calls on which the two differ, with both sides' word. lost_dollars: of answers that a kill cut off."""

    provider: Sums = field(default_factory=Sums)
    ledger: Sums = field(default_factory=Sums)
    lost_dollars: Decimal = Decimal(0)
    wrong: list[str] = field(default_factory=list)

    @property
    def unknown(self) -> int:
        """Calls of which the ledger has to say that it does not know."""
        return sum(self.ledger.calls.get(what, 0) for what in (*UNKNOWN, "killed before it went out"))


def compare(books: Iterable[Mapping[str, Any]], ledger: Iterable[Mapping[str, Any]]) -> Comparison:
    """Compare the provider's calls, as its books give them, with rows of LEDGER."""
    found = Comparison()
    rows = {row["call_id"]: row for row in ledger}
    for call in books:
        row = rows.pop(call["client_id"], None)
        if row is None:
            found.provider.count("in one of the two only")
            found.wrong.append(f"not in the ledger: {dict(call)}")
        else:
            _compare(found, call, row)
    for row in rows.values():
        killed = row["outcome"] == "killed" and row["cost"] is None
        found.ledger.count("killed before it went out" if killed else "in one of the two only")
        if not killed:
            found.wrong.append(f"not in the books: {dict(row)}")
    return found


def _compare(found: Comparison, call: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    there, here = _in_books(call), _in_ledger(row)
    if here == "cut by a kill":
        there = here
        found.lost_dollars += _bill(call)
    found.provider.count(there)
    found.ledger.count(here)
    paid, booked = _bill(call), row["cost"]
    if there in UNKNOWN:
        agree = booked is None
    elif there == "refused, not billed":
        agree = booked == 0
    else:
        agree = _tokens(call) == _booked(row) and booked == paid
        found.provider.add(_tokens(call), paid)
        found.ledger.add(_booked(row), booked or Decimal(0))
    if there != here or not agree:
        found.wrong.append(f"books: {there} {dict(call)}; ledger: {here} {dict(row)}")


def _in_books(call: Mapping[str, Any]) -> str:
    match call["status"]:
        case 200:
            return "answered" if call["usage_reported"] else "answered without usage"
        case 401 | 429:
            return "refused, not billed"
        case 500:
            return "failed with 500"
    return "never answered in time"


def _in_ledger(row: Mapping[str, Any]) -> str:
    match row["outcome"]:
        case "ok":
            return "answered without usage" if row["cost"] is None else "answered"
        case "rate_limited" | "refused":
            return "refused, not billed"
        case "error":
            return "failed with 500"
        case "killed":
            return "cut by a kill"
        case "timeout":
            return "never answered in time"
    return str(row["outcome"])


def _tokens(call: Mapping[str, Any]) -> dict[str, int]:
    usage = call["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return {
        "input": usage["prompt_tokens"] - cached,
        "cache_read": cached,
        "output": usage["completion_tokens"],
        "reasoning": usage["completion_tokens_details"]["reasoning_tokens"],
    }


def _booked(row: Mapping[str, Any]) -> dict[str, int]:
    return {kind: row[f"{kind}_tokens"] or 0 for kind in KINDS}


def _bill(call: Mapping[str, Any]) -> Decimal:
    """What the provider takes for a call: for whatever it has answered, whether anybody heard it or not."""
    if call["usage"] is None:
        return Decimal(0)
    plain, cached, out = map(Decimal, RATES[call["model"]])
    used = _tokens(call)
    return (used["input"] * plain + used["cache_read"] * cached + used["output"] * out) / 1_000_000


def main() -> None:
    """Print the table; exit with 1 where the two differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm_books", description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000, help="how many, with those of repeated runs (default)")
    parser.add_argument("--seed", type=int, default=7, help="of what is killed when (default 7)")
    flags = parser.parse_args()
    with provider(*FAULTS) as simulated, place(CONFIGURATION, CREWTOP_DEMO_PROVIDER=simulated.url) as at:
        wrong = asyncio.run(_measure(at, simulated, flags.calls, random.Random(flags.seed)))
    sys.exit(1 if wrong else 0)


async def _measure(at: Place, simulated: Provider, calls: int, draw: random.Random) -> bool:
    began = time.monotonic()
    kills = await work_and_kill(at, calls, draw)
    seconds = time.monotonic() - began
    found = compare(simulated.calls(), await at.sql(LEDGER))
    for difference in found.wrong[:5]:
        print(difference, file=sys.stderr)
    total = await at.cost()
    killed = ", ".join(f"{number} {what}" for what, number in kills.items())
    table(
        f"Ledger and the provider's own books: {sum(found.provider.calls.values()):,} calls in {seconds:.0f} s, "
        f"killed with -9: {killed}; {await versions(at)}",
        [("what", "provider", "ledger", "difference"), *_rows(found, total)],
    )
    print(f"\nOf answers that a kill cut off the provider bills ${found.lost_dollars:f}, which no client can know.")
    return (
        bool(found.wrong)
        or Decimal(total["known_usd"]) != found.ledger.dollars
        or total["unknown_calls"] != found.unknown
    )


def _rows(found: Comparison, total: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    there, here = found.provider, found.ledger
    for what in ("answered", "refused, not billed"):
        yield _row(f"calls {what}", there.calls.get(what, 0), here.calls.get(what, 0))
    names = ("uncached input tokens", "cached input tokens", "output tokens", "of these reasoning")
    for kind, name in zip(KINDS, names, strict=True):
        yield _row(name, there.tokens[kind], here.tokens[kind])
    yield ("dollars", f"{there.dollars:f}", f"{here.dollars:f}", f"{here.dollars - there.dollars:f}")
    yield (
        "dollars by `crewtop cost`",
        "",
        f"{Decimal(total['known_usd']):f}",
        f"{Decimal(total['known_usd']) - there.dollars:f}",
    )
    for what in UNKNOWN:
        yield _row(f"unknown: {what}", there.calls.get(what, 0), here.calls.get(what, 0))
    before = here.calls.get("killed before it went out", 0)
    yield ("unknown: let out, and killed before it went out", "", f"{before:,}", "")
    yield (
        "unknown by `crewtop cost`",
        "",
        f"{total['unknown_calls']:,}",
        f"{total['unknown_calls'] - found.unknown:,}",
    )
    yield _row("calls that only one of the two has", *(s.calls.get("in one of the two only", 0) for s in (there, here)))
    yield ("calls that differ in anything", "", f"{len(found.wrong):,}", "")


def _row(what: str, there: int, here: int) -> tuple[str, ...]:
    return what, f"{there:,}", f"{here:,}", f"{here - there:,}"


async def work_and_kill(
    at: Place, calls: int, draw: random.Random, harm_seconds: float = HARM_SECONDS
) -> dict[str, int]:
    """Let tasks make so many calls, kill on the way, and return what was killed once all is quiet."""
    kills = {"executors": 0, "workers": 0}
    for _ in range(WORKERS):
        _start(at)
    async with at.queue() as queue:
        await queue.enqueue_many(_tasks(calls))
    due, until = time.monotonic() + 2 * harm_seconds, time.monotonic() + PATIENCE_SECONDS
    while await _left(at):
        if time.monotonic() > until:
            raise SystemExit(f"not at its end after {PATIENCE_SECONDS:g} s")
        await asyncio.sleep(0.5)
        if time.monotonic() > due and (killed := _harm(at, draw)):
            kills[killed] += 1
            due = time.monotonic() + harm_seconds
    return kills


def _harm(at: Place, draw: random.Random) -> str | None:
    """Kill one, if all have come up that should be there: who only kills what just starts will never see a call."""
    executors = [at.executors(worker) for worker in at.workers]
    if not all(executors):
        return None
    number = draw.randrange(len(executors))
    if draw.random() < EXECUTOR_SHARE:
        with suppress(psutil.Error):
            draw.choice(executors[number]).kill()
        return "executors"
    at.kill(at.workers[number])
    _start(at)
    return "workers"


def _start(at: Place) -> None:
    at.worker("--slots", "16", "--crews-per-process", "8")


async def _left(at: Place) -> bool:
    [row] = await at.sql(
        """SELECT EXISTS (SELECT FROM crewtop.tasks WHERE finished_at IS NULL)
               OR EXISTS (SELECT FROM crewtop.llm_calls WHERE outcome = 'started') AS left"""
    )
    return bool(row["left"])


def _tasks(calls: int) -> list[Task]:
    """Three calls a task where a crew with tools makes them."""
    by_desks = int(calls * DESK_SHARE)
    desks = [
        Task("desk", {"customer": "Ada", "order_id": f"A-{1001 + number % 40}"}, max_attempts=50)
        for number in range(by_desks // 3)
    ]
    callers = [
        Task(("calls", "calls_later")[number % 2], {"n": number * 7, "calls": CALLS_A_TASK}, max_attempts=50)
        for number in range(-(-(calls - by_desks) // CALLS_A_TASK))
    ]
    mixed = desks + callers
    random.Random(0).shuffle(mixed)
    return mixed


if __name__ == "__main__":
    main()
