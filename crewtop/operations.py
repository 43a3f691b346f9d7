"""Operator actions, the same for the screen and for the command line: guarded by what was seen, and recorded."""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Literal

from crewtop.live.fast_lane import FastLane
from crewtop.model.alerts import Silence
from crewtop.model.budgets import still_held
from crewtop.model.errors import Refused
from crewtop.model.live import DELETED, UNKNOWN, Change, Changes, Stand, let_go
from crewtop.model.operations import Action, Matching, Operation, OperationResult, Order, Target
from crewtop.model.refusals import Item
from crewtop.model.stuck import NO_PROGRESS_SECONDS
from crewtop.model.task import TaskStatus
from crewtop.store import alerts, batch, budgets, limits
from crewtop.store import operations as store
from crewtop.store.database import Database

ABANDONED_SECONDS = 30.0
"""A running operation that nobody has worked off for so long is taken up by a worker."""


async def act(database: Database, live: FastLane, order: Order, targets: Sequence[Target]) -> OperationResult:
    """Apply an action to tasks as the operator saw them, and answer for each.

    Tasks that have moved on are refused, each with its reason. Running processes are told at once where Redis is
    there, and by their worker's next heartbeat where it is not. Raises Unavailable if it cannot be done now; what was
    recorded by then is worked off by a worker later.
    """
    operation = await store.begin(database, order, targets, operator())
    async for progress in work_off(database, live, operation.id):
        operation = progress
    items = await store.outcomes(database, operation.id, operation.total)
    return OperationResult(operation, tuple(items))


async def act_on_all(
    database: Database,
    live: FastLane,
    order: Order,
    matching: Matching,
    no_progress_seconds: float = NO_PROGRESS_SECONDS,
) -> AsyncIterator[Operation]:
    """Apply an action to every task that matches, as it stands now; tells how far it has come, first of all at 0.

    no_progress_seconds: from when on a run without an event is stuck, for filters that ask for it.
    """
    operation = await store.begin_matching(database, order, matching, operator(), no_progress_seconds)
    yield operation
    async for progress in work_off(database, live, operation.id):
        yield progress


async def undo(
    database: Database, live: FastLane, operation_id: int, reason: str | None, within: timedelta
) -> AsyncIterator[Operation]:
    """Take an operation back where its tasks are still as it left them; tells how far the undoing has come.

    Raises Refused for an operation that cannot be undone, or that is older than within.
    """
    operation = await store.begin_undo(database, operation_id, operator(), reason, within)
    yield operation
    async for progress in work_off(database, live, operation.id):
        yield progress


async def work_off(database: Database, live: FastLane, operation_id: int) -> AsyncIterator[Operation]:
    """Work an operation off, batch by batch, until it is done or somebody has halted it; tells how far it has come."""
    while True:
        worked = await batch.work(database, operation_id)
        await live.wake(worked.woken, _told(worked), _stands(worked))
        for worker_id, run_id in worked.kills:
            await live.kill(worker_id, run_id)
        yield worked.operation
        if worked.operation.state != "running":
            return


async def halt(database: Database, operation_id: int, how: Literal["pause", "cancel"]) -> Operation:
    """Pause an operation, or cancel what is left of it. Raises Refused where it is not under way, or there is none."""
    if how == "pause":
        return await store.halt(database, operation_id, "paused", ("running",))
    return await store.halt(database, operation_id, "cancelled", ("running", "paused"))


async def resume(database: Database, live: FastLane, operation_id: int) -> AsyncIterator[Operation]:
    """Work off what is left of an operation; tells how far it has come. Raises Refused where it is over.

    One that runs may have been left alone by the process that began it.
    """
    yield await store.halt(database, operation_id, "running", ("paused", "running"))
    async for progress in work_off(database, live, operation_id):
        yield progress


async def silence(
    database: Database,
    rule: str,
    subject: str,
    seconds: float | None,
    alert_id: str | None = None,
    reason: str | None = None,
) -> Silence:
    """Tell nobody of alerts of rules on subjects, patterns both, for so many seconds; None: until alert_id ends."""
    return await alerts.put_silence(database, rule, subject, seconds, operator(), reason, alert_id)


