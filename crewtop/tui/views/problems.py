"""Where Enter leads from a problem."""

from __future__ import annotations

from crewtop.model.filters import TaskFilter
from crewtop.model.problems import Problem
from crewtop.model.task import TaskStatus
from crewtop.tui.actions import View
from crewtop.tui.effects import Effect, Go, Open


def opens(problem: Problem) -> Effect:
    """What shows more of a problem."""
    if problem.task_id is not None:
        return Open(problem.task_id)
    if problem.about == "task":
        return Go(View.TASKS, TaskFilter(statuses=(TaskStatus.RUNNING,)))
    if problem.about == "queue":
        return Go(View.TASKS, TaskFilter(queues=(problem.name,), statuses=_STATUSES.get(problem.kind, ())))
    return Go(View.MODELS if problem.about in ("budget", "provider") else View.WORKERS)


_STATUSES = {
    "failing": (TaskStatus.FAILED,),
    "error rate": (TaskStatus.FAILED,),
    "stuck tasks": (TaskStatus.RUNNING,),
}


def leads(problem: Problem) -> str:
    """Where that is, in a word or two."""
    if problem.task_id is not None:
        return "the task"
    if problem.about in ("budget", "provider"):
        return "models"
    return {"queue": "its tasks", "task": "running tasks"}.get(problem.about, "workers")
