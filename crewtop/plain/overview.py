"""The overview in plain text: what needs attention first, then queues, running tasks, workers and providers."""

from __future__ import annotations

from collections.abc import Iterator

from crewtop import words
from crewtop.model.problems import problems
from crewtop.model.snapshot import Health, QueueRow, RunningRow, Snapshot, WorkerRow
from crewtop.plain.paper import Column, Paper
from crewtop.plain.progress import run_state, step_words
from crewtop.plain.providers import provider_sections


def snapshot_text(snapshot: Snapshot, *, width: int = 100, ascii: bool = False) -> str:
    """The whole picture as lines of at most width cells (40 or more), without any escape code."""
    paper = Paper(width, ascii)
    lines = paper.flow(_header(snapshot, paper), gap="   ") + paper.flow(_totals(snapshot, paper), gap="   ")
    for notice in _notices(snapshot, paper):
        lines += paper.flow(notice.split(" "))
    sections = [_queues(snapshot, paper), _running(snapshot, paper), _workers(snapshot, paper)]
    for section in (*sections, *provider_sections(snapshot, paper)):
        lines += ["", *section]
    return "\n".join(lines) + "\n"


def _header(snapshot: Snapshot, paper: Paper) -> list[str]:
    live = [worker for worker in snapshot.workers if worker.state in ("running", "draining")]
    return [
        "crewtop",
        paper.safe(snapshot.where),
        f"postgres {_health(snapshot.postgres)}",
        f"redis {_health(snapshot.redis)}",
        *_state_cache(snapshot),
        f"{len(live)} {'worker' if len(live) == 1 else 'workers'}",
        f"{sum(worker.taken for worker in live)}/{sum(worker.slots for worker in live)} slots",
        f"spend {_hourly(snapshot, paper)}",
        words.stamp(snapshot.at),
    ]


def _hourly(snapshot: Snapshot, paper: Paper) -> str:
    said = words.money(snapshot.spend_pace, ascii=paper.ascii)
    if said == words.NOTHING:
        return said
    return f"{said}/h simulated" if snapshot.simulated else f"{said}/h"


def _state_cache(snapshot: Snapshot) -> list[str]:
    """How often Redis could answer where a task stands; nothing where nobody asked."""
    use = snapshot.state_cache
    if use is None or use.rate is None:
        return []
    return [f"state cache {words.percent(use.rate)} of {words.count(use.hits + use.misses)}"]


def _health(health: Health) -> str:
    return words.latency(health.latency) if health.up else "down"


def _totals(snapshot: Snapshot, paper: Paper) -> list[str]:
    return [
        f"backlog {words.count(snapshot.backlog)}",
        f"done {words.rate(sum(queue.done_per_minute for queue in snapshot.queues))}",
        f"wait p95 {words.percentile(snapshot.wait.p95, snapshot.wait.n)}",
        f"run p95 {words.percentile(snapshot.run.p95, snapshot.run.n)} of {words.count(snapshot.run.n)}",
        f"last hour {words.money(snapshot.spend_per_hour, ascii=paper.ascii)}",
        f"today {words.money(snapshot.spend_today, long=True, ascii=paper.ascii)}",
        f"figures of the last {words.duration(snapshot.window_seconds)}",
    ]


def _notices(snapshot: Snapshot, paper: Paper) -> Iterator[str]:
    """What an operator has to know: the problems of the screen, in its order and its words."""
    for problem in problems(snapshot):
        sign = _SIGNS[problem.severity][paper.ascii]
        kept = problem.about in ("store", "provider", "budget", "shop")  # their names say what they are
        name = problem.name if kept else f"{problem.about} {problem.name}"
        parts = ", " if problem.about == "provider" else ": "
        standing = f"{paper.safe(standing)}: " if (standing := problem.standing(snapshot.at)) else ""
        yield f"{sign} {paper.safe(name)}{parts}{standing}{paper.safe(problem.words)}"
    if snapshot.simulated:
        sign = _SIGNS["watch"][paper.ascii]
        yield f"{sign} simulated provider: no real model was called, tokens, times and costs are made up"


_SIGNS = {"wrong": ("●", "!"), "watch": ("▲", "^")}
"""What stands before a problem, and its stand-in in ASCII."""


def _footnote(snapshot: Snapshot) -> list[str]:
    of_queues = (p for queue in snapshot.queues for p in (queue.wait, queue.run))
    if any(0 < p.n < words.FEW for p in (snapshot.wait, snapshot.run, *of_queues)):
        return [f"~: of fewer than {words.FEW} durations"]
    return []


