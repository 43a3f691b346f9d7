"""Commands that steer workers and queues, through the database alone: they work from any host."""

from __future__ import annotations

import typer

from crewtop import operations
from crewtop.admission import name
from crewtop.commands.confirming import confirm
from crewtop.config import Configuration
from crewtop.model.errors import Refused
from crewtop.store import limits
from crewtop.store import operations as store
from crewtop.stores import stores
from crewtop.text import shown

TIMEOUT_SECONDS = 10.0


async def set_slots(configuration: Configuration, worker_id: str, slots: int) -> int:
    """Ask a worker for a number of slots. Raises Refused where there is no such worker."""
    return await _order(configuration, worker_id, f"for {slots} slots", slots=slots)


async def drain(configuration: Configuration, worker_id: str) -> int:
    """Ask a worker to end when what it runs has. Raises Refused where there is no such worker."""
    return await _order(configuration, worker_id, "to drain", drain=True)


async def kill(configuration: Configuration, worker_id: str, *, yes: bool) -> int:
    """Ask a worker to end at once. Raises Refused where there is no such worker, and where it is not confirmed."""
    if not yes:
        confirm([
            f"kill worker {shown(worker_id)}: it ends at once, and what it runs goes back to its queue",
            f"`crewtop drain {shown(worker_id)}` lets it finish first",
        ])  # fmt: skip
    return await _order(configuration, worker_id, "to end at once", kill=True)


async def _order(
    configuration: Configuration,
    worker_id: str,
    what: str,
    *,
    slots: int | None = None,
    drain: bool = False,
    kill: bool = False,
) -> int:
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        if not await store.order_worker(opened.database, worker_id, slots, drain, kill=kill):
            raise Refused(f"there is no live worker {worker_id}: `crewtop snapshot` lists them")
        await opened.live.nudge(worker_id)
    typer.echo(f"asked {shown(worker_id)} {what}")
    return 0


async def pause_queue(configuration: Configuration, queue: str, reason: str | None) -> int:
    """Let workers claim nothing from a queue, which is made where it is not there yet.

    Raises Refused for what cannot be a queue's name.
    """
    name(queue, "queue")
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        was_there = await limits.pause_queue(opened.database, queue, operations.operator(), reason)
    if not was_there:
        typer.echo(f"note: no queue was called {shown(queue)} yet; it is there now", err=True)
    typer.echo(f"{shown(queue)} is paused: what runs goes on")
    return 0


async def resume_queue(configuration: Configuration, queue: str) -> int:
    """Let workers claim from a queue again; 1 where a spent budget goes on holding it.

    Raises Refused where there is no such queue.
    """
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        held = await operations.resume_queue(opened.database, opened.live, queue)
    typer.echo(shown(held or f"{queue} goes on"), err=bool(held))
    return 1 if held else 0


async def boost_queue(configuration: Configuration, queue: str, seconds: float | None) -> int:
    """Let a queue's tasks rise by a priority for every so many seconds; None: never."""
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        if not await limits.set_boost(opened.database, queue, seconds):
            raise Refused(f"there is no queue {queue}: `crewtop snapshot` lists them")
    rises = f"tasks rise by one priority every {seconds:g} s" if seconds is not None else "tasks keep their priority"
    typer.echo(f"{shown(queue)}: {rises}")
    return 0


async def limit(
    configuration: Configuration, scope: limits.Scope, of: str, max_running: int | None, per_minute: float | None
) -> int:
    """Hold the queue or the crew of this name back over all workers; without any figure, no more."""
    async with stores(configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS) as opened:
        await limits.set_limit(opened.database, scope, of, max_running, per_minute)
        known = scope == "queue" or await limits.crew_seen(opened.database, of)
    said = [f"at most {max_running} running"] if max_running is not None else []
    said += [f"at most {per_minute:g} starts a minute"] if per_minute is not None else []
    if said and not known:
        typer.echo(f"note: no worker has the crew {shown(of)} yet", err=True)
    typer.echo(f"{scope} {shown(of)}: {', '.join(said) or 'no limit'}")
    return 0
