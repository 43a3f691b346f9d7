"""What a producer may hand in: tasks, checked before anything is written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from crewtop.model.errors import Refused
from crewtop.model.task import Dependency, KeyScope, NewTask, OnFailure, Portion, Priority, Ties, portion
from crewtop.text import storable, storable_json

MAX_BUDGET = timedelta(days=365)
MAX_DEPENDENCIES = 10_000
RESULTS = "results"
"""The input under which a task finds the results of those that it depends on, by name."""


@dataclass(slots=True, eq=False)  # not frozen: that takes four times as long to make, and batches are large
class Task:
    """A task to enqueue: the crew's registered name and its inputs, with everything that enqueue() takes.

    key: at most one task of the crew holds it, until when says key_scope ('live': until the task ends; 'completed': for
    good unless it fails or is cancelled; 'always': for good), and only within windows of key_window if that is given.
    depends_on: tasks of the same batch, or ids of others, that have to end first; the crew finds their results in
    inputs['results'] under the names of the mapping, or, of a sequence, under the crew's name or the id. on_failure:
    what happens when one of them does not complete: 'fail', 'continue' or 'cancel'. parent: the id of the task that it
    comes from; a cancelled parent takes along what has not started.
    """

    crew: str
    inputs: Mapping[str, Any] | None = None
    queue: str = "default"
    priority: int = Priority.NORMAL
    run_at: datetime | None = None
    max_attempts: int = 3
    budget: timedelta | None = None
    key: str | None = None
    key_scope: str = KeyScope.LIVE
    key_window: timedelta | None = None
    depends_on: Mapping[str, Task | int] | Sequence[Task | int] = ()
    on_failure: str = OnFailure.FAIL
    parent: int | None = None

    @property
    def tied(self) -> bool:
        """Whether it has to do with other tasks."""
        return self.key is not None or bool(self.depends_on) or self.parent is not None


class Enqueued(int):
    """A task's id. new is False where an existing task held the key: then it is that task's id."""

    new = True


class Existing(Enqueued):
    """The id of a task that was there already."""

    new = False


def checked_task(task: Task, max_input_bytes: int, ties: Ties | None = None) -> NewTask:
    """A task that the database will take, or Refused with what is wrong with it."""
    name(task.crew, "crew")
    name(task.queue, "queue")
    if isinstance(task.priority, bool) or task.priority not in _PRIORITIES:
        raise Refused(f"priority {task.priority!r} is out of range: use 0 to 4, or crewtop.Priority")
    if task.run_at is not None and task.run_at.utcoffset() is None:
        raise Refused(
            f"run_at {task.run_at.isoformat()} has no time zone: use datetime.now(timezone.utc) or another zone"
        )
    if isinstance(task.max_attempts, bool) or task.max_attempts not in _ATTEMPTS:
        raise Refused(f"max_attempts {task.max_attempts!r} is out of range: use 1 to 100")
    if task.budget is not None and not timedelta(0) < task.budget <= MAX_BUDGET:
        raise Refused(f"budget {task.budget} is out of range: use up to 365 days, or leave it out for the worker's own")
    inputs, replaced = inputs_text(task.crew, task.inputs, max_input_bytes)
    budget = task.budget.total_seconds() if task.budget is not None else None
    return NewTask(
        task.crew, inputs, task.queue, int(task.priority), task.run_at, task.max_attempts, budget, replaced, ties
    )


TASKS_A_PORTION = 1_000


def portions(tasks: Iterable[Task], max_input_bytes: int) -> Iterator[Portion]:
    """Tasks that have nothing to do with others, checked as they are taken. Raises Refused for the first bad one."""
    rest = iter(tasks)
    while some := list(islice(rest, TASKS_A_PORTION)):
        yield _alike(some, max_input_bytes) or portion([checked_task(task, max_input_bytes) for task in some])


def _alike(tasks: Sequence[Task], max_input_bytes: int) -> Portion | None:
    """Tasks checked together: each kind once, and their inputs as one text. None where one of them is not plain.

    A tenth of the time that it takes to check them one by one, for batches of few kinds with small inputs.
    """
    firsts: dict[tuple[object, ...], Task] = {}
    places: dict[tuple[object, ...], int] = {}
    numbers: list[int] = []
    try:
        for task in tasks:
            if any(type(key) is not str for key in task.inputs or ()):
                return None
            kind = (task.crew, task.queue, task.priority, task.run_at, task.max_attempts, task.budget)
            firsts.setdefault(kind, task)
            numbers.append(places.setdefault(kind, len(firsts)))
        text = _ENCODE([task.inputs or {} for task in tasks])
    except (TypeError, ValueError, RecursionError):
        return None
    if any(type(task.inputs or {}) is not dict for task in tasks):
        return None
    if _size(text) > max_input_bytes or storable_json(text)[1]:
        return None
    kinds = [checked_task(replace(first, inputs=None), max_input_bytes).kind for first in firsts.values()]
    return Portion(kinds, numbers if len(kinds) > 1 else (), text)


_PRIORITIES = range(5)
_ATTEMPTS = range(1, 101)


def tied_batch(tasks: Sequence[Task], max_input_bytes: int) -> tuple[list[NewTask], list[int]]:
    """Tasks checked, each after those that it depends on; and the place in that order of each task of the input.

    Raises Refused for a circle, and for a dependency that is not in the batch.
    """
    order = _ordered(tasks)
    places = {id(task): place for place, task in enumerate(order)}
    checked = [checked_task(task, max_input_bytes, _ties(task, places)) for task in order]
    return checked, [places[id(task)] for task in tasks]


def refusals(tasks: Sequence[Task], max_input_bytes: int) -> dict[Task, Refused]:
    """Which tasks cannot be taken, and why, with those that depend on one of them. Raises Refused for a circle."""
    refused: dict[Task, Refused] = {}
    order = _ordered(tasks)
    places = {id(task): place for place, task in enumerate(order)}
    for task in order:
        try:
            for _, other in _named(task):
                if isinstance(other, Task) and other in refused:
                    raise Refused(f"{task.crew!r} depends on a task that was refused: {refused[other]}")
            checked_task(task, max_input_bytes, _ties(task, places))
        except Refused as error:
            refused[task] = error
    return refused


def _ordered(tasks: Sequence[Task]) -> list[Task]:
    known = {id(task): task for task in tasks}
    done: dict[int, Task] = {}
    for root in tasks:
        path: dict[int, Iterator[Task]] = {}
        todo = [root]
        while todo:
            task = todo[-1]
            if id(task) in done:
                todo.pop()
                continue
            rest = path.setdefault(id(task), iter([t for _, t in _named(task) if isinstance(t, Task)]))
            following = next((t for t in rest if id(t) not in done), None)
            if following is None:
                done[id(task)] = task
                todo.pop()
            elif id(following) in path:
                circle = " -> ".join(t.crew for t in [*todo[todo.index(following) :], following])
                raise Refused(f"tasks depend on each other in a circle: {circle}: break it")
            elif id(following) not in known:
                raise Refused(
                    f"{task.crew!r} depends on a task of crew {following.crew!r} that is not in this batch: "
                    "enqueue both together, or depend on its id"
                )
            else:
                todo.append(following)
    return list(done.values())


def _named(task: Task) -> list[tuple[str, Task | int]]:
    """Dependencies with the names under which their results are handed over."""
    if isinstance(task.depends_on, Mapping):
        return list(task.depends_on.items())
    named: dict[str, Task | int] = {}
    for item in task.depends_on:
        base = item.crew if isinstance(item, Task) else f"task-{item}"
        number = 1
        while (given := base if number == 1 else f"{base}-{number}") in named:
            number += 1
        named[given] = item
    return list(named.items())


def _ties(task: Task, places: Mapping[int, int]) -> Ties | None:
    if not task.tied:
        return None
    depends_on = tuple(_dependency(label, item, places) for label, item in _named(task))
    if len(depends_on) > MAX_DEPENDENCIES:
        raise Refused(f"{task.crew!r} depends on {len(depends_on)} tasks: use up to {MAX_DEPENDENCIES}")
    if depends_on and RESULTS in (task.inputs or {}):
        raise Refused(
            f"inputs of {task.crew!r} have a key {RESULTS!r}, where dependencies' results go: use another key"
        )
    if task.key is not None:
        name(task.key, "key", 500)
    if task.key_window is not None and not timedelta(seconds=1) <= task.key_window <= MAX_BUDGET:
        raise Refused(f"key_window {task.key_window} is out of range: use one second to 365 days")
    window = task.key_window.total_seconds() if task.key_window is not None else None
    return Ties(
        task.key,
        _one_of(KeyScope, task.key_scope, "key_scope"),
        window,
        depends_on,
        _one_of(OnFailure, task.on_failure, "on_failure"),
        task.parent,
    )


def _dependency(label: str, item: Task | int, places: Mapping[int, int]) -> Dependency:
    name(label, "name of a dependency")
    return Dependency(label, place=places[id(item)]) if isinstance(item, Task) else Dependency(label, task_id=int(item))


def _one_of(kind: Any, value: str, what: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise Refused(f"{what} {value!r} is unknown: use one of {', '.join(kind)}") from None


def name(value: object, what: str, longest: int = 200) -> None:
    """Refuse what cannot be the name of a crew or a queue, or a key."""
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise Refused(f"{what} {value!r} is not a name: use 1 to {longest} characters")
    if "\0" in value or (not value.isascii() and storable(value)[1]):
        raise Refused(f"{what} {value!r} holds NUL or half a surrogate pair: use another name")


def inputs_text(crew: str, inputs: Mapping[str, Any] | None, max_bytes: int) -> tuple[str, int]:
    """Inputs as JSON text, and how many characters of it PostgreSQL could not have held."""
    if inputs is None:
        return "{}", 0
    if not isinstance(inputs, Mapping):
        raise Refused(f"inputs of {crew!r} are a {type(inputs).__name__}: use an object, such as {{'order_id': 'A-1'}}")
    for key in inputs:
        if not isinstance(key, str):
            raise Refused(f"inputs of {crew!r} have a key that is not text: use text keys")
    try:
        text = _ENCODE(inputs if isinstance(inputs, dict) else dict(inputs))
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"inputs of {crew!r} are not JSON: {error}") from None
    if (size := _size(text)) > max_bytes:
        raise Refused(
            f"inputs of {crew!r} are {size} bytes, over queue.max_input_bytes = {max_bytes}: pass a reference instead"
        )
    return storable_json(text)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
