"""What a module of a queue offers: `prepare`, `producer` and `work`, each a coroutine or context over a Setting."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

Inputs = dict[str, Any]

Enqueue = Callable[[str, Sequence[Inputs]], Awaitable[list[str]]]
"""Puts jobs of one name in, as fast as its library can; answers by which number each is known in its marks."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a queue runs and how.

    slots: jobs at once in one worker process; rescue_seconds: after how long a silent worker's jobs shall be taken
    back, None for the library's defaults (throughput is measured with those).
    """

    postgres: str
    redis: str
    slots: int = 100
    rescue_seconds: float | None = None


def from_environment(slots: int, rescue_seconds: float | None) -> Setting:
    """The Setting that the one who started this process asks for."""
    return Setting(os.environ["PEERS_POSTGRES"], os.environ["PEERS_REDIS"], slots, rescue_seconds)


def stop_asked() -> asyncio.Event:
    """Set once SIGTERM or SIGINT comes, for libraries whose own command would handle them."""
    event = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, event.set)
    return event