async def unsilence(database: Database, silence_id: int | None, rule: str = "*", subject: str = "*") -> list[Silence]:
    """End silences, by id or by exactly their patterns. Raises Refused where none of them is in force."""
    lifted = await alerts.lift_silences(database, silence_id, rule, subject)
    if not lifted:
        what = f"silence {silence_id}" if silence_id is not None else f"rule {rule} on {subject}"
        raise Refused(f"{what} is not silenced: `crewtop alerts` lists silences")
    return lifted


async def resume_queue(database: Database, live: FastLane, queue: str) -> str:
    """Let workers claim from a queue again. Answers why a spent budget goes on holding it, '' where it goes on.

    Raises Refused where there is no such queue.
    """
    if not await limits.resume_queue(database, queue):
        raise Refused(f"there is no queue {queue}: `crewtop snapshot` lists them")
    await live.wake([queue])
    held = await budgets.holding(database, queue)
    return still_held(queue, held) if held else ""


async def carry_on(database: Database, live: FastLane) -> None:
    """Work off the operations whose process is gone. Any worker may do this, several at once."""
    failures: list[Exception] = []
    for operation_id in await store.abandoned(database, ABANDONED_SECONDS):
        try:
            async for _ in work_off(database, live, operation_id):
                pass
        except Exception as error:  # the others shall not wait for one that cannot be worked off
            failures.append(error)
    if failures:
        raise failures[0]


def _told(worked: batch.Worked) -> list[Change]:
    """What whoever watches is told of a batch."""
    operation = worked.operation
    reason = ": ".join(filter(None, [operation.action, operation.reason]))
    moved = operation.action is Action.MOVE and operation.argument
    destination = json.loads(moved)["queue"] if moved else None
    actor = f"operator:{operation.actor}"
    changes = Changes()
    for item in worked.changed:
        queue, crew = destination or item.queue or UNKNOWN, item.crew or UNKNOWN
        if (anew := worked.anew.get(item.task_id)) is not None:
            changes.add(Change(anew, queue, crew, None, TaskStatus.PENDING, actor, None, reason))
        else:
            old, new = item.status or UNKNOWN, _became(operation.action, item)
            changes.add(Change(item.task_id, queue, crew, old, new, actor, None, reason))
    for task in worked.settled:
        changes.add(let_go(task, actor))
    return changes.take()


def _stands(worked: batch.Worked) -> list[Stand]:
    """What a batch changed: what became of it says Postgres, which knows of dependencies and keys."""
    changed = [Stand(item.task_id) for item in worked.changed if item.task_id not in worked.anew]
    return [*changed, *(Stand(task.task_id, task.version, task.status) for task in worked.settled)]


def _became(action: Action, item: Item) -> str:
    """The status after an action, as the statements give it; the old one where something else was changed."""
    running = item.status is TaskStatus.RUNNING
    match action:
        case Action.RETRY:
            return TaskStatus.WAITING if item.waits or item.lacks else TaskStatus.PENDING
        case Action.REQUEUE:
            return TaskStatus.PENDING
        case Action.FAIL:
            return TaskStatus.FAILED
        case Action.CANCEL:
            return TaskStatus.RUNNING if running else TaskStatus.CANCELLED
        case Action.DELETE:
            return DELETED
        case Action.UNDO:
            return TaskStatus.RUNNING if running else _back(item)
    return item.status or UNKNOWN


def _back(item: Item) -> str:
    """What undoing makes of a task: what ran has been killed meanwhile, and a rerun is undone by deleting it."""
    ready = item.restored is TaskStatus.RUNNING or (item.restored is TaskStatus.WAITING and not item.waits)
    return TaskStatus.PENDING if ready else item.restored or DELETED


def operator() -> str:
    """Who acts, for the audit: OS user, host, and where the SSH session comes from."""
    origin = os.environ.get("SSH_CONNECTION", "").split(" ")[0]
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = f"uid:{os.getuid()}"
    who = f"{user}@{socket.gethostname()}"
    return f"{who} from {origin}" if origin else who
