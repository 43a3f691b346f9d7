"""What is wrong now, the worst first, judged from a snapshot alone."""

from __future__ import annotations

from dataclasses import dataclass

from crewtop import words
from crewtop.model.filters import TaskFilter
from crewtop.model.snapshot import QueueRow, Snapshot, WorkerRow
from crewtop.model.task import TaskStatus
from crewtop.tui.actions import View
from crewtop.tui.effects import Effect, Go, Open
from crewtop.tui.paint import Role
from crewtop.tui.views.cells import coarse, left
from crewtop.tui.views.tables import GOOD_LEVEL
from crewtop.tui.views.workerrows import clock_words

STARTING_SECONDS = 10.0
"""A worker takes a few seconds to import CrewAI; until then it is no news that nobody takes the first tasks."""

MOURNING_SECONDS = 120.0
"""Once others have its tasks, a dead worker is history after a while, not an alarm."""

FAILING = 0.10
"""A queue of which this share of runs does not complete is called failing."""

WORST_FIRST = (
    "dead worker",
    "no worker",
    "late",
    "failing",
    "stuck",
    "throttled",
    "redis",
    "clock",
    "draining",
    "paused",
)
"""Kinds of problems by how soon somebody has to look at them."""

_WRONG = frozenset({"dead worker", "no worker", "late", "failing"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One line: what is the matter with what, in words with since when or how much, and where Enter leads.

    kind is one of WORST_FIRST, and no two of a kind have the same name. Names and reasons are as they were given, not
    yet safe to show.
    """

    kind: str
    name: str
    words: str
    opens: Effect

    @property
    def role(self) -> Role:
        """wrong, or only to be watched."""
        return "wrong" if self.kind in _WRONG else "watch"

    @property
    def leads(self) -> str:
        """Where Enter leads, in a word or two."""
        if isinstance(self.opens, Open):
            return "the task"
        return "workers" if isinstance(self.opens, Go) and self.opens.view is View.WORKERS else "its tasks"


def problems(snapshot: Snapshot) -> list[Problem]:
    """All problems of a snapshot, the worst first, in a stable order."""
    found = [*_stores(snapshot), *_stuck(snapshot), *_queues(snapshot), *_workers(snapshot)]
    return sorted(found, key=lambda problem: WORST_FIRST.index(problem.kind))


def _stores(snapshot: Snapshot) -> list[Problem]:
    if snapshot.redis.up:
        return []
    why = f": {snapshot.redis.detail}" if snapshot.redis.detail else ""
    said = f"down: tasks go on by polling, without live logs{why}"
    return [Problem("redis", "redis", said, Go(View.WORKERS))]


def _queues(snapshot: Snapshot) -> list[Problem]:
    found: list[Problem] = []
    for queue in snapshot.queues:
        tasks = TaskFilter(queues=(queue.name,))
        failed = TaskFilter(queues=(queue.name,), statuses=(TaskStatus.FAILED,))
        found += [
            Problem(kind, queue.name, said, Go(View.TASKS, failed if kind == "failing" else tasks))
            for kind, said in _of_queue(queue)
        ]
    return found


def _of_queue(queue: QueueRow) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    ready = f"{words.count(queue.ready)} ready"
    oldest = f", oldest {coarse(queue.oldest)}" if queue.oldest is not None else ""
    if queue.no_worker and (queue.oldest or 0) > STARTING_SECONDS:
        crews = ", ".join(queue.no_worker)
        found.append(("no worker", f"no live worker has the crew {crews}: {ready}{oldest}"))
    if queue.level is not None and queue.level < GOOD_LEVEL:
        share = words.percent(queue.level)
        found.append(("late", f"only {share} start within their service level: {ready}{oldest}"))
    if queue.run.n >= words.FEW and (queue.error_rate or 0) >= FAILING:
        share = words.percent(queue.error_rate)
        found.append(("failing", f"{share} of its runs fail: {words.count(queue.failed)} tasks failed for good"))
    if queue.throttled:
        held = [f"{each.crew} by {each.provider}, resumes in {left(each.seconds_left)}" for each in queue.throttled]
        found.append(("throttled", f"throttled: {'; '.join(held)}: {ready}"))
    if queue.paused:
        by = f" by {queue.paused_by}" if queue.paused_by else ""
        why = f": {queue.paused_reason}" if queue.paused_reason else ""
        found.append(("paused", f"paused{by}{why}, {ready}{oldest}"))
    return found


def _stuck(snapshot: Snapshot) -> list[Problem]:
    return [
        Problem("stuck", f"{task.task_id} {task.crew}", f"stuck: {task.stuck}", Open(task.task_id))
        for task in snapshot.running
        if task.stuck is not None
    ]


def _workers(snapshot: Snapshot) -> list[Problem]:
    return [
        Problem(kind, worker.id, said, Go(View.WORKERS))
        for worker in snapshot.workers
        for kind, said in _of_worker(worker)
    ]


def _of_worker(worker: WorkerRow) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    if worker.state == "late" and (worker.busy or worker.heartbeat_age < MOURNING_SECONDS):
        busy = f", {worker.busy} running there" if worker.busy else ""
        found.append(("dead worker", f"no heartbeat for {coarse(worker.heartbeat_age)}{busy}"))
    if worker.state == "draining" and worker.busy:
        found.append(("draining", words.draining(worker.busy, worker.drain_seconds_left)))
    if worker.state in ("running", "draining") and (offset := clock_words(worker.clock_offset)) != words.NOTHING:
        found.append(("clock", f"its clock is off by {offset}"))
    return found
