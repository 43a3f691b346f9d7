"""Raw figures of one instant and the window of rollups put together into a Snapshot. No I/O, no clock."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from crewtop.model.ledger import BEATS_A_LEASE, MISSED_BEATS
from crewtop.model.money import Money
from crewtop.model.pace import last_minute
from crewtop.model.snapshot import Health, Point, QueueRow, RunningRow, Snapshot, Standby, Throttle, WorkerRow
from crewtop.model.stuck import stuck_reason
from crewtop.monitor.money import budget
from crewtop.monitor.window import BUCKET_SECONDS, Window, percentiles
from crewtop.store.alerts import alert, silence


def assemble(
    raw: Mapping[str, Any],
    name: str | None,
    window: Window,
    postgres: Health,
    redis: Health,
    no_progress_seconds: float,
) -> Snapshot:
    """A Snapshot of raw, as store/snapshot.sql lays it out; name is what the database is called, if not by
    its own name."""
    at = datetime.fromisoformat(raw["at"])
    now = at.timestamp()
    workers = tuple(_worker(row) for row in raw["workers"] or ())
    everything = window.of_queue(None, now - window.seconds)
    depth = _depth(raw)
    wanted = _wanted(raw)
    queues = tuple(
        _queue(row, raw, depth[row["name"]], wanted[row["name"]], window, workers, now) for row in raw["queues"] or ()
    )
    series = _series(raw, sum(queue.ready + queue.retry for queue in queues), window, now)
    minute, seconds = last_minute(series, at, BUCKET_SECONDS)
    starts = [int(point.at.timestamp()) for point in minute]
    return Snapshot(
        at=at,
        database=name or raw["database"],
        postgres=postgres,
        redis=redis,
        window_seconds=window.seconds,
        queues=tuple(
            replace(queue, done_per_minute=window.completed(queue.name, starts) * 60 / seconds) for queue in queues
        ),
        series=series,
        bucket_seconds=BUCKET_SECONDS,
        workers=workers,
        running=tuple(_running(row, no_progress_seconds) for row in raw["running"] or ()),
        running_total=sum(statuses["running"] for statuses in depth.values()),
        wait=percentiles(h for bucket in everything for h in bucket.wait),
        run=percentiles(h for bucket in everything for h in bucket.run),
        spend_per_hour=window.spent(None, now - 3_600),
        spend_pace=window.spent_in(starts).per(seconds / 3_600),
        spend_today=window.spent_today(),
        simulated=(raw["settings"] or {}).get("simulated") == "true",
        read_only=raw["read_only"],
        role=raw["role"],
        budgets=tuple(budget(row, at) for row in raw["budgets"] or ()),
        alerts=tuple(alert(row) for row in raw["alerts"] or ()),
        silences=tuple(silence(row) for row in raw["silences"] or ()),
        lost_runs=raw["lost_runs"],
        standbys=tuple(Standby(row["name"] or "?", row["lag"]) for row in raw["standbys"] or ()),
    )


def _depth(raw: Mapping[str, Any]) -> defaultdict[str, Counter[str]]:
    by_queue: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in raw["depth"] or ():
        by_queue[row["queue"]][row["status"]] += int(row["n"])
    return by_queue


def _queue(
    row: Mapping[str, Any],
    raw: Mapping[str, Any],
    count: Counter[str],
    wanted: Counter[str],
    window: Window,
    workers: tuple[WorkerRow, ...],
    now: float,
) -> QueueRow:
    name = row["name"]
    buckets = window.of_queue(name, now - window.seconds)
    completed, failed = sum(b.completed for b in buckets), sum(b.failed for b in buckets)
    met, missed = sum(b.met for b in buckets), sum(b.missed for b in buckets)
    spent = window.spent(name, now - window.seconds)
    unserved = _unserved(name, wanted, workers)
    ready, later = _due(count["pending"], row["ready"], int(row["later"] or 0))
    return QueueRow(
        name=name,
        paused=row["paused_at"] is not None,
        paused_by=row["paused_by"],
        paused_reason=row["paused_reason"],
        by_budget=row["by_budget"],
        waiting=count["waiting"],
        ready=ready,
        later=later,
        running=count["running"],
        stuck=(raw["stuck"] or {}).get(name, 0),
        retry=count["retry"],
        completed=count["completed"],
        failed=count["failed"],
        cancelled=count["cancelled"],
        oldest=max((wait for wait in row["waits"] if wait is not None), default=None),
        waits=tuple(row["waits"]),
        service_levels=tuple(row["service_levels"]) if row["service_levels"] else None,
        next_due=datetime.fromisoformat(row["next_due"]) if row["next_due"] else None,
        level=met / (met + missed) if met + missed else None,
        wait=percentiles(h for bucket in buckets for h in bucket.wait),
        run=percentiles(h for bucket in buckets for h in bucket.run),
        ended=completed + failed,
        error_rate=failed / (completed + failed) if completed + failed else None,
        cost_per_1000=spent.per(completed / 1_000) if completed and spent.calls else None,
        no_worker=tuple(sorted(unserved)) if ready + count["retry"] else (),
        unserved=sum(unserved.values()),
        throttled=tuple(Throttle(**row) for row in raw["throttles"] or () if row["crew"] in wanted),
    )


def _due(pending: int, ready: int | None, later: int) -> tuple[int, int]:
    """Pending tasks that are due and those that are not: both counts stop at a limit, their sum is exact.

    ready None: it was not counted, since the other count is whole.
    """
    if ready is None or later <= ready:
        return max(0, pending - later), later
    return int(ready), max(0, pending - int(ready))


def _unserved(queue: str, wanted: Counter[str], workers: tuple[WorkerRow, ...]) -> dict[str, int]:
    """How many tasks of the queue wait by crew, of those crews that no live worker could claim."""
    served = {
        crew
        for worker in workers
        if worker.state == "running" and worker.slots and (worker.queues is None or queue in worker.queues)
        for crew in worker.crews
    }
    return {crew: n for crew, n in wanted.items() if crew not in served}


def _wanted(raw: Mapping[str, Any]) -> defaultdict[str, Counter[str]]:
    """How many tasks of each queue wait for a worker, by crew."""
    by_queue: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in raw["depth"] or ():
        if row["status"] in ("pending", "retry") and row["n"] > 0:
            by_queue[row["queue"]][row["crew"]] += int(row["n"])
    return by_queue


def _series(raw: Mapping[str, Any], backlog: int, window: Window, now: float) -> tuple[Point, ...]:
    """A point a bucket, oldest first. The backlog of the past is today's less what has changed since.

    Tasks scheduled for later count as arrived when they were put in, so while such come in the past is an estimate.
    """
    changes = {row["bin"]: row for row in raw["arrivals"] or ()}
    last = int(now) // BUCKET_SECONDS * BUCKET_SECONDS
    points = []
    for start in range(last, last - window.seconds, -BUCKET_SECONDS):
        change = changes.get(start, {"backlog": 0, "arrived": 0})
        points.append(window.point(start, max(0, backlog), int(change["arrived"])))
        backlog -= int(change["backlog"])
    return tuple(reversed(points))


def _worker(row: Mapping[str, Any]) -> WorkerRow:
    if row["stopped_at"] is not None:
        state = "stopped"
    elif row["heartbeat_age"] > MISSED_BEATS * row["lease_seconds"] / BEATS_A_LEASE:
        state = "late"
    else:
        state = "draining" if row["draining"] else "running"
    return WorkerRow(
        id=row["id"],
        host=row["host"],
        pid=row["pid"],
        state=state,
        slots=row["slots"],
        desired_slots=row["desired_slots"],
        busy=row["running"],
        queues=tuple(row["queues"]) if row["queues"] is not None else None,
        crews=tuple(row["crews"]),
        started_at=datetime.fromisoformat(row["started_at"]),
        heartbeat_age=max(0.0, row["heartbeat_age"]),
        cpu_percent=row["cpu_percent"],
        memory_bytes=row["memory_bytes"],
        version=row["crewtop"],
        drain_seconds_left=max(0.0, row["drain_seconds_left"]) if row["drain_seconds_left"] is not None else None,
        clock_offset=row["clock_offset_seconds"],
    )


def _running(row: Mapping[str, Any], no_progress_seconds: float) -> RunningRow:
    return RunningRow(
        task_id=row["task_id"],
        run_id=row["run_id"],
        queue=row["queue"],
        crew=row["crew"],
        priority=row["priority"],
        worker_id=row["worker_id"],
        age=max(0.0, row["age"]),
        idle=max(0.0, row["idle"]),
        step_position=row["step_position"],
        step_count=row["step_count"],
        agent=row["agent"],
        activity=row["activity"],
        tokens=row["tokens"],
        cost=Money(Decimal(row["cost"]), row["unpriced_calls"], row["calls"]),
        stuck=stuck_reason(
            row["lease_overdue"], row["age"], row["budget_seconds"], row["idle"], row["activity"], no_progress_seconds
        ),
        cancelling=row["cancelling"],
    )
