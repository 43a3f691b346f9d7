"""What an operator types to narrow the task list, as data: `status:failed crew:support timeout`."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from crewtop.model.errors import CrewtopError
from crewtop.model.task import TaskStatus


class FilterError(CrewtopError):
    """The filter does not parse; the message says what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Conditions that all must hold; an empty tuple or None does not restrict.

    crews and queues are exact names; text is looked for, regardless of case, in the short error, the crew's name and
    the id.
    """

    statuses: tuple[TaskStatus, ...] = ()
    crews: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    priority: int | None = None
    text: str | None = None


_KEYS = ("status", "crew", "queue", "priority")

SORTS: dict[str, str] = {
    "newest": "newest first",
    "oldest": "oldest first",
    "cost": "dearest first",
    "tokens": "most tokens first",
    "priority": "claim order: priority, then due time",
}
"""The orders that a task list can have, with their words."""


def parse(text: str) -> TaskFilter:
    """Read a filter as typed. Words of the form key:value restrict; the others are searched for.

    Raises FilterError for an unknown key, status or priority.
    """
    statuses: list[TaskStatus] = []
    crews: list[str] = []
    queues: list[str] = []
    words: list[str] = []
    priority: int | None = None
    for word in text.split():
        key, colon, value = word.partition(":")
        if not colon or not value:
            words.append(word)
        elif key == "status":
            statuses += [_status(name) for name in value.split(",")]
        elif key == "crew":
            crews += value.split(",")
        elif key == "queue":
            queues += value.split(",")
        elif key == "priority":
            priority = _priority(value)
        elif meant := get_close_matches(key, _KEYS, 1, 0.7):
            raise FilterError(f"filter key {key!r} is unknown: did you mean {meant[0]}:{value}?")
        else:
            words.append(word)
    return TaskFilter(tuple(statuses), tuple(crews), tuple(queues), priority, " ".join(words) or None)


def words(task_filter: TaskFilter) -> str:
    """A filter as one would type it: parse(words(f)) == f, unless a name holds a space or a comma."""
    parts = []
    if task_filter.statuses:
        parts.append("status:" + ",".join(task_filter.statuses))
    if task_filter.crews:
        parts.append("crew:" + ",".join(task_filter.crews))
    if task_filter.queues:
        parts.append("queue:" + ",".join(task_filter.queues))
    if task_filter.priority is not None:
        parts.append(f"priority:{task_filter.priority}")
    if task_filter.text:
        parts.append(task_filter.text)
    return " ".join(parts)


def _status(name: str) -> TaskStatus:
    try:
        return TaskStatus(name)
    except ValueError:
        raise FilterError(f"status {name!r} is unknown: use one of {', '.join(TaskStatus)}") from None


def _priority(value: str) -> int:
    digit = value.removeprefix("P").removeprefix("p")
    if digit in ("0", "1", "2", "3", "4"):
        return int(digit)
    raise FilterError(f"priority {value!r} is out of range: use 0 to 4")
