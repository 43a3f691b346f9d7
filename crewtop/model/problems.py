"""What is wrong now, what hurts most first, judged from a snapshot alone: the same on the screen and in plain text.

Names and reasons in it are as they were given: not yet safe to show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from crewtop.model.alerts import SUBJECT_CHARACTERS, Alert, Silence, silence_of, storable
from crewtop.model.budgets import BudgetRow
from crewtop.model.durations import coarse, countdown, duration, left
from crewtop.model.providers import THROTTLED, Providers, circuit_words, key_words, keyless, throttled
from crewtop.model.snapshot import Health, QueueRow, Snapshot, WorkerRow

Severity = Literal["wrong", "watch"]
About = Literal["store", "provider", "budget", "queue", "task", "worker", "shop"]

STARTING_SECONDS = 10.0
"""A worker takes a few seconds to import CrewAI; until then it is no news that nobody takes the first tasks."""

MOURNING_SECONDS = 120.0
"""Once others have its tasks, a dead worker is history after a while, not an alarm."""

GOOD_LEVEL = 0.95
"""A queue whose share of starts within their service level is below this is called late."""

BROKEN, BROKEN_RUNS = 0.5, 3
"""A queue is failing where at least this share of its runs failed, and at least so many did."""

FAILING, FAILING_OF = 0.10, 20
"""Of so many runs on a smaller share is enough."""

CLOCK_SECONDS = 1.0
"""A clock that is off by less is right enough: no figure of crewtop's is taken from it."""

STUCK_NAMED = 5
"""Stuck tasks that are named before the rest is only counted."""

RUN_WEIGHS = 100
"""A run that is lost weighs as much as so many tasks that wait: its work was done and paid for."""

KINDS = (
    "store",
    "no key",
    "failing",
    "dead worker",
    "late",
    "no worker",
    "circuit",
    "dead key",
    "stuck",
    "budget",
    "limit",
    "throttled",
    "clock",
    "draining",
    "paused",
    "evicting",
)
"""Kinds of problems; of two that concern about as many tasks the earlier one comes first. Beside these an alert on a
figure is a problem, of that figure's name."""

_MEANT = frozenset({"draining", "paused"})


@dataclass(frozen=True, slots=True)
class Problem:
    """What is the matter with what, in words with since when or how much.

    kind is one of KINDS, and no two of a kind have the same name. tasks: how many it concerns. first: nothing works
    there. task_id: of the stuck task that it is about, if it is about one. alert: on it, if one stands; silence: what
    keeps that quiet.
    """

    kind: str
    about: About
    name: str
    words: str
    severity: Severity
    tasks: int = 0
    first: bool = False
    task_id: int | None = None
    alert: Alert | None = None
    silence: Silence | None = None

    @property
    def fires(self) -> bool:
        """Whether an alert on it has fired."""
        return self.alert is not None and self.alert.fires

    def standing(self, at: datetime) -> str:
        """Whose rule's alert is on it, for how long, and whose silence covers it; '' where none has fired."""
        return self.alert.standing(at, self.silence) if self.alert is not None else ""


def problems(snapshot: Snapshot) -> list[Problem]:
    """All problems of a snapshot, what hurts most first.

    Stores that are down come first, then what an alert has fired on; queues in which most runs fail; what is wrong,
    what is to be watched, and what somebody meant to be so; among these what concerns four times as many tasks. In
    such steps, so that the order stays while figures move a little. What is silenced comes last.
    """
    found = [*_stores(snapshot), *_budgets(snapshot), *_stuck(snapshot)]
    found += _of_providers(snapshot.providers) if snapshot.providers is not None else []
    found += [problem for queue in snapshot.queues for problem in _of_queue(queue)]
    found += [problem for worker in snapshot.workers for problem in _of_worker(worker)]
    return sorted(_alerted(snapshot, found), key=_hurts)


