"""What keeps an operator's action off a task, as it stands when its turn comes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from crewtop.model.durations import duration
from crewtop.model.operations import RULES, Action, ActionRule
from crewtop.model.task import TaskStatus
from crewtop.model.transitions import LIVE


class Item(NamedTuple):
    """A task of an operation as it stands when its turn comes. version None: there is no such task any more.

    since: seconds since its last change; waits: for other tasks; queue: where it is, or where undoing puts it back;
    holder: the task that holds its key, if another one does; needed_by: a task that has not ended and gets its result;
    restored: the status that undoing would bring back; lacks: tasks that it depends on, and that failed, were cancelled
    or are gone.
    """

    task_id: int
    seen: int
    version: int | None
    status: TaskStatus | None
    cancelling: bool
    since: float
    waits: bool = False
    queue: str | None = None
    crew: str | None = None
    key: str | None = None
    key_window: str | None = None
    holder: int | None = None
    needed_by: int | None = None
    restored: TaskStatus | None = None
    lacks: Sequence[int] | None = None


class Refusal(NamedTuple):
    """Why a task is left alone: kind is the same for all that are refused for one reason."""

    why: str
    kind: str


def refusal(action: Action, item: Item) -> Refusal | None:
    """What keeps an action off a task, as it stands now, or None."""
    rule = RULES[action]
    if item.version is None or item.status is None:
        return _refused(rule, "there is no such task")
    if action is Action.CANCEL and item.cancelling:
        return _refused(rule, "already cancelling")
    if item.version != item.seen or item.status not in rule.eligible:
        stands = "queued" if item.status is TaskStatus.PENDING else str(item.status)
        if action is Action.UNDO:
            return _refused(rule, f"changed since, {stands} {duration(item.since)} ago", "changed since")
        unseen = ", since you looked" if item.status in rule.eligible else ""
        return _refused(rule, f"{stands} {duration(item.since)} ago{unseen}", stands + unseen)
    if action is Action.RERUN and item.waits:
        return _refused(rule, "it waits for other tasks: retry it instead")
    if item.needed_by is not None and item.status is TaskStatus.COMPLETED:
        return _refused(rule, f"task {item.needed_by} needs its result", "their results are needed")
    if item.holder is not None and _takes_its_key(action, item):
        return key_held(action, item, item.holder)
    return None


def lacking(action: Action, item: Item, coming: Container[int]) -> Refusal | None:
    """The refusal of an action that would start a task without a task that it depends on, unless that is coming too."""
    starts = action in (Action.RETRY, Action.RERUN) or (action is Action.UNDO and item.restored in LIVE)
    missing = next((task_id for task_id in item.lacks or () if task_id not in coming), None) if starts else None
    if missing is None:
        return None
    why = f"task {missing}, on which it depends, has not completed: retry that one too"
    return _refused(RULES[action], why, "a dependency has not completed")


def key_held(action: Action, item: Item, holder: int) -> Refusal:
    """The refusal of a task whose key another one holds."""
    return _refused(RULES[action], f"key {item.key} is held by task {holder}", "key already held")


def takes_a_key(action: Action, item: Item) -> tuple[str | None, str, str | None] | None:
    """The key that a task holds once the action is done, if it does not hold it already."""
    return (item.crew, item.key, item.key_window) if item.key is not None and _takes_its_key(action, item) else None


def _takes_its_key(action: Action, item: Item) -> bool:
    if action is Action.UNDO:
        return item.restored in LIVE and item.status not in LIVE
    return action is Action.RERUN or (action is Action.RETRY and item.status not in LIVE)


def _refused(rule: ActionRule, why: str, kind: str | None = None) -> Refusal:
    return Refusal(f"not {rule.past}: {why}", kind or why)
