"""What happened between two pictures of the same system: it needs no Redis to be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from crewtop import words
from crewtop.model.filters import TaskFilter
from crewtop.model.problems import Problem, problems
from crewtop.model.snapshot import QueueRow, Snapshot, WorkerRow
from crewtop.tui.actions import View
from crewtop.tui.effects import Effect, Go
from crewtop.tui.paint import Role
from crewtop.tui.views.problems import opens


@dataclass(frozen=True, slots=True)
class News:
    """Something that happened to a store, a worker or a queue. at: the database's clock; opens: where Enter leads."""

    at: datetime
    kind: str
    name: str
    words: str
    role: Role
    opens: Effect


_TOLD_OTHERWISE = frozenset({"store", "paused", "dead worker", "draining"})
"""Kinds of problems that are news as what happened to a store, a queue or a worker."""

_WORKERS = Go(View.WORKERS)

_STATES: dict[str, tuple[str, Role]] = {
    "late": ("is late: it sends no heartbeat", "wrong"),
    "draining": ("drains: it claims nothing more", "watch"),
    "stopped": ("stopped", "muted"),
}


def news(before: Snapshot, after: Snapshot) -> list[News]:
    """What is in the later of two snapshots and was not in the earlier, or the other way round.

    While Postgres does not answer only that is known.
    """
    at = after.at
    told = [*_stores(before, after)]
    if after.postgres.up:
        told += [*_workers(before, after), *_queues(before, after), *_problems(before, after)]
    return [News(at, *parts) for parts in told]


_Told = tuple[str, str, str, Role, Effect]
"""A News but for its time."""


def _stores(before: Snapshot, after: Snapshot) -> Iterator[_Told]:
    for name, was, now in (("postgres", before.postgres, after.postgres), ("redis", before.redis, after.redis)):
        if was.up and not now.up:
            why = f": {now.detail}" if now.detail else ""
            yield "store", name, f"is down{why}", "wrong", Go(View.OVERVIEW)
        elif now.up and not was.up:
            yield "store", name, "is up again", "moving", Go(View.OVERVIEW)


def _workers(before: Snapshot, after: Snapshot) -> Iterator[_Told]:
    known = {worker.id: worker for worker in before.workers}
    for worker in after.workers:
        was = known.pop(worker.id, None)
        if was is None or was.state != worker.state:
            words_, role = _worker(was, worker)
            yield "worker", worker.id, words_, role, _WORKERS
    for gone in known.values():
        if gone.state != "stopped":
            yield "worker", gone.id, "is gone", "watch", _WORKERS


def _worker(was: WorkerRow | None, now: WorkerRow) -> tuple[str, Role]:
    if now.state in _STATES:
        return _STATES[now.state]
    return (f"came with {words.count(now.slots)} slots" if was is None else "works again"), "moving"


def _queues(before: Snapshot, after: Snapshot) -> Iterator[_Told]:
    known = {queue.name: queue for queue in before.queues}
    for queue in after.queues:
        was = known.get(queue.name)
        if queue.paused != (was is not None and was.paused):
            yield "queue", queue.name, *_paused(queue), Go(View.TASKS, TaskFilter(queues=(queue.name,)))


def _paused(queue: QueueRow) -> tuple[str, Role]:
    if not queue.paused:
        return "goes on", "moving"
    by = f" by {queue.paused_by}" if queue.paused_by else ""
    why = f": {queue.paused_reason}" if queue.paused_reason else ""
    return f"paused{by}{why}", "watch"


def _problems(before: Snapshot, after: Snapshot) -> Iterator[_Told]:
    was, now = _found(before), _found(after)
    for key, problem in now.items():
        if key not in was:
            yield problem.kind, problem.name, problem.words, problem.severity, opens(problem)
    for key, problem in was.items():
        if key not in now:
            yield problem.kind, problem.name, f"{problem.kind} no more", "moving", opens(problem)


def _found(snapshot: Snapshot) -> dict[tuple[str, str], Problem]:
    """By kind and name: the words of a problem change with its figures, and that is no news."""
    return {(p.kind, p.name): p for p in problems(snapshot) if p.kind not in _TOLD_OTHERWISE}
