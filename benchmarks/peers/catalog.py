"""Who takes part, as plain data: imports none of the libraries, so that either Python can read it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A queue.

    Attributes:
        name: of its module in this package, with - for _.
        title: in tables.
        peer: a library of `.venv-peers`.
        unfinished: SQL that answers whether a job is left; or, for a queue in Redis, a key that holds those left.
        clear: SQL that empties its tables, or "" for a queue in Redis.
    """

    name: str
    title: str
    peer: bool
    unfinished: str
    clear: str

    @property
    def in_redis(self) -> bool:
        """Whether its jobs live in Redis."""
        return not self.clear

    @property
    def command(self) -> list[str]:
        """How to run its module, in the Python that has its library."""
        python = str(PEERS_PYTHON) if self.peer else sys.executable
        return [python, "-m", "benchmarks.peers", self.name]


_CREWTOP = (
    "SELECT EXISTS (SELECT FROM crewtop.tasks WHERE status IN ('pending', 'running', 'retry', 'waiting'))",
    "TRUNCATE crewtop.tasks CASCADE",
)

CONTESTANTS = {
    one.name: one
    for one in (
        Contestant("crewtop-dense", "crewtop, runs share a process", False, *_CREWTOP),
        Contestant("crewtop", "crewtop, a process a run", False, *_CREWTOP),
        Contestant(
            "pgqueuer", "PgQueuer", True,
            "SELECT EXISTS (SELECT FROM pgqueuer)", "TRUNCATE pgqueuer, pgqueuer_log, pgqueuer_statistics",
        ),
        Contestant(
            "oban", "Oban", True,
            "SELECT EXISTS (SELECT FROM oban_jobs WHERE state IN ('available', 'executing', 'scheduled', 'retryable'))",
            "TRUNCATE oban_jobs",
        ),
        Contestant(
            "procrastinate", "Procrastinate", True,
            "SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))",
            "TRUNCATE procrastinate_jobs CASCADE",
        ),
        Contestant("saq", "SAQ on Redis", True, "saq:jobs:incomplete", ""),
        Contestant(
            "saq-postgres", "SAQ on Postgres", True,
            "SELECT EXISTS (SELECT FROM saq_jobs WHERE status IN ('new', 'queued', 'active', 'aborting'))",
            "TRUNCATE saq_jobs",
        ),
    )
}  # fmt: skip
