"""What a producer calls: put tasks in, ask where they stand, wait for results, cancel."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

from crewtop import operations
from crewtop.admission import Enqueued, Existing, Task, portions, refusals, tied_batch
from crewtop.config import Configuration, load
from crewtop.live.state_cache import StateCache
from crewtop.model.errors import CrewtopError, Refused
from crewtop.model.live import ALIKE, Change, Changes, State
from crewtop.model.operations import Action, Order
from crewtop.model.task import ENDED, OnFailure, TaskStatus
from crewtop.store import operations as operations_store
from crewtop.store import producer
from crewtop.stores import Stores, stores

T = TypeVar("T")

RESULT_POLL_SECONDS = (0.02, 1.0)
"""How often result() asks: at first, and at most once it has waited a while."""

LISTEN_SECONDS = 0.04
"""A result that is not there after about this is waited for with a subscription, which says when the task has ended."""


class More(TypedDict, total=False):
    """What enqueue() takes beyond a crew and its inputs: see Task."""

    queue: str
    priority: int
    run_at: datetime | None
    max_attempts: int
    budget: timedelta | None
    key: str | None
    key_scope: str
    key_window: timedelta | None
    depends_on: Mapping[str, Task | int] | Sequence[Task | int]
    on_failure: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class FannedOut:
    """The ids of fanned out tasks, in order, and of the one that gathers their results."""

    ids: list[Enqueued]
    then: Enqueued


class TaskFailed(CrewtopError):
    """The task that result() waited for failed; the message is its error."""


class TaskCancelled(CrewtopError):
    """The task that result() waited for was cancelled."""


class Queue:
    """The durable queue. Get one from connect()."""

    def __init__(self, opened: Stores, max_input_bytes: int) -> None:
        self._database = opened.database
        self._live = opened.live
        self._states = StateCache(opened.live)
        self._max_input_bytes = max_input_bytes

    async def enqueue(
        self,
        crew: str,
        inputs: Mapping[str, Any] | None = None,
        **more: Unpack[More],
    ) -> Enqueued:
        """Put one task in; answers its id once it is committed, with new=False where another task holds its key.

        inputs: an object of JSON values, at most queue.max_input_bytes as text; more: what else a Task takes, such as
        queue, priority, run_at (not before then, with a time zone), max_attempts (1 to 100), budget (wall time that one
        run may take), key, depends_on.
        Raises Refused before anything is written, Unavailable if the database cannot answer.
        """
        return (await self.enqueue_many([Task(crew, inputs, **more)]))[0]

    async def enqueue_many(self, tasks: Iterable[Task]) -> list[Enqueued]:
        """Put tasks in, all or none; answers their ids in order. Raises as enqueue() does."""
        listed = list(tasks)
        if any(task.tied for task in listed):
            return await self._enqueue_tied(listed)
        ids = await producer.enqueue(self._database, portions(listed, self._max_input_bytes))
        await self._live.wake({task.queue for task in listed}, _told(listed, ids))
        return [Enqueued(task_id) for task_id in ids]

    async def enqueue_each(self, tasks: Iterable[Task]) -> list[Enqueued | Refused]:
        """Put in whatever can be; answers each task's id, or why it was refused. Raises Unavailable as enqueue() does.

        Tasks that depend on others of the batch are refused with them.
        """
        listed = list(tasks)
        refused = refusals(listed, self._max_input_bytes)
        accepted = [task for task in listed if task not in refused]
        ids = dict(zip(accepted, await self.enqueue_many(accepted), strict=True))
        return [refused.get(task) or ids[task] for task in listed]

    async def fan_out(
        self,
        tasks: Iterable[Task],
        *,
        then: Task,
        parent: int | None = None,
        on_failure: str = OnFailure.FAIL,
    ) -> FannedOut:
        """Put tasks in, and one more that starts when all of them have ended, with their results in its inputs.

        parent: the task that they come from; on_failure: what then does when one of them does not complete: 'fail',
        'continue' without its result, or 'cancel'. Raises as enqueue() does.
        """
        children = [replace(task, parent=task.parent if task.parent is not None else parent) for task in tasks]
        last = replace(then, depends_on=children, on_failure=on_failure, parent=parent)
        *ids, then_id = await self.enqueue_many([*children, last])
        return FannedOut(ids, then_id)

    async def _enqueue_tied(self, tasks: list[Task]) -> list[Enqueued]:
        checked, places = tied_batch(tasks, self._max_input_bytes)
        ids, existing = await producer.enqueue_tied(self._database, checked)
        new = {place: task for place, task in zip(places, tasks, strict=True) if place not in existing}
        told = _told(list(new.values()), [ids[place] for place in new], tied=True)
        await self._live.wake({task.queue for task in checked}, told)
        return [Existing(ids[place]) if place in existing else Enqueued(ids[place]) for place in places]

    async def status(self, task_id: int) -> TaskStatus:
        """Where a task stands: by what workers told since it was last asked for, else from Redis or Postgres.

        A change shows within milliseconds of its commit, and never goes back; one whose worker died before it could
        tell of it shows within five seconds. Raises Refused where there is no such task, Unavailable where the
        database cannot answer.
        """
        found = await self._states.poll(task_id, lambda: producer.status(self._database, task_id))
        if found is None:
            raise Refused(f"there is no task {task_id}")
        return found.status

    async def result(self, task_id: int, timeout: float | None = None) -> Any:
        """Wait for a task's result: the crew's structured output if it has one, else its text.

        timeout: seconds, None for as long as it takes, 0 to take only what is there. Raises TaskFailed or TaskCancelled
        if it ended so, TimeoutError if it has not ended by then, Refused where there is no such task, Unavailable if
        the database cannot answer.
        """
        if timeout is not None and timeout <= 0 and (found := await self._ended(task_id)) is not None:
            return _result(task_id, found)
        try:
            async with asyncio.timeout(timeout):
                return await self._wait_for_result(task_id)
        except TimeoutError:
            raise TimeoutError(f"task {task_id} has not ended within {timeout:g} s") from None

    async def _wait_for_result(self, task_id: int) -> Any:
        wait, longest = RESULT_POLL_SECONDS
        while wait < LISTEN_SECONDS:
            if (found := await self._ended(task_id)) is not None:
                return _result(task_id, found)
            await asyncio.sleep(wait)
            wait *= 1.5
        with self._states.waiting(task_id) as told:
            while (found := await self._ended(task_id, straight=told.ended)) is None:
                told.ended = False
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await told.wait()
                told.clear()
                wait = min(wait * 1.5, longest)
        return _result(task_id, found)

    async def _ended(self, task_id: int, *, straight: bool = False) -> State | None:
        """The task with how it ended, or None while it has not; straight: just now it has, as only Postgres knows."""
        found = await self._states.read(
            task_id, lambda: producer.ending(self._database, task_id), whole=True, straight=straight
        )
        if found is None:
            raise Refused(f"there is no task {task_id}")
        return found if found.status in ENDED else None

    async def cancel(self, task_id: int, reason: str | None = None) -> bool:
        """Cancel a task: at once if it has not started, else its process is killed. False if it had already ended.

        Raises Refused where there is no such task.
        """
        while True:
            found = await operations_store.targets(self._database, [task_id])
            if not found:
                raise Refused(f"there is no task {task_id}")
            seen = found[0]
            if seen.status.ended or seen.cancelling:
                return seen.cancelling
            result = await operations.act(
                self._database, self._live, Order(Action.CANCEL, reason=reason), [seen.target]
            )
            self._states.drop_copies()
            if any(item.done and item.task_id == task_id for item in result.items):
                return True
            # A worker moved it on in between: look again.


def _result(task_id: int, found: State) -> Any:
    """What a task that ended gave. Raises as result() does."""
    result, error = found.ending or (None, None)
    if found.status is TaskStatus.COMPLETED and result is not None:
        return json.loads(result)
    if found.status is TaskStatus.CANCELLED:
        raise TaskCancelled(f"task {task_id} was cancelled")
    raise TaskFailed(f"task {task_id} {found.status}: {error or 'no reason was given'}")


_KIND = attrgetter("queue", "crew")


def _told(tasks: Sequence[Task], ids: Sequence[int], *, tied: bool = False) -> list[Change]:
    """What whoever watches is told of new tasks, at hardly any cost for a large batch that is all alike."""
    if not tied and len(ids) > ALIKE and len(set(map(_KIND, tasks))) == 1:
        return [Change(ids[0], tasks[0].queue, tasks[0].crew, None, "pending", "producer", number=len(ids))]
    changes = Changes()
    for task_id, task in zip(ids, tasks, strict=True):
        status = "waiting" if task.depends_on else "pending"
        changes.add(Change(task_id, task.queue, task.crew, None, status, "producer"))
    return changes.take()


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
        **more: Unpack[More],
    ) -> Enqueued:
        """As Queue.enqueue."""
        return self.enqueue_many([Task(crew, inputs, **more)])[0]

    def enqueue_many(self, tasks: Iterable[Task]) -> list[Enqueued]:
        """As Queue.enqueue_many."""
        return self._wait(self._queue.enqueue_many(tasks))

    def enqueue_each(self, tasks: Iterable[Task]) -> list[Enqueued | Refused]:
        """As Queue.enqueue_each."""
        return self._wait(self._queue.enqueue_each(tasks))

    def fan_out(
        self, tasks: Iterable[Task], *, then: Task, parent: int | None = None, on_failure: str = OnFailure.FAIL
    ) -> FannedOut:
        """As Queue.fan_out."""
        return self._wait(self._queue.fan_out(tasks, then=then, parent=parent, on_failure=on_failure))

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
    """A BlockingQueue; arguments and errors as connect(). It keeps one event loop in a thread of its own.

    What another thread still waits for when the block ends is cancelled: it gets a CancelledError.
    """
    runner = asyncio.Runner()
    loop = runner.get_loop()

    def serve() -> None:
        with runner:
            loop.run_forever()

    thread = threading.Thread(target=serve, name="crewtop", daemon=True)
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
