"""A storm of 429s and a key that dies, in the midst of crews at work; throughput is read off the providers' own books.

Two workers run crews for two providers. One of them revokes one of its three keys and refuses every call for a while;
the same workers go on with the other's. `python -m benchmarks.llm_storm`
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.llm_place import Place, Provider, place, provider, versions, wait_until
from benchmarks.servers import table
from crewtop.admission import Task

KEYS = {"KEY_ONE": "sk-simulated-one-1111", "KEY_TWO": "sk-simulated-two-2222", "KEY_THREE": "sk-simulated-tri-3333"}
CONFIGURATION = f"""
[llm.providers.openai]
keys = [{", ".join(f'"{name}"' for name in KEYS)}]
[llm.limits.openai]
at_once = 100
[llm.limits.deepseek]
at_once = 100
"""
LATENCY, LONGEST_SECONDS = ("--latency", "2", "--jitter", "0.5"), 3.0
WORKERS, SLOTS, AT_ONCE = 2, 12, 10
QUEUES = {"one": "desk", "other": "second"}
WARM_SECONDS, BEFORE_SECONDS, STORM_SECONDS, AFTER_SECONDS = 6.0, 15.0, 20.0, 25.0
RETRY_AFTER_SECONDS = 2
WINDOW_SECONDS = 4.0
RECOVERED = 0.9
LIMIT_SECONDS = 10.0
MOST_TASKS = 2_000
INPUTS = {"customer": "Ada", "order_id": "A-1004"}


@dataclass(frozen=True, slots=True)
class Course:
    """When the storm began and ended, and the measuring, in seconds of time.time()."""

    begin: float
    storm: float
    calm: float
    end: float


def main() -> None:
    """Print the table; exit with 1 where an attempt was spent or it took longer than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm_storm", description=__doc__.splitlines()[0])
    parser.add_argument("--storm", type=float, default=STORM_SECONDS, help="seconds that it lasts (default 20)")
    flags = parser.parse_args()
    with (
        provider(*LATENCY) as first,
        provider(*LATENCY) as second,
        place(CONFIGURATION, CREWTOP_DEMO_PROVIDER=first.url, SECOND_PROVIDER=second.url, **KEYS) as at,
    ):
        good = asyncio.run(_measure(at, first, second, flags.storm))
    sys.exit(0 if good else 1)


async def _measure(at: Place, first: Provider, second: Provider, seconds: float) -> bool:
    await _enqueue(at)
    course = await asyncio.to_thread(run_through, at, first, second, seconds)
    stormy, calm = first.calls(), second.calls()
    [row] = await at.sql(
        """SELECT sum(failed_runs + crashed_runs) AS spent, sum(throttled_runs) AS returned,
                  count(*) FILTER (WHERE status = 'failed') AS failed,
                  count(*) FILTER (WHERE status = 'completed') AS done
           FROM crewtop.tasks"""
    )
    back = recovery(stormy, course)
    took = "never" if back is None else f"{back:.1f}"
    table(
        f"A storm of {seconds:g} s (429, Retry-After {RETRY_AFTER_SECONDS} s) and one dead key of {len(KEYS)}; "
        f"answers a second by the providers' books; {await versions(at)}",
        [
            ("what", "before", "during", "after", "after / before"),
            _phases("provider in the storm", stormy, course),
            _phases("the other provider", calm, course),
            ("seconds until 90 % of before", "", "", took, f"limit {LIMIT_SECONDS:g}"),
            ("tasks that failed, attempts spent", "", "", f"{row['failed']}, {row['spent']}", "limit 0, 0"),
            ("runs handed back at no cost, tasks done", "", "", f"{row['returned']}, {row['done']}", ""),
            ("refusals met: 429, 401", "", "", f"{_refused(stormy, 429)}, {_refused(stormy, 401)}", ""),
            (
                "refusals of the other provider",
                "",
                "",
                f"{sum(call['status'] != 200 for call in _ended(calm))}",
                "limit 0",
            ),
        ],
    )
    return back is not None and back <= LIMIT_SECONDS and not row["failed"] and not row["spent"]


def run_through(at: Place, first: Provider, second: Provider, seconds: float) -> Course:
    """Start the workers, let the storm begin and end, and answer when that was."""
    for _ in range(WORKERS):
        at.worker("--slots", str(SLOTS), "--crews-per-process", str(SLOTS))
    wait_until(lambda: all(len(_ended(one.calls())) >= SLOTS for one in (first, second)), patience=120.0)
    time.sleep(WARM_SECONDS)
    begin = time.time()
    time.sleep(BEFORE_SECONDS)
    first.order("revoke", key=KEYS["KEY_TWO"])
    first.order("storm", retry_after=RETRY_AFTER_SECONDS)
    storm = time.time()
    time.sleep(seconds)
    first.order("calm")
    calm = time.time()
    time.sleep(AFTER_SECONDS)
    return Course(begin, storm, calm, time.time())


async def _enqueue(at: Place) -> None:
    """More than can be done, in a queue for each provider that is limited so that neither takes the other's slots."""
    for queue in QUEUES:
        await at.crewtop("limit", "queue", queue, "--max-running", str(AT_ONCE))
    async with at.queue() as producer:
        for queue, crew in QUEUES.items():
            await producer.enqueue_many(Task(crew, INPUTS, queue=queue) for _ in range(MOST_TASKS))


def recovery(calls: Sequence[dict[str, Any]], course: Course) -> float | None:
    """Seconds from the storm's end to the end of the first four that have 90 % of the answers of before."""
    wanted = RECOVERED * _rate(calls, course.begin, course.storm)
    at = course.calm
    while at + WINDOW_SECONDS <= course.end:
        if _rate(calls, at, at + WINDOW_SECONDS) >= wanted:
            return at + WINDOW_SECONDS - course.calm
        at += 0.1
    return None


def _phases(what: str, calls: Sequence[dict[str, Any]], course: Course) -> tuple[str, ...]:
    """During: without the seconds of what was on its way. After: once the time that is allowed is over."""
    before = _rate(calls, course.begin, course.storm)
    during = _rate(calls, course.storm + LONGEST_SECONDS, course.calm)
    after = _rate(calls, course.calm + LIMIT_SECONDS, course.end)
    return what, f"{before:.1f}", f"{during:.1f}", f"{after:.1f}", f"{after / before:.2f}"


def _rate(calls: Sequence[dict[str, Any]], begin: float, end: float) -> float:
    """Answers a second."""
    answered = sum(call["status"] == 200 and begin <= call["arrived"] + call["seconds"] < end for call in _ended(calls))
    return answered / (end - begin)


def _ended(calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for call in calls if call["seconds"] is not None]


def _refused(calls: Sequence[dict[str, Any]], status: int) -> int:
    return sum(call["status"] == status for call in calls)


if __name__ == "__main__":
    main()
