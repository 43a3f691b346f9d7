"""Operator actions, the same for the screen and for the command line: guarded by what was seen, and recorded."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Sequence

from crewtop.live.fast_lane import FastLane
from crewtop.model.operations import Action, OperationResult, Target
from crewtop.store import console
from crewtop.store.database import Database


async def act(
    database: Database, live: FastLane, action: Action, targets: Sequence[Target], reason: str | None
) -> OperationResult:
    """Apply an action to tasks as the operator saw them, in one transaction.

    Tasks that have moved on are refused, each with its reason. Running processes are told at once where Redis is
    there, and by their worker's next heartbeat where it is not. Raises Unavailable if it cannot be done now.
    """
    result, queues = await console.operate(database, action, targets, operator(), reason)
    await live.wake(queues)
    for item in result.items:
        if item.run_id is not None and item.worker_id is not None:
            await live.kill(item.worker_id, item.run_id)
    return result


async def look(database: Database, task_ids: Sequence[int]) -> list[Target]:
    """Tasks as they stand, for an action on ids from the command line; an id that does not exist gets version 0."""
    found = {standing.target.task_id: standing.target for standing in await console.targets(database, task_ids)}
    return [found.get(task_id, Target(task_id, 0)) for task_id in dict.fromkeys(task_ids)]


def operator() -> str:
    """Who acts, for the audit: OS user, host, and where the SSH session comes from."""
    origin = os.environ.get("SSH_CONNECTION", "").split(" ")[0]
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = f"uid:{os.getuid()}"
    who = f"{user}@{socket.gethostname()}"
    return f"{who} from {origin}" if origin else who
