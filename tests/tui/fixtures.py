"""A busy shop at one fixed instant, and a source that shows it: what pictures and tests of the screen look at."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache

from crewtop.model.alerts import Alert, Silence
from crewtop.model.allowance import AllowanceState
from crewtop.model.budgets import BudgetRow
from crewtop.model.detail import CallRow, Excerpt, HistoryRow, RunRow, StepRow, TaskDetail, TaskPage, TaskRow, ToolRow
from crewtop.model.failures import FailureGroup, Failures
from crewtop.model.filters import TaskFilter
from crewtop.model.live import Happening, Happenings, LogLine, Transition
from crewtop.model.money import Money
from crewtop.model.operations import (
    Action,
    ItemOutcome,
    Matching,
    Operation,
    OperationResult,
    Order,
    Scope,
    State,
    Target,
)
from crewtop.model.providers import Circuit, KeyHealth, Providers
from crewtop.model.snapshot import Health, Percentiles, Point, QueueRow, RunningRow, Snapshot, Throttle, WorkerRow
from crewtop.model.spending import ModelUsage, Spending, Spent, SpentIn
from crewtop.model.task import TaskStatus
from crewtop.tui.session import Session
from crewtop.tui.source import Body, LogLines, Unavailable

NOW = datetime(2026, 3, 14, 14, 2, 11, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def usd(known: str, unknown: int = 0, calls: int = 4) -> Money:
    return Money(Decimal(known), unknown, calls)


QUEUES = (
    QueueRow(
        "support",
        ready=812,
        later=40,
        running=20,
        retry=3,
        completed=48_210,
        failed=12,
        done_per_minute=840,
        oldest=362,
        level=0.924,
        wait=Percentiles(2_292, 0.2, 2.1, 4.0),
        run=Percentiles(2_280, 9, 41, 63),
        ended=2_280,
        error_rate=0.004,
        cost_per_1000=usd("2.31"),
    ),
    QueueRow(
        "research",
        paused=True,
        paused_by="dana@ops1",
        paused_reason="provider invoice unclear",
        ready=391,
        running=4,
        stuck=1,
        completed=1_204,
        done_per_minute=22,
        oldest=48,
        level=0.991,
        wait=Percentiles(64, 12, 48, 61),
        run=Percentiles(61, 130, 390, 420),
        error_rate=0.02,
        cost_per_1000=usd("48.2", 3),
    ),
    QueueRow(
        "returns",
        ready=1,
        completed=9_120,
        failed=2,
        done_per_minute=310,
        oldest=1,
        level=1.0,
        wait=Percentiles(930, 0.1, 0.6, 0.9),
        run=Percentiles(930, 7, 19, 24),
        error_rate=0.0,
        cost_per_1000=usd("1.94"),
    ),
    QueueRow(
        "product",
        retry=1,
        running=1,
        completed=20_114,
        done_per_minute=512,
        level=1.0,
        wait=Percentiles(15, 0.1, 0.3, 0.4),
        run=Percentiles(15, 4, 11, 12),
        error_rate=0.001,
        cost_per_1000=usd("0.42"),
    ),
    QueueRow(
        "nightly",
        ready=6,
        later=120,
        oldest=95.0,
        next_due=NOW + timedelta(hours=9),
        no_worker=("translate",),
        unserved=126,
    ),
)


def _wave(i: int, base: float, swing: float, end: float) -> float:
    """A plausible curve that ends in a rise."""
    return (
        base + swing * math.sin(i / 7) + swing * 0.4 * math.sin(i / 2.3) + (end - base) * max(0.0, (i - 66) / 24) ** 2
    )


SERIES = tuple(
    Point(
        at=ago(900 - 10 * i + 1),
        backlog=round(_wave(i, 380, 70, 1_204)),
        arrived=round(_wave(i, 380, 30, 400)),
        done=round(_wave(i, 370, 40, 382)),
        failed=0,
        wait_p95=max(0.05, _wave(i, 0.4, 0.25, 2.1)),
        run_p95=_wave(i, 29, 5, 41),
        spend=max(0.0, _wave(i, 0.006, 0.002, 0.0095)),
        wait_p50=max(0.02, _wave(i, 0.1, 0.04, 0.2)),
        wait_p99=max(0.1, _wave(i, 0.9, 0.5, 4.0)),
        run_p50=_wave(i, 7, 1, 9),
        run_p99=_wave(i, 44, 8, 63),
        oldest=max(0.0, _wave(i, 4, 3, 362)),
    )
    for i in range(90)
)

WORKERS = (
    WorkerRow(
        "db1-7c2e91", "db1", 4017, "running", 12, None, 12, None, ("support", "returns", "product", "briefing"),
        ago(86_400 * 3), 1.2, 64.0, 1_932_735_283, "0.1.0",
    ),
    WorkerRow(
        "db2-19aa04", "db2", 991, "running", 12, 14, 9, ("support", "research"), ("support", "briefing"),
        ago(7_300), 2.0, 41.0, 1_288_490_188, "0.1.0",
    ),
    WorkerRow(
        "db3-e5b077", "db3", 20_133, "draining", 8, None, 3, None, ("support", "returns", "product"),
        ago(540), 0.4, 17.0, 604_110_028, "0.1.0",
    ),
    WorkerRow(
        "batch-00f3d1", "batch.eu-west-1.internal", 77, "late", 4, None, 1, ("nightly",), ("translate",),
        ago(90_000), 74.0, None, None, "0.1.0",
    ),
)  # fmt: skip

RUNNING = (
    RunningRow(
        48_201, 9_120, "research", "briefing", 1, "db2-19aa04", 372, 252, 2, 3, "Analyst", "gpt-4.1", 18_204,
        usd("0.21", 1), "no progress for 4m 12s in gpt-4.1", False,
    ),
    RunningRow(
        48_977, 9_201, "support", "support", 2, "db1-7c2e91", 6, 1, 1, 2, "Order clerk", "tool lookup_order", 1_902,
        usd("0.0008"), None, False,
    ),
    RunningRow(
        48_978, 9_202, "returns", "returns", 3, "db1-7c2e91", 3, 2, 2, 2, "Returns clerk", "deepseek-v3", 2_410,
        usd("0.0010"), None, True,
    ),
    RunningRow(
        48_983, 9_207, "product", "product", 3, "db3-e5b077", 1, 0, 1, 1, "Catalogue", "gemini-2.5-flash", 640,
        usd("0.0004"), None, False,
    ),
    RunningRow(
        48_990, 9_211, "support", "sync_stock", 4, "db3-e5b077", 41, 41, None, None, None, None, 0,
        Money(), None, False,
    ),
)  # fmt: skip

BUSY = Snapshot(
    at=NOW,
    database="shop",
    host="db1",
    role="ops",
    postgres=Health(True, 0.0012, "PostgreSQL 18.1"),
    redis=Health(True, 0.0004, "Valkey 8.1"),
    window_seconds=900,
    queues=QUEUES,
    series=SERIES,
    workers=WORKERS,
    running=RUNNING,
    running_total=25,
    wait=Percentiles(2_292, 0.2, 2.1, 4.0),
    run=Percentiles(2_292, 9, 41, 63),
    spend_per_hour=usd("3.41"),
    spend_pace=usd("2.92"),
    spend_today=usd("61.20"),
)

INCIDENT = replace(
    BUSY,
    redis=Health(False, None, "connection refused by db1:6379"),
    queues=(
        replace(
            QUEUES[0],
            failed=4_120,
            ended=2_385,
            error_rate=0.62,
            done_per_minute=31,
            level=0.41,
            oldest=1_262.0,
            no_worker=("refund",),
            unserved=1,
        ),
        *QUEUES[1:3],
        replace(QUEUES[3], ready=204, oldest=71.0, throttled=(Throttle("product", "deepseek", 27.0),)),
        *QUEUES[4:],
    ),
    workers=(
        replace(WORKERS[0], clock_offset=-4.2),
        replace(WORKERS[1], state="late", heartbeat_age=41.0, cpu_percent=None, memory_bytes=None),
        WORKERS[2],
        replace(WORKERS[3], heartbeat_age=74.0, busy=2),
    ),
    running=(
        *RUNNING,
        replace(RUNNING[1], task_id=48_993, run_id=9_214, age=912, idle=9, stuck="over budget: 15m 12s of 10m"),
        replace(RUNNING[2], task_id=48_994, run_id=9_215, worker_id="db2-19aa04", stuck="lease expired 14s ago"),
    ),
)
"""Workers that died, a queue that fails, one without workers, stuck runs, a provider that says no, and no Redis."""

ALLOWANCES = (
    AllowanceState("deepseek", "deepseek-chat", "-", None, 12, None, 20_410, 40, 8, None, None),
    AllowanceState("openai", "*", "OPENAI_API_KEY", None, 0, None, 0, 200, 41),
    AllowanceState(
        "openai", "gpt-4.1", "OPENAI_API_KEY", 3_000, 2_994, 1_500_000, 1_398_211, None, 41, 27.0, "limit reached"
    ),
    AllowanceState(
        "openai", "gpt-4.1", "OPENAI_API_KEY_2", 3_000, 1_020, 1_500_000, 401_000, None, 0, 58.0,
        "the provider asked to wait",
    ),
    AllowanceState("openai", "gpt-4.1-mini", "OPENAI_API_KEY", 10_000, 812, None, 190_000, None, 3),
)  # fmt: skip

HELD_BACK = replace(
    BUSY,
    queues=(
        QUEUES[0],
        replace(QUEUES[1], paused_by="its budget", paused_reason="spent: it goes on at midnight UTC", by_budget=True),
        *QUEUES[2:],
    ),
    providers=Providers(
        ALLOWANCES,
        (
            Circuit("anthropic", "claude-sonnet-4", "open", 12.0, "overloaded", 7, 2),
            Circuit("google", "gemini-2.5-flash", "half-open", 0.0, "timeout", 5),
        ),
        (
            KeyHealth("anthropic", "ANTHROPIC_API_KEY", "ready"),
            KeyHealth("openai", "OPENAI_API_KEY", "ready", of=2, workers=2),
            KeyHealth("openai", "OPENAI_API_KEY_2", "resting", 58.0, "rate limit", 2, 2),
            KeyHealth("openai", "OPENAI_API_KEY_3", "retired", None, "refused by the provider", 1, 2),
        ),
    ),
    budgets=(
        BudgetRow("total", "", Decimal(200), Decimal("61.20"), 7, Decimal("112.40"), "ok", judged_at=NOW),
        BudgetRow("crew", "briefing", Decimal(50), Decimal("44.00"), 0, Decimal("71.90"), "warn", judged_at=NOW),
        BudgetRow(
            "queue", "research", Decimal(40), Decimal("44.03"), 0, Decimal("44.03"), "held",
            NOW.replace(hour=0, minute=0, second=0) + timedelta(days=1), NOW,
        ),
    ),
)  # fmt: skip
"""A provider that is throttled, two models that do not answer, a key that is retired, a budget that is spent."""

EMPTY = Snapshot(
    at=NOW,
    database="shop",
    host="db1",
    role="ops",
    postgres=Health(True, 0.0012),
    redis=Health(True, 0.0004),
    window_seconds=900,
)


def task(task_id: int, status: str = "completed", **changes: object) -> TaskRow:
    """A task with ordinary values, but for the changes."""
    base = TaskRow(
        id=task_id,
        queue="support",
        crew="support",
        status=TaskStatus(status),
        version=7,
        priority=2,
        age=3_000.0 - (task_id % 97) * 30,
        created_at=ago(3_000.0 - (task_id % 97) * 30),
        run_at=ago(2_990),
        finished_at=ago(2_900) if TaskStatus(status).ended else None,
        attempt=1,
        max_attempts=3,
        step_position=2,
        step_count=2,
        agent="Order clerk",
        activity=None,
        tokens=4_120,
        cost=usd("0.0017"),
        error=None,
        cancelling=False,
        stuck=None,
        worker_id=None,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


TASKS = (
    task(48_990, "running", crew="sync_stock", priority=4, age=44.0, step_position=None, step_count=None, agent=None,
         tokens=0, cost=Money(), worker_id="db3-e5b077"),
    task(48_983, "running", queue="product", crew="product", priority=3, age=2.0, step_position=1, step_count=1,
         agent="Catalogue", activity="gemini-2.5-flash", tokens=640, cost=usd("0.0004"), worker_id="db3-e5b077"),
    task(48_978, "running", queue="returns", crew="returns", priority=3, age=5.0, agent="Returns clerk",
         activity="deepseek-v3", tokens=2_410, cost=usd("0.0010"), cancelling=True, worker_id="db1-7c2e91"),
    task(48_977, "running", age=9.0, step_position=1, activity="tool lookup_order", tokens=1_902,
         cost=usd("0.0008"), worker_id="db1-7c2e91"),
    task(48_960, "pending", age=48.0, attempt=0, step_position=None, step_count=None, agent=None, tokens=0,
         cost=Money()),
    task(48_951, "retry", queue="product", crew="product", priority=3, age=75.0, attempt=1, tokens=1_116,
         cost=usd("0.0005"), run_at=NOW + timedelta(seconds=20), error="RateLimitError: 429 slow down, retry in 20 s"),
    task(48_944, "waiting", crew="briefing", queue="research", priority=1, age=90.0, attempt=0, step_position=None,
         step_count=None, agent=None, tokens=0, cost=Money()),
    task(48_940, "completed", age=130.0, finished_at=ago(96)),
    task(48_201, "running", queue="research", crew="briefing", priority=1, age=400.0, attempt=2, step_count=3,
         agent="Analyst", activity="gpt-4.1", tokens=18_204, cost=usd("0.21", 1), worker_id="db2-19aa04",
         stuck="no progress for 4m 12s in gpt-4.1"),
    task(47_802, "failed", attempt=3, age=3_480.0, error="RateLimitError: 429 quota exhausted for gpt-4.1 in eu-west"),
    task(47_801, "failed", attempt=3, age=3_420.0, priority=1, step_position=1, tokens=1_204, cost=usd("0.0005"),
         error="timeout after 60 s in gpt-4.1"),
    task(47_800, "failed", attempt=3, age=3_060.0, step_position=1, tokens=0, cost=usd("0", 2),
         error="killed: signal 9, likely out of memory"),
    task(47_799, "failed", attempt=1, age=3_000.0, priority=3, tokens=6_310, cost=usd("0.0026"),
         error="ToolError: order B-771 has no such line [/] see [bold]"),
    task(47_795, "cancelled", attempt=1, age=2_940.0, priority=3, tokens=5_002, cost=usd("0.0021"),
         error="cancelled by dana@ops1: duplicate"),
    task(47_790, "completed", age=2_880.0, tokens=4_870, cost=usd("0.002", 1)),
    task(47_788, "failed", attempt=3, age=2_640.0, step_position=1, tokens=1_116, cost=usd("0.0005"),
         error="ValueError: see \x1b[2J here (escape \x9b31m in the answer)"),
)  # fmt: skip


@cache
def many(count: int) -> tuple[TaskRow, ...]:
    """The list above and older completed tasks behind it."""
    return TASKS + tuple(
        task(47_700 - i, "completed" if i % 5 else "failed", age=4_000.0 + 30 * i) for i in range(count - len(TASKS))
    )


def excerpt(text: str) -> Excerpt:
    return Excerpt(text, len(text.encode()))


INPUTS = (
    '{"topic": "EU battery recycling", "audience": "board", "api_key": "sk-proj-Zx81kQ9vTq0aa7bLm4f2a", '
    '"sources": ["eurostat", "icct", "bnef"], "limits": {"words": 900, "deadline": "2026-03-15"}}'
)
TRACEBACK = """Traceback (most recent call last):
  File "crews/briefing.py", line 88, in analyse
    answer = self.llm.call(messages)
  File "crews/llm.py", line 41, in call
    raise ProviderTimeout("no answer within 60 s")
