"""Every key and channel in Redis, by name."""

from __future__ import annotations

PREFIX = "crewtop:"

WAKE = PREFIX + "wake:"
"""Channel a queue: something in it is ready. The message is empty."""

KILL = PREFIX + "kill:"
"""Channel a worker: the message is the run_id whose lease an operator took away."""

LOG = PREFIX + "log:"
"""Stream a run: what it prints, one entry a line, capped and expiring."""

EVENT = PREFIX + "event"
"""Stream: what producers, workers and operators changed, capped and expiring."""

LIMIT = PREFIX + "limit:"
"""What is used of a provider's limits: all keys of one provider share a hash tag, so that one script may touch them."""

LIMITS = PREFIX + "limits"
"""Hash of allowances as their workers saw them last, for whoever watches; expiring."""

PROVIDERS = PREFIX + "providers"
"""Hash of what each worker found out of models that do not answer and of its keys; expiring."""

TASK = PREFIX + "task:"
"""String a task that somebody asked for: its version, status and a short result; expiring within a minute."""

TOLD = PREFIX + "told:"

STATES = PREFIX + "states:"
"""Hash: how many questions for a task's state Redis could answer, and how many not; begun anew every hour."""


def wake(queue: str) -> str:
    """The channel that wakes the workers of a queue."""
    return WAKE + queue


def kill(worker_id: str) -> str:
    """The channel that carries kills to one worker."""
    return KILL + worker_id


def log(run_id: int) -> str:
    """The stream of one run's output."""
    return f"{LOG}{run_id}"


def tasks(database: str) -> str:
    """What the keys of the states of a database's tasks begin with, their ids follow: several may share one Redis.

    All share a hash tag, so that one script may touch them.
    """
    return f"{TASK}{{{database}}}:"


def states(database: str) -> str:
    """The hash that counts the answers to questions for a database's tasks."""
    return f"{STATES}{{{database}}}"


def told(database: str) -> str:
    """The channel of a database's tasks that have changed: those that somebody asked for, and all that have ended.

    A message is lines of '<id> <version> <status>', or of '<id>' where nothing that was known of the task holds.
    """
    return f"{TOLD}{database}"
