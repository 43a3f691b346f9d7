"""Commands that steer workers and queues, through the database alone: they work from any host."""

from __future__ import annotations

import typer

from crewtop import operations
from crewtop.config import Configuration
from crewtop.model.errors import Refused
from crewtop.store import limits
from crewtop.store import operations as store
from crewtop.stores import stores
from crewtop.text import shown

TIMEOUT_SECONDS = 10.0


async def order_worker(configuration: Configuration, worker_id: str, slots: int | None, *, drain: bool) -> int:
    """Ask a worker for a number of slots, or to drain. Raises Refused where there is no such worker."""
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        if not await store.order_worker(opened.database, worker_id, slots, drain):
            raise Refused(f"there is no live worker {worker_id}: `crewtop snapshot` lists them")
        await opened.live.nudge(worker_id)
    typer.echo(f"asked {shown(worker_id)} " + ("to drain" if drain else f"for {slots} slots"))
    return 0


async def pause_queue(configuration: Configuration, queue: str, reason: str | None, *, paused: bool) -> int:
    """Let workers claim nothing from a queue, or let them go on. Raises Refused where there is no such queue."""
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        if paused:
            there = await limits.pause_queue(opened.database, queue, operations.operator(), reason)
        else:
            there = await limits.resume_queue(opened.database, queue)
            await opened.live.wake([queue])
    _there(queue, there)
    typer.echo(f"{shown(queue)} " + ("is paused: what runs goes on" if paused else "goes on"))
    return 0


async def boost_queue(configuration: Configuration, queue: str, seconds: float | None) -> int:
    """Let a queue's tasks rise by a priority for every so many seconds; None: never."""
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        _there(queue, await limits.set_boost(opened.database, queue, seconds))
    rises = f"tasks rise by one priority every {seconds:g} s" if seconds is not None else "tasks keep their priority"
    typer.echo(f"{shown(queue)}: {rises}")
    return 0


async def limit(
    configuration: Configuration, scope: limits.Scope, name: str, max_running: int | None, per_minute: float | None
) -> int:
    """Hold a queue or a crew back over all workers; without any figure, no more."""
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        await limits.set_limit(opened.database, scope, name, max_running, per_minute)
    said = [f"at most {max_running} running"] if max_running is not None else []
    said += [f"at most {per_minute:g} starts a minute"] if per_minute is not None else []
    typer.echo(f"{scope} {shown(name)}: {', '.join(said) or 'no limit'}")
    return 0


def _there(queue: str, there: bool) -> None:
    if not there:
        raise Refused(f"there is no queue {queue}: `crewtop snapshot` lists them")
