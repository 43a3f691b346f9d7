"""A busy fleet second by second, as the monitor would see it, without a database: what a recording is measured with.

Eight queues, three workers, twenty runs at once, fifty transitions a second (so that most rows of a second are new in
it), a series of ninety points, five allowances and three budgets. Each figure moves as it does in life: ages by what
the clock does, counts by what came and went, percentiles from one bucket of 1 % to a next one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from crewtop.model.allowance import AllowanceState
from crewtop.model.budgets import BudgetRow
from crewtop.model.money import Money
from crewtop.model.providers import KeyHealth, Providers
from crewtop.model.snapshot import Health, Percentiles, Point, QueueRow, RunningRow, Snapshot, WorkerRow

BEGIN = datetime(2026, 3, 14, tzinfo=UTC)
QUEUES = ("support", "research", "returns", "product", "nightly", "billing", "moderation", "translate")
AGENTS = ("Order clerk", "Analyst", "Returns clerk", "Catalogue", "Researcher", "Writer")
ACTIVITIES = ("gpt-4.1", "gpt-4.1-mini", "deepseek-chat", "tool lookup_order", "tool search", None)
MODELS = ("gpt-4.1", "gpt-4.1-mini", "gpt-4o", "o4-mini", "*")
TRANSITIONS_A_SECOND, RUNNING, POINTS, BUCKET_SECONDS, CALL_SECONDS = 50, 20, 90, 10, 0.35


@dataclass
class Steps:
    """A percentile: a bucket of 1 % that now and then makes way for a next one."""

    random: random.Random
    place: int

    def next(self, chance: float) -> float:
        if self.random.random() < chance:
            self.place += self.random.choice((-1, 1))
        return float(1.0202020202**self.place)


@dataclass
class Shop:
    """One queue."""

    random: random.Random
    row: QueueRow
    completed: int = 0
    met: int = 0
    spent: Decimal = Decimal(0)
    calls: int = 0
    oldest: float = 0.0
    wait: list[Steps] = field(default_factory=list)
    run: list[Steps] = field(default_factory=list)

    def next(self, seconds: float, arrived: int, ended: int, running: int) -> QueueRow:
        chance = self.random
        self.completed += ended
        self.met += sum(chance.random() < 0.98 for _ in range(ended))
        self.spent += sum((cost(chance) for _ in range(ended)), Decimal(0))
        self.calls += 3 * ended
        self.oldest = self.oldest + seconds if chance.random() < 0.4 else round(chance.random() * 3, 6)
        ready = max(0, self.row.ready + arrived - ended)
        failed = self.row.failed + (chance.random() < 0.02 * ended)
        self.row = replace(
            self.row, ready=ready, running=running, completed=self.completed, failed=failed,
            retry=max(0, self.row.retry + chance.choice((-1, 0, 0, 0, 0, 1))),
            done_per_minute=(60 * 3 + chance.randrange(60)) * 60 / (55 + chance.random() * 5),
            oldest=self.oldest if ready else None, level=self.met / max(1, self.completed),
            wait=percentiles(self.completed, self.wait), run=percentiles(self.completed, self.run),
            ended=self.completed + failed, error_rate=failed / max(1, self.completed + failed),
            cost_per_1000=Money(self.spent, 2, self.calls).per(max(1, self.completed) / 1_000),
        )  # fmt: skip
        return self.row


def percentiles(n: int, steps: list[Steps]) -> Percentiles:
    return Percentiles(n, *(step.next(chance) for step, chance in zip(steps, (0.05, 0.1, 0.2), strict=True)))


def cost(chance: random.Random) -> Decimal:
    """What one run costs: tokens times prices, to the ten-millionth."""
    return Decimal(chance.randrange(400, 90_000)) * Decimal("0.0000004")


def fleet(seconds: int, seed: int = 7) -> Iterator[Snapshot]:
    """So many snapshots, about a second apart."""
    chance = random.Random(seed)
    shops = [
        Shop(chance, QueueRow(name, ready=40 + 100 * i), wait=[Steps(chance, 20 * j) for j in (-4, 2, 5)],
             run=[Steps(chance, 20 * j) for j in (4, 8, 10)])
        for i, name in enumerate(QUEUES)
    ]  # fmt: skip
    at, running, next_id = BEGIN, [], 1_480_000
    workers = [
        WorkerRow(f"db{i}-7c2e9{i}", f"db{i}", 4_000 + i, "running", 8, None, 7, None, QUEUES[:5], BEGIN, 1.0, 40.0,
                  10**9, "0.1.0", None, 0.0012)
        for i in range(3)
    ]  # fmt: skip
    series = Series(chance)
    today, providers, budgets = Decimal(0), allowances(chance), bounds(Decimal(0), at)
    for second in range(seconds):
        took = round(1.003 + abs(chance.gauss(0, 0.004)), 6)
        at += timedelta(seconds=took)
        arrived, ended = (max(0, round(chance.gauss(TRANSITIONS_A_SECOND / 2, 5))) for _ in range(2))
        running, next_id = runs(chance, running, took, ended, next_id)
        spent = sum((cost(chance) for _ in range(ended)), Decimal(0))
        today += spent
        beats = [second % 10 == 3 * i for i in range(3)]
        workers = [worker_at(chance, w, took, beat) for w, beat in zip(workers, beats, strict=True)]
        if second % 10 == 0:
            budgets = bounds(today, at)
        providers = replace(providers, allowances=tuple(used(chance, state) for state in providers.allowances))
        share = [chance.random() for _ in shops]
        yield Snapshot(
            at=at, database="shop", host="db1", role="ops",
            postgres=Health(True, 0.0012 + chance.random() / 2_000, "PostgreSQL 18.1"),
            redis=Health(True, 0.0004 + chance.random() / 9_000, "Valkey 8.1"), window_seconds=900,
            queues=tuple(
                shop.next(took, round(arrived * part / sum(share)), round(ended * part / sum(share)),
                          sum(row.queue == shop.row.name for row in running))
                for shop, part in zip(shops, share, strict=True)
            ),
            series=series.next(at, 900 + second % 90, arrived, float(spent)),
            workers=tuple(workers), running=tuple(running), running_total=len(running),
            wait=percentiles(20_000 + second % 300, shops[0].wait),
            run=percentiles(20_000 + second % 300, shops[0].run),
            spend_per_hour=Money(today / 24, 3, second * 75), spend_pace=Money(today, 0, 4_000).per(0.0163),
            spend_today=Money(today, 3, second * 75), budgets=budgets, providers=providers,
        )  # fmt: skip


def runs(
    chance: random.Random, running: list[RunningRow], took: float, ended: int, next_id: int
) -> tuple[list[RunningRow], int]:
    """The runs of the next second: those that go on are older, the others are new ones."""
    goes_on = [row for row in running if chance.random() > min(1.0, ended / RUNNING)]
    rows = [called(chance, replace(row, age=round(row.age + took, 6))) for row in goes_on]
    for _ in range(RUNNING - len(rows)):
        next_id += chance.randrange(1, 3)
        queue, agent = chance.choice(QUEUES), chance.choice(AGENTS)
        row = RunningRow(
            next_id, next_id + 31_007, queue, queue, chance.randrange(1, 5), f"db{chance.randrange(3)}-7c2e91",
            round(chance.random() * 0.8, 6), 0.0, 1, 3, agent, chance.choice(ACTIVITIES), 0, Money(), None, False,
        )  # fmt: skip
        rows.append(called(chance, row))
    return rows, next_id


def called(chance: random.Random, row: RunningRow) -> RunningRow:
    """A run with the calls that it has made by its age: about one every CALL_SECONDS."""
    calls = int(row.age / CALL_SECONDS)
    idle = round(row.age - calls * CALL_SECONDS * (0.9 + chance.random() / 10), 6)
    more = calls - row.cost.calls
    if not more:
        return replace(row, idle=idle)
    money = sum((cost(chance) for _ in range(more)), Decimal(0))
    tokens = sum(chance.randrange(400, 6_000) for _ in range(more))
    return replace(
        row, idle=idle, tokens=row.tokens + tokens, cost=row.cost + Money(money, 0, more), agent=chance.choice(AGENTS),
        step_position=min(3, 1 + calls // 2), activity=chance.choice(ACTIVITIES),
    )  # fmt: skip


class Series:
    """Points of ten seconds each; the last one still fills."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._steps = [Steps(chance, place) for place in (-80, 40, 110, 80, 160, 200)]
        self.points = tuple(
            self._point(BEGIN - timedelta(seconds=BUCKET_SECONDS * i), 250, 0.01) for i in range(POINTS, 0, -1)
        )

    def next(self, at: datetime, backlog: int, arrived: int, spent: float) -> tuple[Point, ...]:
        last = self.points[-1]
        if last.at + timedelta(seconds=BUCKET_SECONDS) <= at:
            started = last.at + timedelta(seconds=BUCKET_SECONDS)
            self.points = (*self.points[1:], self._point(started, arrived, spent))
        else:
            more = self._point(last.at, last.arrived + arrived, last.spend + spent)
            self.points = (*self.points[:-1], replace(more, backlog=backlog, done=last.done + arrived - 1))
        return self.points

    def _point(self, at: datetime, arrived: int, spent: float) -> Point:
        wait50, wait95, wait99, run50, run95, run99 = (step.next(0.4) for step in self._steps)
        oldest = round(self._chance.random() * 40, 6)
        return Point(at, 900, arrived, arrived, 0, wait95, run95, spent, wait50, wait99, run50, run99, oldest)


