"""What every worker does for all: take back expired leases, close unanswered calls, keep tables small."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Coroutine

import structlog

from crewtop.model.errors import CrewtopError
from crewtop.store import housekeeping, lease, ledger
from crewtop.store.database import Database

log = structlog.get_logger()

RESCUES_A_LEASE = 2
RESCUES_A_TIME = 100
FOLD_SECONDS = 5.0
PRUNE_SECONDS = 3_600.0
CLOSE_CALLS_SECONDS = 60.0


def upkeep(
    database: Database,
    worker_id: str,
    lease_seconds: float,
    held_safely: Callable[[], set[int] | None],
    back_in_queue: Callable[[set[str]], Awaitable[None]],
) -> list[Coroutine[None, None, None]]:
    """The loops. held_safely names the worker's own runs, or None while it may not rescue; back_in_queue is told the
    queues of rescued tasks.
    """

    async def rescue() -> None:
        while (held := held_safely()) is not None:
            rescued = await lease.rescue(database, worker_id, random.uniform(0.0, 1.0), held, RESCUES_A_TIME)
            for item in rescued:
                log.warning("rescued", task=item.task_id, run=item.run_id, status=str(item.status), why=item.why)
            if rescued:
                await ledger.close_calls(database, [item.run_id for item in rescued])
                await back_in_queue({item.queue for item in rescued})
            if len(rescued) < RESCUES_A_TIME:
                return

    async def close_calls() -> None:
        await ledger.close_calls(database, None, CLOSE_CALLS_SECONDS)

    async def fold() -> None:
        await housekeeping.fold(database)

    async def prune() -> None:
        await housekeeping.prune(database)

    return [
        every(lease_seconds / RESCUES_A_LEASE, "rescue", rescue),
        every(CLOSE_CALLS_SECONDS, "close calls", close_calls),
        every(FOLD_SECONDS, "fold", fold),
        every(PRUNE_SECONDS, "prune", prune),
    ]


async def every(seconds: float, what: str, do: Callable[[], Awaitable[None]], now: asyncio.Event | None = None) -> None:
    """Do it again and again, and at once when now is set, whatever happens: a keeper that dies silently is worse than
    one that complains.
    """
    wanted = now or asyncio.Event()
    while True:
        wanted.clear()
        try:
            await do()
        except CrewtopError as error:
            log.warning("put off", what=what, reason=str(error))
        except Exception:
            log.exception("went wrong", what=what)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds * random.uniform(0.75, 1.0)):
                await wanted.wait()


def pause(failures: int, between: tuple[float, float]) -> float:
    """Jittered seconds to rest after so many failures in a row: doubling from the shortest to the longest."""
    shortest, longest = between
    return min(longest, shortest * 2.0 ** min(failures, 8)) * random.uniform(0.5, 1.0)
