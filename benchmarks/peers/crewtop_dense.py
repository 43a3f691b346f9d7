"""crewtop with all of a worker's slots in one process, as the other queues run their jobs."""

from __future__ import annotations

from benchmarks.peers.contract import Setting
from benchmarks.peers.crewtop import LOOP, become_worker, prepare, producer

__all__ = ["LOOP", "prepare", "producer", "work"]


async def work(setting: Setting) -> None:
    """Become `crewtop worker --crews-per-process`."""
    become_worker(setting, "--crews-per-process", str(setting.slots))