def _alerted(snapshot: Snapshot, found: list[Problem]) -> Iterator[Problem]:
    """The problems with the alerts on them, and what only an alert knows of."""
    alerts: dict[tuple[str, str], Alert] = {}
    for alert in sorted(snapshot.alerts, key=lambda each: (not each.fires, each.severity != "wrong", each.since)):
        alerts.setdefault((alert.watches, alert.subject), alert)
    for problem in found:
        alert_on = alerts.pop((problem.kind, subject_of(problem.name)), None)
        yield _with(snapshot, problem, alert_on) if alert_on is not None else problem
    for alert in alerts.values():
        if alert.state == "firing" and alert.watches not in KINDS:
            about = "queue" if alert.queue is not None else _ABOUT.get(alert.watches, "shop")
            yield _with(snapshot, Problem(alert.watches, about, alert.subject, alert.words, alert.severity), alert)


_ABOUT: dict[str, About] = {"spend": "budget", "replication lag": "store"}


def _with(snapshot: Snapshot, problem: Problem, alert: Alert) -> Problem:
    return replace(problem, alert=alert, silence=silence_of(alert, snapshot.silences, snapshot.at))


def subject_of(name: str) -> str:
    """A problem's name as an alert on it keeps it."""
    return storable(name, SUBJECT_CHARACTERS)