def worker_at(chance: random.Random, worker: WorkerRow, took: float, beat: bool) -> WorkerRow:
    busy = chance.randrange(5, 9)
    if not beat:
        return replace(worker, heartbeat_age=round(worker.heartbeat_age + took, 6), busy=busy)
    memory = (worker.memory_bytes or 0) + 4_096 * chance.randrange(-500, 500)
    return replace(
        worker, heartbeat_age=round(chance.random(), 6), busy=busy, cpu_percent=round(chance.random() * 90, 1),
        memory_bytes=memory, clock_offset=chance.gauss(0.001, 0.0004),
    )  # fmt: skip


def allowances(chance: random.Random) -> Providers:
    states = (AllowanceState("openai", model, "OPENAI_API_KEY", 3_000, 0, 1_500_000, 0, None, 0) for model in MODELS)
    return Providers(tuple(states), (), (KeyHealth("openai", "OPENAI_API_KEY", "ready", None, None, 3, 3),))


def used(chance: random.Random, state: AllowanceState) -> AllowanceState:
    requests = max(0, min(3_000, state.requests_used + chance.randrange(-20, 22)))
    return replace(
        state,
        requests_used=requests,
        tokens_used=requests * 480 + chance.randrange(480),
        in_flight=chance.randrange(12),
    )


def bounds(today: Decimal, at: datetime) -> tuple[BudgetRow, ...]:
    return tuple(
        BudgetRow(scope, name, Decimal(900), today / part, 3, today / part * Decimal("1.7"), "ok", judged_at=at)
        for scope, name, part in (("total", "", 1), ("queue", "support", 5), ("crew", "briefing", 9))
    )  # type: ignore[arg-type]
