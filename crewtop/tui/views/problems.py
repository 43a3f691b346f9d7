"""What is wrong now, the worst first, judged from a snapshot alone."""

from __future__ import annotations

from dataclasses import dataclass

from crewtop import words
from crewtop.model.filters import TaskFilter
from crewtop.model.snapshot import QueueRow, Snapshot, WorkerRow
from crewtop.tui.actions import View
from crewtop.tui.effects import Effect, Go, Open
from crewtop.tui.paint import Role
from crewtop.tui.views.cells import coarse
from crewtop.tui.views.tables import GOOD_LEVEL

STARTING_SECONDS = 10.0
"""A worker takes a few seconds to import CrewAI; until then it is no news that nobody takes the first tasks."""


MOURNING_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Problem:
    """One line: whose problem, what it is in words, how bad (wrong or watch), and where Enter leads."""

    kind: str
    name: str
    words: str
    role: Role
    opens: Effect


def problems(snapshot: Snapshot) -> list[Problem]:
    """All problems of a snapshot: wrong ones first, in a stable order."""
    found = [*_stores(snapshot), *_stuck(snapshot), *_queues(snapshot), *_workers(snapshot)]
    return sorted(found, key=lambda problem: (problem.role != "wrong", problem.kind == "paused"))


def _stores(snapshot: Snapshot) -> list[Problem]:
    if snapshot.redis.up:
        return []
    why = f": {snapshot.redis.detail}" if snapshot.redis.detail else ""
    return [
        Problem(
            "redis",
            "redis",
            f"down: tasks go on by polling, without live logs{why}",
            "watch",
            Go(View.WORKERS),
        )
    ]


def _queues(snapshot: Snapshot) -> list[Problem]:
    found: list[Problem] = []
    for queue in snapshot.queues:
        found += [
            Problem(kind, queue.name, said, role, Go(View.TASKS, TaskFilter(queues=(queue.name,))))
            for kind, said, role in _of_queue(queue)
        ]
    return found


def _of_queue(queue: QueueRow) -> list[tuple[str, str, Role]]:
    found: list[tuple[str, str, Role]] = []
    if queue.no_worker and (queue.oldest or 0) > STARTING_SECONDS:
        crews = ", ".join(queue.no_worker)
        found.append(("no worker", f"no live worker has the crew {crews}: {words.count(queue.ready)} ready", "wrong"))
    if queue.level is not None and queue.level < GOOD_LEVEL:
        oldest = f", oldest ready {coarse(queue.oldest)}" if queue.oldest is not None else ""
        found.append(("late", f"only {words.percent(queue.level)} start within their service level{oldest}", "wrong"))
    for held in queue.throttled:
        resumes = f"throttled by {held.provider}: {held.crew} resumes in {words.duration(held.seconds_left)}"
        found.append(("throttled", resumes, "watch"))
    if queue.paused:
        by = f" by {queue.paused_by}" if queue.paused_by else ""
        why = f": {queue.paused_reason}" if queue.paused_reason else ""
        found.append(("paused", f"paused{by}{why}", "watch"))
    return found


def _stuck(snapshot: Snapshot) -> list[Problem]:
    return [
        Problem("stuck", f"{task.task_id} {task.crew}", f"stuck: {task.stuck}", "watch", Open(task.task_id))
        for task in snapshot.running
        if task.stuck is not None
    ]


def _workers(snapshot: Snapshot) -> list[Problem]:
    return [
        Problem("worker", worker.host, _late(worker), "wrong", Go(View.WORKERS))
        for worker in snapshot.workers
        # Once others have its tasks, a dead worker is history after a while, not an alarm.
        if worker.state == "late" and (worker.busy or worker.heartbeat_age < MOURNING_SECONDS)
    ] + [
        Problem(
            "worker", worker.host, words.draining(worker.busy, worker.drain_seconds_left), "watch", Go(View.WORKERS)
        )
        for worker in snapshot.workers
        if worker.state == "draining" and worker.busy
    ]


def _late(worker: WorkerRow) -> str:
    busy = f", {worker.busy} running there" if worker.busy else ""
    return f"worker {worker.id} sends no heartbeat{busy}"
