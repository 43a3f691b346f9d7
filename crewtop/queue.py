"""What a producer calls: put tasks in, ask where they stand, wait for results, cancel."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from crewtop import operations
from crewtop.config import Configuration, load
from crewtop.model.errors import CrewtopError, Refused
from crewtop.model.operations import Action
from crewtop.model.task import NewTask, Priority, TaskStatus
from crewtop.store import console, producer
from crewtop.stores import Stores, stores
from crewtop.text import storable, storable_json

T = TypeVar("T")

MAX_BUDGET = timedelta(days=365)

RESULT_POLL_SECONDS = (0.02, 1.0)
"""How often result() asks: at first, and at most once it has waited a while."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task to enqueue: the crew's registered name and its inputs, with everything that enqueue() takes."""

    crew: str
    inputs: Mapping[str, Any] | None = None
    queue: str = "default"
    priority: int = Priority.NORMAL
    run_at: datetime | None = None
    max_attempts: int = 3
    budget: timedelta | None = None


class TaskFailed(CrewtopError):
    """The task that result() waited for failed; the message is its error."""


class TaskCancelled(CrewtopError):
    """The task that result() waited for was cancelled."""


class Queue:
    """The durable queue. Get one from connect()."""

    def __init__(self, opened: Stores, max_input_bytes: int) -> None:
        self._database = opened.database
        self._live = opened.live
        self._max_input_bytes = max_input_bytes

    async def enqueue(
        self,
        crew: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        queue: str = "default",
        priority: int = Priority.NORMAL,
        run_at: datetime | None = None,
        max_attempts: int = 3,
        budget: timedelta | None = None,
    ) -> int:
        """Put one task in; answers its id once it is committed.

        inputs: an object of JSON values, at most queue.max_input_bytes as text; run_at: not before then, with a time
        zone; max_attempts: 1 to 100; budget: wall time that one run may take.
        Raises Refused before anything is written, Unavailable if the database cannot answer.
        """
        return (await self.enqueue_many([Task(crew, inputs, queue, priority, run_at, max_attempts, budget)]))[0]

    async def enqueue_many(self, tasks: Iterable[Task]) -> list[int]:
        """Put tasks in, all or none, in one statement; answers their ids in order. Raises as enqueue() does."""
        checked = [checked_task(task, self._max_input_bytes) for task in tasks]
        ids = await producer.enqueue(self._database, checked)
        await self._live.wake({task.queue for task in checked})
        return ids

    async def status(self, task_id: int) -> TaskStatus:
        """Where a task stands. Raises Refused where there is no such task."""
        found = await producer.status(self._database, task_id)
        if found is None:
            raise Refused(f"there is no task {task_id}")
        return found

    async def result(self, task_id: int, timeout: float | None = None) -> Any:
        """Wait for a task's result: the crew's structured output if it has one, else its text.

        timeout: seconds, None for as long as it takes. Raises TaskFailed or TaskCancelled if it ended so,
        TimeoutError if it has not ended by then, Refused where there is no such task, Unavailable if the database
        cannot answer.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._wait_for_result(task_id)
        except TimeoutError:
            raise TimeoutError(f"task {task_id} has not ended within {timeout:g} s") from None

    async def _wait_for_result(self, task_id: int) -> Any:
        wait, longest = RESULT_POLL_SECONDS
        while True:
            found = await producer.ending(self._database, task_id)
            if found is None:
                raise Refused(f"there is no task {task_id}")
            if found.status is TaskStatus.COMPLETED and found.result is not None:
                return json.loads(found.result)
            if found.status in (TaskStatus.COMPLETED, TaskStatus.FAILED):
                raise TaskFailed(f"task {task_id} {found.status}: {found.error or 'no reason was given'}")
            if found.status is TaskStatus.CANCELLED:
                raise TaskCancelled(f"task {task_id} was cancelled")
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, longest)

    async def cancel(self, task_id: int, reason: str | None = None) -> bool:
        """Cancel a task: at once if it has not started, else its process is killed. False if it had already ended.

        Raises Refused where there is no such task.
        """
        while True:
            found = await console.targets(self._database, [task_id])
            if not found:
                raise Refused(f"there is no task {task_id}")
            seen = found[0]
            if seen.status.ended or seen.cancelling:
                return seen.cancelling
            result = await operations.act(self._database, self._live, Action.CANCEL, [seen.target], reason)
            if result.done:
                return True
            # A worker moved it on in between: look again.


@asynccontextmanager
async def connect(
    *, postgres: str | None = None, redis: str | None = None, config: Path | None = None
) -> AsyncIterator[Queue]:
    """A Queue on the configured servers, or on those named here; without any, on the embedded pair.

    Raises CrewtopError if the configuration is wrong, Unavailable if the database cannot answer.
    """
    flags = {name: value for name, value in (("postgres", postgres), ("redis", redis)) if value}
    configuration: Configuration = load(config, flags)
    async with stores(configuration.settings, "crewtop producer") as opened:
        yield Queue(opened, configuration.settings.queue.max_input_bytes)


class BlockingQueue:
    """Queue for ordinary code. Get one from connect_blocking(); safe to share between threads."""

    def __init__(self, queue: Queue, loop: asyncio.AbstractEventLoop) -> None:
        self._queue = queue
        self._loop = loop

    def enqueue(
        self,
        crew: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        queue: str = "default",
        priority: int = Priority.NORMAL,
        run_at: datetime | None = None,
        max_attempts: int = 3,
        budget: timedelta | None = None,
    ) -> int:
        """As Queue.enqueue."""
        return self.enqueue_many([Task(crew, inputs, queue, priority, run_at, max_attempts, budget)])[0]

    def enqueue_many(self, tasks: Iterable[Task]) -> list[int]:
        """As Queue.enqueue_many."""
        return self._wait(self._queue.enqueue_many(tasks))

    def status(self, task_id: int) -> TaskStatus:
        """As Queue.status."""
        return self._wait(self._queue.status(task_id))

    def result(self, task_id: int, timeout: float | None = None) -> Any:
        """As Queue.result."""
        return self._wait(self._queue.result(task_id, timeout))

    def cancel(self, task_id: int, reason: str | None = None) -> bool:
        """As Queue.cancel."""
        return self._wait(self._queue.cancel(task_id, reason))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextmanager
def connect_blocking(
    *, postgres: str | None = None, redis: str | None = None, config: Path | None = None
) -> Iterator[BlockingQueue]:
    """A BlockingQueue; arguments and errors as connect(). It keeps one event loop in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="crewtop", daemon=True)
    thread.start()

    def wait(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    connection = connect(postgres=postgres, redis=redis, config=config)
    try:
        queue = wait(connection.__aenter__())
        try:
            yield BlockingQueue(queue, loop)
        finally:
            wait(connection.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def checked_task(task: Task, max_input_bytes: int) -> NewTask:
    """A task that the database will take, or Refused with what is wrong with it."""
    name(task.crew, "crew")
    name(task.queue, "queue")
    if isinstance(task.priority, bool) or task.priority not in range(5):
        raise Refused(f"priority {task.priority!r} is out of range: use 0 to 4, or crewtop.Priority")
    if task.run_at is not None and task.run_at.utcoffset() is None:
        raise Refused(
            f"run_at {task.run_at.isoformat()} has no time zone: use datetime.now(timezone.utc) or another zone"
        )
    if isinstance(task.max_attempts, bool) or task.max_attempts not in range(1, 101):
        raise Refused(f"max_attempts {task.max_attempts!r} is out of range: use 1 to 100")
    if task.budget is not None and not timedelta(0) < task.budget <= MAX_BUDGET:
        raise Refused(f"budget {task.budget} is out of range: use up to 365 days, or leave it out for the worker's own")
    inputs, replaced = inputs_text(task.crew, task.inputs, max_input_bytes)
    return NewTask(
        crew=task.crew,
        inputs=inputs,
        queue=task.queue,
        priority=int(task.priority),
        run_at=task.run_at,
        max_attempts=task.max_attempts,
        budget_seconds=task.budget.total_seconds() if task.budget is not None else None,
        inputs_replaced=replaced,
    )


def name(value: object, what: str) -> None:
    """Refuse what cannot be the name of a crew or a queue."""
    if not isinstance(value, str) or not 1 <= len(value) <= 200:
        raise Refused(f"{what} {value!r} is not a name: use 1 to 200 characters")
    if storable(value)[1]:
        raise Refused(f"{what} {value!r} holds NUL or half a surrogate pair: use another name")


def inputs_text(crew: str, inputs: Mapping[str, Any] | None, max_bytes: int) -> tuple[str, int]:
    """Inputs as JSON text, and how many characters of it PostgreSQL could not have held."""
    if inputs is not None and not isinstance(inputs, Mapping):
        raise Refused(f"inputs of {crew!r} are a {type(inputs).__name__}: use an object, such as {{'order_id': 'A-1'}}")
    if any(not isinstance(key, str) for key in inputs or {}):
        raise Refused(f"inputs of {crew!r} have a key that is not text: use text keys")
    try:
        text = json.dumps(dict(inputs or {}), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Refused(f"inputs of {crew!r} are not JSON: {error}") from None
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise Refused(
            f"inputs of {crew!r} are {size} bytes, over queue.max_input_bytes = {max_bytes}: pass a reference instead"
        )
    return storable_json(text)
