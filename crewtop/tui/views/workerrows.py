"""The rows of the workers' table."""

from __future__ import annotations

import re
from datetime import datetime

from crewtop import words
from crewtop.model.problems import CLOCK_SECONDS
from crewtop.model.snapshot import WorkerRow
from crewtop.tui.columns import Cell, Column
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import Role, Span, joined
from crewtop.tui.views.cells import aged, said

BAR_CELLS = 12

HEALTHY_SECONDS = 15.0
"""A heartbeat that is younger is no news."""

ROLES: dict[str, Role] = {"running": "moving", "draining": "watch", "late": "wrong", "stopped": "muted"}

WORKER_COLUMNS = (
    Column("HOST", 12, most=24, about="The machine that the worker runs on"),
    Column("ID", 8, about="The end of the worker's id: tells two workers of one host apart"),
    Column("STATE", 10, about="running, draining (claims nothing more), late (three heartbeats missed) or stopped"),
    Column("LOAD", BAR_CELLS, 8, about="How many of its slots are busy, as a bar"),
    Column(
        "BUSY",
        12,
        1,
        about="Busy slots of all; +3: more runs, not begun or not recorded yet; after an arrow what was asked for",
    ),
    Column("CPU", 4, 4, right=True, about="How much of one processor the worker and its executors use"),
    Column("MEM", 6, 5, right=True, about="Memory of the worker and its executors"),
    Column(
        "CLOCK",
        6,
        2,
        right=True,
        about="How far its host's clock is ahead of the database's, or behind it; shown where one is off",
    ),
    Column("HEARTBEAT", 9, 6, right=True, about="How long ago it gave a sign of life; ok is a moment ago"),
    Column("UP", 6, 11, right=True, about="How long it has been running"),
    Column("PID", 7, 12, right=True, about="Its process on that host"),
    Column("QUEUES", 10, 9, most=20, about="The queues that it takes tasks from"),
    Column("CREWS", 14, 3, most=60, grow=3, about="The crews that it can run"),
    Column("VERSION", 8, 2, most=12, about="The crewtop that it runs; shown where not all run the same"),
)

_SHORT_ID_CELLS = 8


def worker_cells(worker: WorkerRow, at: datetime, wanted: int | None, mine: bool, manner: Manner) -> list[Cell]:
    """A worker's cells, in the order of WORKER_COLUMNS. wanted: slots that were asked for; mine: of this pool."""
    queues = "all" if worker.queues is None else ", ".join(worker.queues)
    up = (at - worker.started_at).total_seconds() if worker.state != "stopped" else None
    return [
        joined(data(worker.host, "text", True), Span(" this pool" if mine else "", "accent")),
        data(short_id(worker), "link"),
        Span(manner.status(worker.state), ROLES.get(worker.state, "text")),
        _load(worker, manner),
        _busy(worker, wanted, manner),
        said(words.NOTHING if worker.cpu_percent is None else f"{worker.cpu_percent:.0f}%"),
        said(words.NOTHING if worker.memory_bytes is None else words.size(worker.memory_bytes), "muted"),
        _clock(worker),
        _heartbeat(worker),
        aged(up, "muted"),
        Span(str(worker.pid), "muted"),
        data(queues, "muted"),
        data(", ".join(worker.crews), "text"),
        data(worker.version, "watch"),
    ]


def short_id(worker: WorkerRow) -> str:
    """The end of a worker's id, which is drawn anew at each start."""
    return re.split("[:-]", worker.id)[-1][-_SHORT_ID_CELLS:]


def clock_words(offset: float | None) -> str:
    """A clock's offset in seconds, such as '+3s'; '-' where it is right or nobody knows."""
    if offset is None or abs(offset) < CLOCK_SECONDS:
        return words.NOTHING
    return f"{'+' if offset > 0 else '-'}{words.duration(float(int(abs(offset))))}"


def _clock(worker: WorkerRow) -> Span:
    return said(clock_words(worker.clock_offset), "watch")


def _load(worker: WorkerRow, manner: Manner) -> Cell:
    """Busy slots as a bar: a cell for each where they fit."""
    cells = min(worker.slots, BAR_CELLS)
    full = min(cells, -(-worker.taken * cells // worker.slots)) if worker.slots else 0
    role = ROLES.get(worker.state, "text")
    return joined(Span(manner.glyph("■") * full, role), Span(manner.glyph("·") * (cells - full), "faint"))


def _busy(worker: WorkerRow, wanted: int | None, manner: Manner) -> Cell:
    aside = f" {manner.glyph('→')} {wanted}" if wanted is not None and wanted != worker.slots else ""
    if worker.drain_seconds_left is not None and worker.state == "draining":
        aside = f" {words.duration(float(int(worker.drain_seconds_left)))} left"
    beyond = f" +{worker.busy - worker.taken}" if worker.busy > worker.taken else ""
    slots = joined(Span(f"{worker.taken}", "text", True), Span(f"/{worker.slots}", "muted"))
    return joined(slots, Span(beyond, "muted"), Span(aside, "accent"))


def _heartbeat(worker: WorkerRow) -> Span:
    """Ages of healthy heartbeats say nothing and would change in every tick."""
    if worker.state in ("running", "draining") and worker.heartbeat_age < HEALTHY_SECONDS:
        return Span("ok", "muted")
    return aged(worker.heartbeat_age, "wrong" if worker.state == "late" else "watch")
