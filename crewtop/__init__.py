"""crewtop: a durable queue, a worker pool and a terminal operations console for CrewAI.

async with crewtop.connect() as queue:
    task_id = await queue.enqueue("support", {"order_id": "A-1"}, priority=crewtop.Priority.HIGH)
    answer = await queue.result(task_id, timeout=60)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crewtop.model.errors import CrewtopError, Refused, Unavailable
from crewtop.model.task import Priority, TaskStatus

if TYPE_CHECKING:
    from crewtop.admission import Enqueued, Task
    from crewtop.llm.auto import LLM
    from crewtop.queue import BlockingQueue, FannedOut, Queue, TaskCancelled, TaskFailed, connect, connect_blocking

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "BlockingQueue",
    "CrewtopError",
    "Enqueued",
    "FannedOut",
    "Priority",
    "Queue",
    "Refused",
    "Task",
    "TaskCancelled",
    "TaskFailed",
    "TaskStatus",
    "Unavailable",
    "connect",
    "connect_blocking",
]


def __getattr__(name: str) -> Any:
    """Import the producer's side when it is used: `crewtop --help` and executors need no database driver.

    And what crews use of crewtop, which imports CrewAI.
    """
    if name == "LLM":
        return import_module("crewtop.llm.auto").LLM
    if name in __all__:
        from crewtop import queue

        return getattr(queue, name)
    raise AttributeError(f"module 'crewtop' has no attribute {name!r}")