def _hurts(problem: Problem) -> tuple[bool, bool, bool, bool, bool, bool, int, int, str]:
    return (
        problem.silence is not None,
        problem.kind != "store",
        not problem.fires,
        not problem.first,
        problem.severity != "wrong",
        problem.kind in _MEANT,
        -(problem.tasks.bit_length() // 2),
        KINDS.index(problem.kind) if problem.kind in KINDS else len(KINDS),
        problem.name,
    )


def _stores(snapshot: Snapshot) -> Iterator[Problem]:
    if not snapshot.postgres.up:
        yield Problem(
            "store", "store", "postgres", f"down, these are the last figures{_why(snapshot.postgres)}", "wrong"
        )
    if not snapshot.redis.up:
        said = f"down, tasks go on by polling, without live logs{_why(snapshot.redis)}"
        yield Problem("store", "store", "redis", said, "watch")
    if snapshot.redis.evicts:
        said = f"drops keys where it is full ({snapshot.redis.evicts}): set maxmemory-policy noeviction"
        yield Problem("evicting", "store", "redis keys", said, "watch")

    if snapshot.replica_away:
        said = f"not read from, all reads go to the primary: {snapshot.replica_away}"
        yield Problem("store", "store", "read replica", said, "watch")


def _why(store: Health) -> str:
    return f": {store.detail}" if store.detail else ""


def _of_providers(of: Providers) -> Iterator[Problem]:
    """Names stay the same while figures move; words tell how old they are, where nobody can be asked."""
    old = f", as told {coarse(of.age)} ago" if of.age else ""
    without = keyless(of)
    for provider in without:
        dead = "; ".join(f"{key.name} {key.why or 'retired'}" for key in of.keys if key.provider == provider)
        said = f"all are retired: {dead}: mend them and restart the workers{old}"
        yield Problem("no key", "provider", f"keys: {provider}", said, "wrong", first=True)
    for key in of.keys:
        if key.status == "retired" and key.provider not in without:
            yield Problem("dead key", "provider", f"key: {key.provider} {key.name}", f"{key_words(key)}{old}", "wrong")
    for circuit in of.circuits:
        if circuit.why != THROTTLED:
            name = f"breaker: {circuit.provider}/{circuit.model}"
            yield Problem("circuit", "provider", name, f"{circuit_words(circuit)}{old}", "wrong")
    for held in throttled(of):
        said = f"resumes {countdown(held.resumes_in)}: {', '.join(held.models)}{old}"
        yield Problem("limit", "provider", f"throttled: {held.provider}", said, "watch")


def _budgets(snapshot: Snapshot) -> Iterator[Problem]:
    for budget in snapshot.budgets:
        if budget.state != "ok":
            severity: Severity = "wrong" if budget.state == "held" else "watch"
            yield Problem("budget", "budget", budget.what, f"{_stands(budget)}: {budget.amounts} today", severity)


def _stands(budget: BudgetRow) -> str:
    match budget.state:
        case "warn":
            return "nearly spent"
        case "spent":
            return "spent, and it only warns"
        case "unwatched":
            return "watched by no live worker"
    until = f"until {budget.resumes_at:%Y-%m-%d %H:%M}Z, or " if budget.resumes_at else ""
    return f"spent, nothing more of it is claimed {until}until it is raised"


def _of_queue(queue: QueueRow) -> Iterator[Problem]:
    ready = f"{queue.ready:,} ready"
    oldest = f", oldest {coarse(queue.oldest)}" if queue.oldest is not None else ""
    if (failing := _failing(queue)) is not None:
        yield failing
    if queue.level is not None and queue.level < GOOD_LEVEL:
        share = f"only {queue.level:.1%} start" if queue.level else "none start"
        said = f"{share} within their service level: {ready}{oldest}"
        yield Problem("late", "queue", queue.name, said, "wrong", queue.ready)
    if queue.no_worker and (queue.oldest or 0) > STARTING_SECONDS:
        waits = "1 task waits" if queue.unserved == 1 else f"{queue.unserved:,} tasks wait"
        said = f"no live worker has the crew {', '.join(queue.no_worker)}: {waits}"
        yield Problem("no worker", "queue", queue.name, said, "wrong", queue.unserved)
    if queue.throttled:
        held = [f"{each.crew} by {each.provider}, resumes in {left(each.seconds_left)}" for each in queue.throttled]
        yield Problem("throttled", "queue", queue.name, f"throttled: {'; '.join(held)}: {ready}", "watch", queue.ready)
    if queue.paused:
        by = f" by {queue.paused_by}" if queue.paused_by else ""
        why = f": {queue.paused_reason}" if queue.paused_reason else ""
        yield Problem("paused", "queue", queue.name, f"paused{by}{why}, {ready}{oldest}", "watch", queue.ready)


def _failing(queue: QueueRow) -> Problem | None:
    rate = queue.error_rate or 0.0
    failed = round(rate * queue.ended)
    broken = failed >= BROKEN_RUNS and rate >= BROKEN
    if not broken and not (queue.ended >= FAILING_OF and rate >= FAILING):
        return None
    said = f"{failed:,} of {queue.ended:,} runs failed for good"
    return Problem("failing", "queue", queue.name, said, "wrong", failed, first=broken)


def _stuck(snapshot: Snapshot) -> Iterator[Problem]:
    stuck = [task for task in snapshot.running if task.stuck is not None]
    for task in stuck[:STUCK_NAMED]:
        name = f"{task.task_id} {task.crew}"
        yield Problem("stuck", "task", name, f"stuck: {task.stuck}", "watch", 1, task_id=task.task_id)
    more = len(stuck) - STUCK_NAMED
    if more > 0:
        said = "1 more is stuck" if more == 1 else f"{more:,} more are stuck"
        yield Problem("stuck", "task", "other tasks", said, "watch", 1)  # below those that are named


def _of_worker(worker: WorkerRow) -> Iterator[Problem]:
    if worker.state == "late" and (worker.busy or worker.heartbeat_age < MOURNING_SECONDS):
        busy = f", {worker.busy} running there" if worker.busy else ""
        said = f"no heartbeat for {coarse(worker.heartbeat_age)}{busy}"
        yield Problem("dead worker", "worker", worker.id, said, "wrong", worker.busy * RUN_WEIGHS)
    if worker.state == "draining" and worker.busy:
        until = f", {duration(worker.drain_seconds_left)} left" if worker.drain_seconds_left is not None else ""
        yield Problem("draining", "worker", worker.id, f"draining {worker.busy}{until}", "watch", worker.busy)
    if worker.state in ("running", "draining") and abs(off := worker.clock_offset or 0.0) >= CLOCK_SECONDS:
        said = f"its clock is off by {'+' if off > 0 else '-'}{duration(float(int(abs(off))))}"
        yield Problem("clock", "worker", worker.id, said, "watch")
