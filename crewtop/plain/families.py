"""A Snapshot and Totals as the metric families that Prometheus scrapes, with labels that cannot grow without bound."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from crewtop.model.snapshot import Health, Percentiles, QueueRow, Snapshot, WorkerRow
from crewtop.model.totals import TOKENS, Totals
from crewtop.text import masked, shown

MOST = 50
"""Values of one label that are told apart; of more, those that were there first, and the rest together as OTHER."""

OTHER = "other"

At = TypeVar("At", bound=tuple[str, ...])

STATUSES = ("waiting", "ready", "later", "running", "retry", "completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen of the stores. snapshot and totals None: Postgres is away; redis None: nobody could look."""

    snapshot: Snapshot | None
    totals: Totals | None
    redis: Health | None


class Labels:
    """Which values of a label are told apart. Whoever has a place keeps it while it is there: series do not jump.

    folded: how many values of each label are told together as OTHER.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: dict[str, dict[str, str]] = {}
        self.folded: dict[str, int] = {}

    def seat(self, label: str, values: Iterable[str]) -> Callable[[str], str]:
        """Give places to the values of a label, the first ones first; answers what says under which each is told."""
        there = list(dict.fromkeys(values))
        before = self._kept.get(label, {})
        stay = {value: before[value] for value in there if value in before}
        new = [value for value in there if value not in before][: self._most - len(stay)]
        kept = self._kept[label] = stay | {value: shown(masked(value)) for value in new}
        self.folded[label] = len(there) - len(kept)
        return lambda value: kept.get(value, OTHER)


def families(sight: Sight, labels: Labels) -> Iterator[Metric]:
    """All metric families of what was seen. What is unknown has no sample."""
    yield from _stores(sight)
    if sight.snapshot is None or sight.totals is None:
        return
    picture, totals = sight.snapshot, sight.totals
    busiest = sorted(picture.queues, key=lambda queue: -(queue.ready + queue.running))
    queue = labels.seat("queue", [row.name for row in busiest] + [key[0] for key in totals.runs])
    yield from _of_queues(picture.queues, queue)
    yield from _durations("wait", "How long tasks had waited as they were started", picture, queue)
    yield from _durations("run", "How long runs took", picture, queue)
    crew = labels.seat("crew", (key[1] for key in totals.runs))
    yield from _of_runs(totals, queue, crew)
    provider = labels.seat("provider", (key[0] for key in totals.calls))
    model = labels.seat("model", (key[1] for key in totals.calls))
    yield from _of_calls(totals, provider, model)
    live = [worker for worker in picture.workers if worker.state != "stopped"]
    yield from _of_workers(live, labels.seat("host", (worker.host for worker in live)))
    yield from _of_budgets(picture)
    folded = {(label,): number for label, number in labels.folded.items()}
    yield _gauge("label_values_folded", f"Values of a label that are told as {OTHER!r}", ["label"], folded)


def _gauge(name: str, about: str, labels: Sequence[str], samples: Mapping[At, float]) -> Metric:
    family = GaugeMetricFamily(f"crewtop_{name}", f"{about}.", labels=labels)
    for values, value in samples.items():
        family.add_metric(values, value)
    return family


def _counter(name: str, about: str, labels: Sequence[str], samples: Mapping[At, Decimal]) -> Metric:
    family = CounterMetricFamily(f"crewtop_{name}", f"{about}.", labels=labels)
    for values, value in samples.items():
        family.add_metric(values, float(value))
    return family


def _stores(sight: Sight) -> Iterator[Metric]:
    postgres = sight.snapshot.postgres if sight.snapshot is not None else Health(up=False)
    seen = {"postgres": postgres, **({"redis": sight.redis} if sight.redis is not None else {})}
    yield _gauge("up", "Whether a store answers", ["store"], {(name,): it.up for name, it in seen.items()})
    latency = {(name,): it.latency for name, it in seen.items() if it.latency is not None}
    yield _gauge("store_latency_seconds", "How long a store took to answer", ["store"], latency)
    if sight.snapshot is not None:
        at = sight.snapshot.at.timestamp()
        yield _gauge("snapshot_timestamp_seconds", "When the figures were true, by the database's clock", [], {(): at})


def _of_queues(queues: Sequence[QueueRow], name: Callable[[str], str]) -> Iterator[Metric]:
    tasks: Counter[tuple[str, ...]] = Counter()
    stuck: Counter[tuple[str, ...]] = Counter()
    unserved: Counter[tuple[str, ...]] = Counter()
    paused: Counter[tuple[str, ...]] = Counter()
    oldest: dict[tuple[str, ...], float] = {}
    for row in queues:
        at = (name(row.name),)
        for status in STATUSES:
            tasks[(*at, status)] += getattr(row, status)
        stuck[at] += row.stuck
        unserved[at] += row.unserved
        paused[at] += row.paused
        if row.oldest is not None:
            oldest[at] = max(row.oldest, oldest.get(at, 0.0))
    yield _gauge("tasks", "Tasks now by status: ready ones are due, later ones are not yet", ["queue", "status"], tasks)
    yield _gauge("tasks_stuck", "Running tasks that are judged to be stuck", ["queue"], stuck)
    yield _gauge("tasks_unserved", "Tasks that wait for a crew that no live worker has", ["queue"], unserved)
    yield _gauge("queue_paused", "Queues that are paused, by an operator or a spent budget", ["queue"], paused)
    yield _gauge("queue_oldest_seconds", "How long the longest-waiting claimable task has waited", ["queue"], oldest)
    own = {(name(row.name),): row for row in queues if name(row.name) != OTHER}
    level = {at: row.level for at, row in own.items() if row.level is not None}
    yield _gauge("queue_service_level_ratio", "Share of first starts within their service level", ["queue"], level)
    errors = {at: row.error_rate for at, row in own.items() if row.error_rate is not None}
    yield _gauge("queue_error_ratio", "Share of ended runs that failed for good", ["queue"], errors)


def _durations(of: str, about: str, picture: Snapshot, name: Callable[[str], str]) -> Iterator[Metric]:
    """Quantiles of each queue by itself: they cannot be put together from others."""
    own: dict[str, Percentiles] = {name(row.name): getattr(row, of) for row in picture.queues}
    own.pop(OTHER, None)
    quantiles = {
        (queue, rank): value
        for queue, it in own.items()
        for rank, value in (("0.5", it.p50), ("0.95", it.p95), ("0.99", it.p99))
        if value is not None
    }
    window = f"in the last {picture.window_seconds:g} s"
    yield _gauge(f"{of}_seconds", f"{about}, {window}, within 1 %", ["queue", "quantile"], quantiles)
    counts = {(queue,): float(it.n) for queue, it in own.items()}
    yield _gauge(f"{of}_observations", f"Of how many the quantiles of crewtop_{of}_seconds are", ["queue"], counts)


Sums = defaultdict[tuple[str, ...], Decimal]


def _of_runs(totals: Totals, queue: Callable[[str], str], crew: Callable[[str], str]) -> Iterator[Metric]:
    ended: Sums = defaultdict(Decimal)
    starts: Sums = defaultdict(Decimal)
    for (of_queue, of_crew, measure), n in totals.runs.items():
        into = starts if measure in ("met", "missed") else ended
        into[queue(of_queue), crew(of_crew), measure] += n
    yield _counter("runs_ended", "Runs that ended, for good or to be tried again", ["queue", "crew", "outcome"], ended)
    about = "First starts of tasks, within the service level of their priority or not"
    yield _counter("starts", about, ["queue", "crew", "service_level"], starts)


def _of_calls(totals: Totals, provider: Callable[[str], str], model: Callable[[str], str]) -> Iterator[Metric]:
    sums: defaultdict[str, Sums] = defaultdict(lambda: defaultdict(Decimal))
    for (of_provider, of_model, measure), n in totals.calls.items():
        at: tuple[str, ...] = (provider(of_provider), model(of_model))
        if measure in TOKENS:
            sums["tokens"][(*at, measure)] += n
        else:
            sums[measure][at] += n
    where = ["provider", "model"]
    yield _counter("llm_calls", "LLM calls that ended", where, sums["calls"])
    yield _counter("llm_errors", "LLM calls that went wrong", where, sums["errors"])
    yield _counter("llm_rate_limited", "LLM calls that were answered with 429", where, sums["rate_limited"])
    yield _counter("llm_unpriced_calls", "LLM calls whose cost is unknown", where, sums["unpriced"])
    about = "Tokens; reasoning is a part of output, cache_read and cache_write are beside input"
    yield _counter("llm_tokens", about, [*where, "kind"], sums["tokens"])
    yield _counter("llm_cost_usd", "What LLM calls cost, as far as it is known", where, sums["cost"])


def _of_workers(workers: Sequence[WorkerRow], host: Callable[[str], str]) -> Iterator[Metric]:
    """By host: a worker's id lasts for one start of it, and so would its series."""
    states: Counter[tuple[str, ...]] = Counter({(state,): 0 for state in ("running", "draining", "late")})
    states.update((worker.state,) for worker in workers)
    slots: Counter[tuple[str, ...]] = Counter()
    taken: Counter[tuple[str, ...]] = Counter()
    age: dict[tuple[str, ...], float] = {}
    for worker in workers:
        at = (host(worker.host),)
        slots[at] += worker.slots
        taken[at] += worker.taken
        age[at] = max(worker.heartbeat_age, age.get(at, 0.0))
    yield _gauge("workers", "Workers that have not stopped", ["state"], states)
    yield _gauge("worker_slots", "Slots of the workers of a host", ["host"], slots)
    yield _gauge("worker_slots_taken", "Slots that are not free", ["host"], taken)
    yield _gauge("worker_heartbeat_age_seconds", "Age of the oldest heartbeat of a host's workers", ["host"], age)


def _of_budgets(picture: Snapshot) -> Iterator[Metric]:
    rows = {(row.scope, shown(masked(row.name))): row for row in picture.budgets}
    limits = {at: float(row.limit) for at, row in rows.items()}
    yield _gauge("budget_limit_usd", "What may be spent a day", ["scope", "name"], limits)
    spent = {at: float(row.spent) for at, row in rows.items()}
    yield _gauge("budget_spent_usd", "What was spent of it today, as far as it is known", ["scope", "name"], spent)
