"""SAQ on Postgres."""

from __future__ import annotations

from saq.queue.postgres import PostgresQueue

from benchmarks.peers.saq import LOOP, Saq

__all__ = ["LOOP", "prepare", "producer", "work"]

_on_postgres = Saq(lambda setting: PostgresQueue.from_url(setting.postgres, name="jobs"))
prepare, producer, work = _on_postgres.prepare, _on_postgres.producer, _on_postgres.work