ProviderTimeout: no answer within 60 s
"""


def call(run: int, step: int, agent: str, at: float, seconds: float | None, **changes: object) -> CallRow:
    base = CallRow(
        run, f"call-{run}-{at:g}", step, agent, "openai", "gpt-4.1", "ok", ago(at), seconds,
        6_204, 4_096, 0, 1_180, 0, usd("0.0147", calls=1), "genai-prices 0.0.40", None,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


STUCK = TaskDetail(
    at=NOW,
    task=TASKS[8],
    inputs=excerpt(INPUTS),
    runs=(
        RunRow(9_120, "db2-19aa04", "running", ago(252), 20, None, None, None, None, None, None, False, 0, None),
        RunRow(
            9_044, "db1-7c2e91", "failed", ago(396), 4, ago(272), 124, None, "ProviderTimeout",
            excerpt("no answer within 60 s"), excerpt(TRACEBACK), False, 0, excerpt("calling gpt-4.1\nno answer\n"),
        ),
    ),
    steps=(
        StepRow(9_044, 1, "research", "Researcher", "Find sources", "completed", excerpt("..."), None, ago(395), 54),
        StepRow(9_044, 2, "analyse", "Analyst", "Weigh them", "failed", None, "no answer within 60 s", ago(341), 69),
        StepRow(9_120, 1, "research", "Researcher", "Find sources", "completed", excerpt("..."), None, ago(395), 54,
                resumed_from=9_044),
        StepRow(9_120, 2, "analyse", "Analyst", "Weigh them", "running", None, None, ago(251), None),
    ),
    calls=(
        call(9_044, 1, "Researcher", 390, 9.2),
        call(9_044, 1, "Researcher", 370, 14.0, input_tokens=9_410, cache_read_tokens=8_192, output_tokens=2_002,
             cost=usd("0.0225", calls=1)),
        call(9_044, 2, "Analyst", 332, 60.0, input_tokens=12_330, cache_read_tokens=8_192, output_tokens=None,
             reasoning_tokens=None, cost=usd("0", 1, 1), outcome="timeout", error="no answer within 60 s"),
        call(9_120, 2, "Analyst", 250, None, input_tokens=12_330, cache_read_tokens=12_288, output_tokens=None,
             reasoning_tokens=None, cost=usd("0", 1, 1), outcome="started"),
    ),
    history=(
        HistoryRow(1, ago(400), None, "pending", None, "producer shop-api", None),
        HistoryRow(2, ago(396), "pending", "running", 9_044, "worker db1-7c2e91", None),
        HistoryRow(3, ago(272), "running", "retry", 9_044, "worker db1-7c2e91", "ProviderTimeout: no answer in 60 s"),
        HistoryRow(4, ago(252), "retry", "running", 9_120, "worker db2-19aa04", None),
    ),
    calls_total=4,
    tools=(
        ToolRow(9_044, 1, 1, "search_knowledge_base", "ok", None, ago(380), 8.5),
    ),
)  # fmt: skip

COMPLETED = TaskDetail(
    at=NOW,
    task=TASKS[7],
    inputs=excerpt('{"order_id": "A-1009"}'),
    runs=(
        RunRow(
            9_190, "db1-7c2e91", "completed", ago(128), 2, ago(96), 32, excerpt('{"answer": "Delivered on Tuesday."}'),
            None, None, None, False, 0, excerpt("looking up A-1009\n"),
        ),
    ),
    steps=(StepRow(9_190, 1, "answer", "Order clerk", "Answer", "completed", excerpt("Sent"), None, ago(127), 30),),
    calls=(call(9_190, 1, "Order clerk", 120, 4.0),),
    history=(HistoryRow(1, ago(130), None, "pending", None, "producer shop-api", None),),
    calls_total=1,
)  # fmt: skip

LOG = (
    "14:01:58 tool search_knowledge_base('capacity 2027')",
    "14:01:59 3 documents, 18 KB",
    "14:02:00 calling gpt-4.1 (12,330 tokens in)",
    "14:02:11 no answer yet",
)


HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b]52;c;aGFja2Vk\x07",
    "\x1b]52;c;aGFja2Vk\x1b\\",
    "\x1b]8;;http://evil\x1b\\link",
    "\x1b[?1049l",
    "\x9b31m and \x9d52;c;x\x9c",
    "ends in \x1b",
    "ok\rFAILED",
    "gone" + "\x08" * 40,
    "nul \x00 inside",
    "\u202egnp.exe",
    "see [/] here",
    "a[/",
    "{p}/{t}[/{n}]/read",
    "[bold]x",
    "[key=14629,state=CLOSED]",
    "[1,2,3]",
    "[@click=app.quit]press[/]",
    "ZLEXCOUNT z [b +",
    "two\nlines\tand a tab",
)
"""Texts that terminals would obey (case C02) and that markup would parse (case C03)."""


SCOPE = Scope(NOW, 96, {"failed": 96}, tuple(range(48_000, 47_990, -1)), usd("4.10", 2, 300), 30, 248)


def operation(action: Action, done: int, state: State = "running") -> Operation:
    """An operation over 96 tasks of which so many are done."""
    return Operation(7, action, None, state, NOW, None, "dana@ops1", "ops", None, "crew:research", 96, done, 0, None)


def group(key: str, sample: str, failed: int, **changes: object) -> FailureGroup:
    base = FailureGroup(
        key, sample, 47_800, failed, 0, ("support",), ("support",), ago(3_400), ago(130),
        tuple(round(failed / 24 * (1 + math.sin(i / 3))) for i in range(24)), usd("0.0126", calls=failed * 3),
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


FAILURES = Failures(
    NOW,
    (
        group("5d10c7aa", "RateLimitError: 429 quota exhausted for gpt-4.1 in eu-west", 9, retrying=31,
              crews=("briefing", "support"), queues=("research", "support"), sample_task=47_802, cost=usd("1.94", 2)),
        group("0be177f2", "timeout after 60 s in gpt-4.1", 3, sample_task=47_801),
        group("91c3a8de", "ToolError: order B-771 has no such line [/] see [bold]", 1, sample_task=47_799),
        group("e01f44b0", "ValueError: see \x1b[2J here (escape \x9b31m in the answer)", 1, sample_task=47_788,
              first_at=ago(86_000), last_at=ago(86_000), cost=usd("0", 2)),
    ),
    3_600.0,
    14,
    False,
)  # fmt: skip


def usage(provider: str, model: str, calls: int, cost: Money, **changes: object) -> ModelUsage:
    base = ModelUsage(
        provider, model, calls, 0, 0, calls * 2_100, calls * 900, 0, calls * 410, 0, cost,
        Percentiles(calls, 1.8, 6.2, 11.0),
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


SPENDING = Spending(
    at=NOW,
    hours_back=24,
    total=usd("61.20", 7, 31_042),
    completed=28_400,
    models=(
        usage("openai", "gpt-4.1", 6_120, usd("48.10", 7, 6_120), errors=31, rate_limited=212, reasoning_tokens=0),
        usage("deepseek", "deepseek-chat", 20_410, usd("11.30", 0, 20_410), errors=4),
        usage("google", "gemini-2.5-flash", 4_512, usd("1.80", 0, 4_512), reasoning_tokens=310_000),
        usage("?", "house-model", 9, usd("0", 9, 9), latency=Percentiles(9, 3.0, 4.0, 4.0)),
    ),
    crews=(
        Spent("briefing", usd("44.00", 7), 310),
        Spent("support", usd("13.10"), 21_050),
        Spent("product", usd("4.10"), 7_040),
    ),
    queues=(
        Spent("research", usd("44.00", 7), 310),
        Spent("support", usd("13.10"), 21_050),
        Spent("product", usd("4.10"), 7_040),
    ),
    hours=tuple(SpentIn(ago(3_600 * (23 - i) + 131), usd(f"{1.4 + math.sin(i / 4):.2f}")) for i in range(24)),
    days=tuple(SpentIn(ago(86_400 * (13 - i)), usd(f"{50 + 9 * math.sin(i):.2f}")) for i in range(14)),
    failed=usd("2.07", 2),
    today=usd("38.60", 3),
    projected=usd("71.90", 3),
)

OPERATIONS = (
    Operation(9, Action.RETRY, None, "running", ago(40), None, "dana@ops1", "ops", None, "failure:5d10c7aa",
              1_240, 800, 4, None),
    Operation(7, Action.CANCEL, None, "done", ago(900), ago(899), "lee@ops2 (from 10.0.0.7)", "ops", "duplicate order",
              None, 1, 1, 0, None),
    Operation(6, Action.MOVE, '{"queue": "bulk"}', "done", ago(4_000), ago(3_990), "dana@ops1", "ops", None,
              "queue:support", 96, 90, 6, None),
)  # fmt: skip

ITEMS = (
    ItemOutcome(47_802, False, "not retried: completed 0.3s ago"),
    ItemOutcome(47_801, True, "retried"),
    ItemOutcome(47_800, None, ""),
)

HAPPENED: tuple[Happening, ...] = (
    Transition(ago(9), 48_983, "product", "product", None, "pending", "producer"),
    Transition(ago(8), 49_000, "nightly", "translate", None, "pending", "producer", count=1_000),
    Transition(ago(7), 48_983, "product", "product", "pending", "running", "worker:db3-e5b077", 9_207),
    LogLine(ago(6), 48_977, 9_201, "support", "tool lookup_order('A-1009')"),
    Transition(ago(5), 47_802, "support", "support", "running", "retry", "worker:db1-7c2e91", 9_100,
               "RateLimitError: 429"),
    Transition(ago(4), 48_940, "support", "support", "running", "completed", "worker:db1-7c2e91", 9_190),
    Transition(ago(2), 47_795, "support", "support", "pending", "cancelled", "operator:dana@ops1", None, "duplicate"),
    Transition(ago(1), 47_799, "support", "support", "running", "failed", "worker:db1-7c2e91", 9_188,
               "ToolError: order B-771 has no such line [/] see [bold]"),
)  # fmt: skip


def keys(session: Session, *pressed: str) -> object:
    """Press keys as an operator does, who sees what each of them did; what the last of them asked for."""
    effect = None
    for key in pressed:
        effect = session.press(key)
        session.frame(120, 40)
    return effect


@dataclass
class Shop:
    """A Source over fixed data that a test may change between ticks. down makes every read fail with that reason."""

    now: Snapshot = BUSY
    rows: tuple[TaskRow, ...] = TASKS
    details: dict[int, TaskDetail] = field(default_factory=lambda: {48_201: STUCK, 48_940: COMPLETED})
    log_lines: tuple[str, ...] = LOG
    down: str | None = None
    hang: bool = False
    acted: list[tuple[Order, tuple[Target, ...] | Matching]] = field(default_factory=list)
    scope: Scope = SCOPE
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    undone: list[int] = field(default_factory=list)
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    limits: list[int] = field(default_factory=list)
    listed: list[int] = field(default_factory=list)
    bodies: dict[str, str] = field(default_factory=dict)
    failed: Failures = FAILURES
    spent: Spending = SPENDING
    operated: tuple[Operation, ...] = OPERATIONS
    items: tuple[ItemOutcome, ...] = ITEMS
    happened: tuple[Happening, ...] = HAPPENED

    async def _reachable(self) -> None:
        if self.hang:
            await asyncio.Event().wait()
        if self.down is not None:
            raise Unavailable(self.down)

    async def snapshot(self) -> Snapshot:
        await self._reachable()
        return self.now

    async def tasks(self, task_filter: TaskFilter, sort: str, limit: int) -> TaskPage:
        await self._reachable()
        self.limits.append(limit)
        rows = [
            row
            for row in self.rows
            if (not task_filter.statuses or row.status in task_filter.statuses)
            and (not task_filter.queues or row.queue in task_filter.queues)
            and (not task_filter.crews or row.crew in task_filter.crews)
            and (task_filter.text is None or task_filter.text in (row.error or ""))
        ]
        if sort == "oldest":
            rows.sort(key=lambda row: row.id)
        return TaskPage(NOW, tuple(rows[:limit]), len(rows) > limit)

    async def detail(self, task_id: int) -> TaskDetail | None:
        await self._reachable()
        return self.details.get(task_id)

    async def body(self, task_id: int, run_id: int | None, body: Body, limit: int) -> Excerpt:
        await self._reachable()
        text = self.bodies[body]
        return Excerpt(text[:limit], len(text.encode()))

    async def log(self, run_id: int) -> AsyncIterator[LogLines]:
        await self._reachable()
        yield LogLines(self.log_lines)
        await asyncio.Event().wait()

    async def act(self, order: Order, targets: Sequence[Target]) -> OperationResult:
        await self._reachable()
        self.acted.append((order, tuple(targets)))
        items = tuple(
            ItemOutcome(t.task_id, t.task_id not in self.refused, self.refused.get(t.task_id, "")) for t in targets
        )
        done = sum(item.done is True for item in items)
        return OperationResult(replace(operation(order.action, done, "done"), id=1), items)

    async def price(self, action: Action, matching: Matching) -> Scope:
        await self._reachable()
        return self.scope

    async def act_on_all(self, order: Order, matching: Matching) -> AsyncIterator[Operation]:
        await self._reachable()
        self.acted.append((order, matching))
        for done in (0, 41):
            yield operation(order.action, done)
            await self.go_on.wait()
        yield operation(order.action, 96, "done")

    async def undo(self, operation_id: int) -> AsyncIterator[Operation]:
        await self._reachable()
        self.undone.append(operation_id)
        yield replace(operation(Action.UNDO, 96, "done"), undoes=operation_id)

    async def refusals(self, operation_id: int) -> dict[str, int]:
        await self._reachable()
        return {}

    async def pause_queue(self, queue: str, *, paused: bool) -> str:
        await self._reachable()
        self.asked.append(("pause" if paused else "resume", queue, 0))
        return ""

    async def silence(self, alert: Alert, seconds: float | None) -> None:
        await self._reachable()
        self.asked.append(("silence", alert.subject, int(seconds or 0)))

    async def unsilence(self, silence: Silence) -> None:
        await self._reachable()
        self.asked.append(("unsilence", silence.subject, silence.id))

    async def set_slots(self, worker_id: str, slots: int) -> None:
        await self._reachable()
        self.asked.append(("slots", worker_id, slots))

    async def drain(self, worker_id: str) -> None:
        await self._reachable()
        self.asked.append(("drain", worker_id, 0))

    async def kill(self, worker_id: str) -> None:
        await self._reachable()
        self.asked.append(("kill", worker_id, 0))

    async def failures(self, hours: int) -> Failures:
        await self._reachable()
        return self.failed

    async def spending(self, hours: int) -> Spending:
        await self._reachable()
        return self.spent

    async def operations(self, limit: int) -> Sequence[Operation]:
        await self._reachable()
        self.listed.append(limit)
        return self.operated[:limit]

    async def outcomes(self, operation_id: int, limit: int) -> Sequence[ItemOutcome]:
        await self._reachable()
        return self.items[:limit]

    async def halt(self, operation_id: int, how: str) -> Operation:
        await self._reachable()
        self.asked.append((how, str(operation_id), 0))
        return replace(self.operated[0], state="paused" if how == "pause" else "cancelled")

    async def resume(self, operation_id: int) -> AsyncIterator[Operation]:
        await self._reachable()
        self.asked.append(("resume", str(operation_id), 0))
        yield operation(Action.RETRY, 96, "done")

    async def events(self, *, logs: bool) -> AsyncIterator[Happenings]:
        await self._reachable()
        yield Happenings(self.happened)
        await asyncio.Event().wait()
