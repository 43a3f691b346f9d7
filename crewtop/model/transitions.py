"""The state machine: which changes of status exist, who may make each, by what means. The SQL follows this table."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from crewtop.model.task import TaskStatus


class Mover(StrEnum):
    """Who changes a task's status.

    A rescuer is a worker that takes back another's expired lease; the settler answers for tasks whose dependencies
    have ended, on behalf of whoever ended them.
    """

    PRODUCER = "producer"
    SCHEDULER = "scheduler"
    WORKER = "worker"
    RESCUER = "rescuer"
    SETTLER = "settler"
    OPERATOR = "operator"


class Transition(NamedTuple):
    """One change of status; old None is the task's beginning. means: the statement, or the operator's action."""

    old: TaskStatus | None
    new: TaskStatus
    mover: Mover
    means: str


WAITING, PENDING, RUNNING, RETRY, COMPLETED, FAILED, CANCELLED = TaskStatus
UNSTARTED = (WAITING, PENDING, RETRY)
LIVE = (*UNSTARTED, RUNNING)
STOPPED = (FAILED, CANCELLED)


def _operator(action: str, changes: Sequence[tuple[TaskStatus | None, TaskStatus]]) -> list[Transition]:
    return [Transition(old, new, Mover.OPERATOR, action) for old, new in changes]


_ACTIONS = [
    *_operator("retry", [(old, PENDING) for old in (*STOPPED, RETRY)] + [(old, WAITING) for old in STOPPED]),
    *_operator("fail", [(old, FAILED) for old in LIVE]),
    *_operator("requeue", [(RUNNING, PENDING), (RETRY, PENDING)]),
    # A running task stays running until its process is gone; its worker makes it cancelled then.
    *_operator("cancel", [(old, CANCELLED) for old in UNSTARTED] + [(RUNNING, RUNNING)]),
    *(
        change
        for action in ("move", "priority", "edit")
        for change in _operator(action, [(status, status) for status in (*UNSTARTED, *STOPPED)])
    ),
]

TRANSITIONS: frozenset[Transition] = frozenset(
    [
        Transition(None, PENDING, Mover.PRODUCER, "enqueue"),
        Transition(None, WAITING, Mover.PRODUCER, "enqueue"),
        Transition(None, PENDING, Mover.SCHEDULER, "enqueue"),
        *_operator("rerun", [(None, PENDING)]),
        Transition(PENDING, RUNNING, Mover.WORKER, "claim"),
        Transition(RETRY, RUNNING, Mover.WORKER, "claim"),
        *(
            Transition(RUNNING, new, Mover.WORKER, "finish")
            for new in (COMPLETED, FAILED, CANCELLED, RETRY, PENDING)
        ),
        *(Transition(RUNNING, new, Mover.RESCUER, "rescue") for new in (RETRY, FAILED, CANCELLED)),
        *(Transition(WAITING, new, Mover.SETTLER, "settle") for new in (PENDING, FAILED, CANCELLED)),
        *_ACTIONS,
        # What ran before an action is not running after its undoing: its process has been killed.
        *(
            Transition(done.new, PENDING if done.old is RUNNING and done.new is not RUNNING else done.old,
                       Mover.OPERATOR, "undo")
            for done in _ACTIONS
            if done.old is not None
        ),
        # What waited before may by then have nothing left to wait for.
        *(Transition(status, PENDING, Mover.OPERATOR, "undo") for status in STOPPED),
    ]
)  # fmt: skip
"""Every change of status that exists. A completed task is left by nothing."""


def sources(action: str) -> frozenset[TaskStatus]:
    """The statuses from which an operator's action leads anywhere."""
    return frozenset(change.old for change in _ACTIONS if change.means == action and change.old is not None)


def exists(movers: frozenset[Mover], old: TaskStatus | None, new: TaskStatus) -> bool:
    """Whether any of these movers may change a task from old to new."""
    return any(change.old == old and change.new == new and change.mover in movers for change in TRANSITIONS)