def _queues(snapshot: Snapshot, paper: Paper) -> list[str]:
    rows = snapshot.queues
    if not rows:
        return ["no queues yet: the first task makes one"]
    pause = f" {words.glyph('paused', ascii=paper.ascii)}"
    table = paper.table(
        [
            Column("QUEUE", [paper.safe(row.name) + (pause if row.paused else "") for row in rows], stretch=True),
            Column("READY", [words.compact(row.ready) for row in rows], right=True),
            Column("RUN", [words.compact(row.running) for row in rows], right=True),
            Column("STUCK", [words.compact(row.stuck) for row in rows], right=True),
            Column("RETRY", [words.compact(row.retry) for row in rows], right=True, drop=2),
            Column("FAILED", [words.compact(row.failed) for row in rows], right=True),
            Column("DONE/m", [_per_minute(row.done_per_minute) for row in rows], right=True, drop=3),
            Column("OLDEST", [words.duration(row.oldest) for row in rows], right=True, drop=1),
            Column("LEVEL", [words.percent(row.level) for row in rows], right=True, drop=5),
            Column("WAIT p50", [words.percentile(row.wait.p50, row.wait.n) for row in rows], right=True, drop=9),
            Column("WAIT p95", [words.percentile(row.wait.p95, row.wait.n) for row in rows], right=True, drop=7),
            Column("RUN p50", [words.percentile(row.run.p50, row.run.n) for row in rows], right=True, drop=8),
            Column("RUN p95", [words.percentile(row.run.p95, row.run.n) for row in rows], right=True, drop=6),
            Column("$/1K", [_cost_per_1000(row, paper) for row in rows], right=True, drop=4),
        ]
    )
    return [*table, *_footnote(snapshot)]


def _per_minute(rate: float) -> str:
    return f"{rate:.1f}" if 0 < rate < 10 else words.compact(round(rate))


def _cost_per_1000(row: QueueRow, paper: Paper) -> str:
    return words.NOTHING if row.cost_per_1000 is None else words.money(row.cost_per_1000, ascii=paper.ascii)


def _running(snapshot: Snapshot, paper: Paper) -> list[str]:
    rows = snapshot.running
    if not rows:
        return ["nothing runs now"]
    more = snapshot.running_total - len(rows)
    return [
        *paper.table(
            [
                Column("RUNNING", [str(row.task_id) for row in rows], right=True),
                Column("CREW", [paper.safe(row.crew) for row in rows], stretch=True),
                Column("STATE", [_state(row, paper) for row in rows]),
                Column("STEP", [step_words(row, paper) for row in rows], stretch=True, drop=1),
                Column("FOR", [words.duration(row.age) for row in rows], right=True),
                Column("TOKENS", [words.count(row.tokens) for row in rows], right=True, drop=3),
                Column("COST", [words.money(row.cost, ascii=paper.ascii) for row in rows], right=True, drop=2),
                Column("WORKER", [paper.safe(row.worker_id) for row in rows], drop=4),
            ]
        ),
        *([f"and {words.count(more)} more"] if more > 0 else []),
    ]


def _state(row: RunningRow, paper: Paper) -> str:
    return words.status(run_state("running", stuck=row.stuck, cancelling=row.cancelling), ascii=paper.ascii)


def _workers(snapshot: Snapshot, paper: Paper) -> list[str]:
    rows = snapshot.workers
    if not rows:
        return ["no workers: run `crewtop worker`"]
    return paper.table(
        [
            Column("WORKER", [paper.safe(row.id) for row in rows], stretch=True),
            Column("STATE", [words.status(row.state, ascii=paper.ascii) for row in rows]),
            Column("SLOTS", [_slots(row) for row in rows], right=True),
            Column("HEARTBEAT", [words.duration(row.heartbeat_age) for row in rows], right=True, drop=1),
            Column("UP", [words.duration((snapshot.at - row.started_at).total_seconds()) for row in rows], right=True),
            Column("CPU", [_cpu(row) for row in rows], right=True, drop=3),
            Column("MEMORY", [_memory(row) for row in rows], right=True, drop=3),
            Column("CREWS", [paper.safe(", ".join(row.crews)) for row in rows], stretch=True, drop=2),
        ]
    )


def _slots(row: WorkerRow) -> str:
    wanted = f" to {row.desired_slots}" if row.desired_slots not in (None, row.slots) else ""
    beyond = f" +{row.busy - row.taken}" if row.busy > row.taken else ""
    return f"{row.taken}/{row.slots}{beyond}{wanted}"


def _cpu(row: WorkerRow) -> str:
    return words.UNKNOWN if row.cpu_percent is None else f"{row.cpu_percent:.0f}%"


def _memory(row: WorkerRow) -> str:
    return words.UNKNOWN if row.memory_bytes is None else words.size(row.memory_bytes)
