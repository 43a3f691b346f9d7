"""The rules that everybody has, and what a rule sees in a snapshot.

A rule names a kind of problem, which the screen judges in the same words, or a figure with a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from crewtop.model.alerts import WORDS_CHARACTERS, Rule, Seen, Severity, Sign, storable
from crewtop.model.durations import duration
from crewtop.model.problems import KINDS, Problem, problems, subject_of
from crewtop.model.snapshot import QueueRow, Snapshot

LOST_SECONDS = 900
"""Lost runs are counted over so many seconds."""

OF_PROVIDERS = frozenset({"no key", "circuit", "dead key", "limit"})
"""Kinds of problems that nobody knows of while Redis is away."""

OF_REDIS = frozenset({"evicting"})


class Figure(NamedTuple):
    """A number of a subject, in words for whoever is told."""

    subject: str
    queue: str | None
    value: float
    words: str


Levels = Sequence[float]
"""Seconds that a task of P0 to P4 may wait."""


def _stuck(snapshot: Snapshot, _: Levels) -> Iterator[Figure]:
    for queue in snapshot.queues:
        said = "1 task is stuck" if queue.stuck == 1 else f"{queue.stuck:,} tasks are stuck"
        yield Figure(queue.name, queue.name, queue.stuck, said)


def _oldest(snapshot: Snapshot, levels: Levels) -> Iterator[Figure]:
    for queue in snapshot.queues:
        if (worst := _worst_wait(queue, levels)) is not None and not queue.paused:
            share, priority, waited, level = worst
            said = f"a task of P{priority} has waited {duration(waited)}, its service level is {duration(level)}"
            yield Figure(queue.name, queue.name, share, said)


def _worst_wait(queue: QueueRow, levels: Levels) -> tuple[float, int, float, float] | None:
    """The task that has waited longest by its service level: that share, its priority, the wait, the level."""
    own = queue.service_levels or levels
    waits = [(w / own[p], p, w, own[p]) for p, w in enumerate(queue.waits) if w is not None]
    return max(waits, default=None)


def _error_rate(snapshot: Snapshot, _: Levels) -> Iterator[Figure]:
    for queue in snapshot.queues:
        if queue.error_rate is not None:
            said = f"{queue.error_rate:.1%} of {queue.ended:,} runs failed for good"
            yield Figure(queue.name, queue.name, queue.error_rate, said)


def _backlog(snapshot: Snapshot, _: Levels) -> Iterator[Figure]:
    for queue in snapshot.queues:
        waiting = queue.ready + queue.retry
        yield Figure(queue.name, queue.name, waiting, f"{waiting:,} tasks wait")


def _lost(snapshot: Snapshot, _: Levels) -> Iterator[Figure]:
    if (lost := snapshot.lost_runs) is not None:
        said = f"{lost:,} runs lost their lease in {duration(LOST_SECONDS)}: workers die or lose the database"
        yield Figure("lost runs", None, lost, said)


def _spend(snapshot: Snapshot, _: Levels) -> Iterator[Figure]:
    spent = snapshot.spend_per_hour
    at_least = "at least " if spent.unknown else ""
    yield Figure("spend", None, float(spent.known), f"{at_least}${spent.known:,.2f} within the last hour")


def _lag(snapshot: Snapshot, _: Levels) -> Iterator[Figure]:
    worst: dict[str, float] = {}  # several may have one name: the one that nobody gave them
    for standby in snapshot.standbys:
        if standby.lag is not None:
            worst[standby.name] = max(standby.lag, worst.get(standby.name, 0.0))
    for name, lag in worst.items():
        yield Figure(f"standby {name}", None, lag, f"is {duration(lag)} behind")


FIGURES: Mapping[str, Callable[[Snapshot, Levels], Iterator[Figure]]] = {
    "stuck tasks": _stuck,
    "oldest": _oldest,
    "error rate": _error_rate,
    "backlog": _backlog,
    "lost runs": _lost,
    "spend": _spend,
    "replication lag": _lag,
}
"""Figures by name: stuck tasks of a queue; how long its oldest task has waited, as a share of its service level; share
of its runs that failed for good; tasks of it that wait; runs whose lease ran out in 15 minutes; dollars spent in the
last hour; seconds that a standby of the server is behind."""

DEFAULTS = (
    Rule("store", "store", for_seconds=30, clear_seconds=60),
    Rule("evicting", "evicting", for_seconds=60, clear_seconds=60),
    Rule("replication lag", "replication lag", above=60, clear_below=10, for_seconds=120, severity="watch"),
    Rule("stuck", "stuck tasks", above=0, clear_below=0, for_seconds=60, clear_seconds=120, severity="watch"),
    Rule("oldest", "oldest", above=1.0, clear_below=0.8, for_seconds=60, clear_seconds=120, severity="wrong"),
    Rule("late", "late", for_seconds=120, clear_seconds=300),
    Rule("failing", "failing", for_seconds=60, clear_seconds=300),
    Rule("no worker", "no worker", for_seconds=60, clear_seconds=60),
    Rule("dead worker", "dead worker", for_seconds=30, clear_seconds=60),
    Rule("lost runs", "lost runs", above=9, clear_below=2, for_seconds=0, clear_seconds=300, severity="wrong"),
    Rule("no key", "no key", for_seconds=10, clear_seconds=60),
    Rule("dead key", "dead key", for_seconds=10, clear_seconds=60),
    Rule("circuit", "circuit", for_seconds=60, clear_seconds=120),
    Rule("throttled", "limit", for_seconds=300, clear_seconds=300),
    Rule("spend", "spend", above=50, clear_below=40, for_seconds=60, clear_seconds=600, severity="watch"),
    Rule("budget", "budget", for_seconds=10, clear_seconds=60),
    Rule("clock", "clock", for_seconds=300, clear_seconds=300),
)
"""What is watched with an empty configuration."""

WATCHED = (*KINDS, *FIGURES)
"""What a rule may watch."""


def signs(snapshot: Snapshot, rules: Sequence[Rule], levels: Levels) -> Seen:
    """What the rules see in a snapshot; levels: the service levels of queues that have none of their own."""
    by_kind: dict[str, list[Problem]] = {}
    for problem in problems(snapshot):
        by_kind.setdefault(problem.kind, []).append(problem)
    found: list[Sign] = []
    for rule in rules:
        if rule.watches in FIGURES:
            found += _of_figure(rule, FIGURES[rule.watches](snapshot, levels))
        else:
            found += _of_problems(rule, by_kind.get(rule.watches, []))
    return Seen(tuple(found), frozenset(rule.name for rule in rules if _unknown(rule, snapshot)))


def _unknown(rule: Rule, snapshot: Snapshot) -> bool:
    if rule.watches == "store":
        return False
    if not snapshot.postgres.up:
        return True
    if rule.watches in OF_PROVIDERS:
        return snapshot.providers is None or snapshot.providers.age > 0
    if rule.watches == "lost runs":
        return snapshot.lost_runs is None
    return rule.watches in OF_REDIS and not snapshot.redis.up


def _of_problems(rule: Rule, found: Sequence[Problem]) -> Iterator[Sign]:
    for problem in found:
        queue = problem.name if problem.about == "queue" else None
        if _meant(rule, queue):
            yield _sign(rule, problem.name, queue, problem.words, rule.severity or problem.severity)


def _of_figure(rule: Rule, found: Iterator[Figure]) -> Iterator[Sign]:
    above = rule.above if rule.above is not None else 0.0
    low = rule.clear_below if rule.clear_below is not None else above
    for figure in found:
        if math.isfinite(figure.value) and figure.value > low and _meant(rule, figure.queue):
            severity = rule.severity or "watch"
            yield _sign(
                rule, figure.subject, figure.queue, figure.words, severity, figure.value, high=figure.value > above
            )


def _meant(rule: Rule, queue: str | None) -> bool:
    return rule.queue == "*" or (queue is not None and fnmatchcase(queue, rule.queue))


def _sign(
    rule: Rule,
    subject: str,
    queue: str | None,
    words: str,
    severity: Severity,
    value: float | None = None,
    *,
    high: bool = True,
) -> Sign:
    said = storable(words, WORDS_CHARACTERS)
    of = subject_of(queue) if queue is not None else None
    return Sign(rule.name, subject_of(subject), rule.watches, said, severity, of, value, high)
