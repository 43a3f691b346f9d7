"""What a worker asks of the database: claim, hold, finish, and take back what others lost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import attrgetter

from crewtop.model import task as limits
from crewtop.model.ledger import Beat
from crewtop.model.task import Claim, Finish, Finished, Held, Orders, Settled, TaskStatus, ready_queues
from crewtop.store import dependents
from crewtop.store.database import Database

_STATUS: dict[str | None, TaskStatus | None] = {None: None, **{status.value: status for status in TaskStatus}}
"""A look-up is a tenth of the enumeration's call, and every task passes here."""


_BY_TASK = attrgetter("task_id")


@dataclass(frozen=True, slots=True)
class Rescued:
    """A task that was taken back from a worker that is gone."""

    task_id: int
    run_id: int
    status: TaskStatus
    queue: str
    crew: str
    why: str
    version: int


async def claim(
    database: Database,
    worker_id: str,
    queues: Sequence[str] | None,
    crews: Sequence[str],
    limit: int,
    lease_seconds: float,
) -> list[Claim]:
    """Take up to limit ready tasks of these queues (None: all) and crews, in claim order, for one lease."""
    rows = await database.fetch("claim", worker_id, queues, list(crews), limit, lease_seconds)
    return [Claim(*row) for row in rows]


async def finish(
    database: Database, worker_id: str, reports: Sequence[Finish], service_levels: Sequence[float]
) -> list[Finished]:
    """Record how runs ended, all or none. What had lost its lease is answered with accepted=False and kept as late.

    service_levels: seconds that a task of P0 to P4 may wait.
    """
    # A column of nothing is left empty, as finish.sql expects: each value costs the driver half a microsecond.
    told = [column if any(column) else () for column in zip(*sorted(reports, key=_BY_TASK), strict=True)]
    answer = await database.fetch(
        "finish", worker_id, *told, list(service_levels),
        limits.MAX_INTERRUPTIONS, limits.MAX_CRASHES, limits.THROTTLE_LIMIT_SECONDS,
    )  # fmt: skip
    ended = [
        Finished(run_id, task_id, accepted, _STATUS[status], freed or (), version=version or 0)
        for run_id, task_id, accepted, status, freed, _, version in answer[: len(reports)]
    ]
    settled = [
        Settled(task_id, queue, crew, TaskStatus.PENDING, version)
        for _, task_id, _, _, (queue,), crew, version in answer[len(reports) :]
    ]
    gone_wrong = [item.task_id for item in ended if item.status in (TaskStatus.FAILED, TaskStatus.CANCELLED)]
    if gone_wrong:
        settled += await dependents.settle(database, gone_wrong, f"worker:{worker_id}")
    if settled:
        ended[0] = ended[0]._replace(freed=[*{*ended[0].freed, *ready_queues(settled)}], settled=settled)
    return ended


async def heartbeat(database: Database, beat: Beat) -> Orders:
    """Extend the leases of all the worker's runs, write its row, and bring back its orders."""
    row = await database.fetchrow(
        "heartbeat", beat.worker_id, list(beat.runs), beat.lease_seconds, beat.host, beat.pid, beat.boot_id,
        beat.version, beat.queues, beat.crews, beat.slots, len(beat.runs), beat.cpu_percent, beat.memory_bytes,
        beat.draining,
        list(beat.runs.values()), beat.drain_seconds_left, beat.clock_offset,
    )  # fmt: skip
    if row is None:
        raise AssertionError("an upsert always answers")
    held, cancelling = set(row["held"]), set(row["cancelling"])
    runs = tuple(Held(run_id, run_id in held, run_id in cancelling) for run_id in beat.runs)
    return Orders(runs, row["desired_slots"], row["draining"], row["killed"], row["at"])


async def rescue(
    database: Database, worker_id: str, delay_seconds: float, held: Collection[int] = (), limit: int = 100
) -> list[Rescued]:
    """Take back tasks whose lease ran out, whoever held them but for the runs in held; they run again after the delay.

    delay_seconds: before they run again.
    """
    rows = await database.fetch("rescue", worker_id, limits.MAX_LOSSES, delay_seconds, limit, list(held))
    return [
        Rescued(task_id, run_id, TaskStatus(status), queue, crew, why, version)
        for task_id, run_id, status, queue, crew, why, version in rows
    ]


async def living_workers(database: Database) -> int:
    """How many workers have not ended and were heard of within their lease."""
    [row] = await database.fetch("living_workers")
    return int(row["n"])


async def stop_worker(database: Database, worker_id: str) -> None:
    """Say that a worker ended in good order."""
    await database.fetch("stop_worker", worker_id)
