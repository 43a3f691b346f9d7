"""What every worker does for all: take back expired leases, close unanswered calls, fold counters and rollups."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine

import structlog

from crewtop.model.errors import CrewtopError
from crewtop.store import housekeeping, lease, ledger
from crewtop.store.database import Database

log = structlog.get_logger()

RESCUES_A_LEASE = 2
FOLD_SECONDS = 5.0
CLOSE_CALLS_SECONDS = 60.0


def upkeep(
    database: Database, worker_id: str, lease_seconds: float, back_in_queue: Callable[[set[str]], Awaitable[None]]
) -> list[Coroutine[None, None, None]]:
    """The loops; back_in_queue is told the queues of rescued tasks."""

    async def rescue() -> None:
        rescued = await lease.rescue(database, worker_id, random.uniform(0.0, 1.0))
        for item in rescued:
            log.warning("rescued", task=item.task_id, run=item.run_id, status=str(item.status), why=item.why)
        if rescued:
            await ledger.close_calls(database, [item.run_id for item in rescued])
            await back_in_queue({item.queue for item in rescued})

    async def close_calls() -> None:
        await ledger.close_calls(database, None, CLOSE_CALLS_SECONDS)

    async def fold() -> None:
        await housekeeping.fold(database)

    return [
        every(lease_seconds / RESCUES_A_LEASE, "rescue", rescue),
        every(CLOSE_CALLS_SECONDS, "close calls", close_calls),
        every(FOLD_SECONDS, "fold", fold),
    ]


async def every(seconds: float, what: str, do: Callable[[], Awaitable[None]]) -> None:
    """Do it again and again, whatever happens: a keeper that dies silently is worse than one that complains."""
    while True:
        try:
            await do()
        except CrewtopError as error:
            log.warning("put off", what=what, reason=str(error))
        except Exception:
            log.exception("went wrong", what=what)
        await asyncio.sleep(seconds * random.uniform(0.75, 1.0))
