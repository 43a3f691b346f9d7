"""Who does the work: hosts, slots, queues, crews, health, and what each worker runs now."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop import words
from crewtop.model.snapshot import RunningRow, Snapshot, WorkerRow
from crewtop.tui.actions import View
from crewtop.tui.columns import Cell, Column, fit, heading, row
from crewtop.tui.effects import Copy, Effect, Open, Say, SetSlots
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import BLANK, Line, Role, Span, joined, line
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import aged, lead, moved, said
from crewtop.tui.views.page import Page
from crewtop.tui.views.question import Question, about_drain
from crewtop.tui.views.tables import RUNNING_COLUMNS, in_order, running_cells

MOST_SLOTS = 1_000
BAR_CELLS = 12

_ROLES: dict[str, Role] = {"running": "moving", "draining": "watch", "late": "wrong", "stopped": "muted"}

COLUMNS = (
    Column("HOST", 14, most=24),
    Column("STATE", 10),
    Column("LOAD", BAR_CELLS, 5),
    Column("BUSY", 11, 1),
    Column("CPU", 4, 4, right=True),
    Column("MEMORY", 7, 5, right=True),
    Column("HEARTBEAT", 9, 3, right=True),
    Column("UP", 6, 9, right=True),
    Column("QUEUES", 10, 6, most=20),
    Column("CREWS", 14, 2, most=60, grow=3),
    Column("WORKER", 14, 8, most=24),
)


class Workers(Page):
    """State of the view: the snapshot, the cursor, and slots that were asked for but are not reported yet."""

    kind = View.WORKERS
    columns = COLUMNS

    def __init__(self, manner: Manner, pool_worker: str | None) -> None:
        super().__init__(manner)
        self.pool_worker = pool_worker
        self.selection: Selection[str] = Selection()
        self._workers: dict[str, WorkerRow] = {}
        self._asked: dict[str, int] = {}

    def take(self, snapshot: Snapshot) -> None:
        """Show a new snapshot."""
        self.snapshot = snapshot
        self._workers = {worker.id: worker for worker in snapshot.workers}
        self._asked = {
            worker_id: slots
            for worker_id, slots in self._asked.items()
            if worker_id in self._workers and self._workers[worker_id].desired_slots != slots
        }
        self.selection.update(tuple(self._workers))

    def do(self, command: str, height: int) -> Effect | Question | None:
        """Obey a command."""
        if moved(self.selection, command, height):
            return None
        worker = self._workers.get(self.selection.current or "")
        if worker is None:
            return Say("no worker is under the cursor: choose one")
        match command:
            case "open":
                runs = self._runs(worker)
                return Open(runs[0].task_id) if runs else Say(f"{safe(worker.host)} runs nothing now")
            case "copy":
                return Copy(worker.id)
            case "more_slots":
                return self._slots(worker, 1)
            case "fewer_slots":
                return self._slots(worker, -1)
            case "drain" if worker.state == "running":
                return about_drain(worker.id, worker.host, worker.busy, self.manner)
            case "drain":
                return Say(f"not drained: {safe(worker.host)} is {worker.state}", "watch")
        return None

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        if self.snapshot is None:
            return []
        if not self._workers:
            return [
                BLANK,
                line("  ", Span("No worker has reported yet.", "text", True)),
                line("  ", Span("Start one on this or another host: ", "muted"), Span("crewtop worker", "accent")),
            ]
        airy = [BLANK] if height >= 12 else []
        fitted = fit(COLUMNS, width - 3)
        drawn = [*airy, heading(fitted, "  ")]
        room = min(len(self._workers), max(1, height // 2 - len(drawn)))
        for index in self.selection.window(room):
            worker = self.snapshot.workers[index]
            on = self.selection.current == worker.id
            cells = self._cells(worker)
            drawn.append(row(fitted, cells, "cursor" if on else "ground", lead(on, self.manner), self.manner.cut))
        return [*drawn, *airy, *self._now_lines(width, height - len(drawn) - len(airy))]

    def _now_lines(self, width: int, room: int) -> list[Line]:
        """What the worker under the cursor does now."""
        worker = self._workers.get(self.selection.current or "")
        if worker is None or room < 2:
            return []
        title = Column(f"ON {safe(worker.id)}", 22, most=40)
        fitted = fit((title, *RUNNING_COLUMNS[1:-1]), width - 3)
        runs = self._runs(worker)
        if not runs:
            return [heading(fitted, "  "), line("  ", Span("runs nothing that this screen was told of", "muted"))]
        drawn = [heading(fitted, "  ")]
        drawn += [
            row(fitted, running_cells(task, self.manner)[:-1], "ground", (Span("  "),), self.manner.cut)
            for task in runs[: room - 1]
        ]
        left = worker.busy - (len(drawn) - 1)
        if left > 0 and len(drawn) < room:
            drawn.append(line("  ", Span(f"and {words.count(left)} more", "muted")))
        return drawn

    def _runs(self, worker: WorkerRow) -> Sequence[RunningRow]:
        assert self.snapshot is not None
        return in_order([task for task in self.snapshot.running if task.worker_id == worker.id])

    def _slots(self, worker: WorkerRow, change: int) -> Effect:
        if worker.state != "running":
            return Say(f"slots stay: {safe(worker.host)} is {worker.state}", "watch")
        wanted = self._asked.get(worker.id, worker.slots if worker.desired_slots is None else worker.desired_slots)
        slots = min(max(0, wanted + change), MOST_SLOTS)
        self._asked[worker.id] = slots
        return SetSlots(worker.id, slots)

    def _cells(self, worker: WorkerRow) -> list[Cell]:
        mine = self.pool_worker is not None and worker.id.startswith(self.pool_worker)
        host = joined(data(worker.host, "text", True), Span(" this pool" if mine else "", "accent"))
        cpu = "-" if worker.cpu_percent is None else f"{worker.cpu_percent:.0f}%"
        memory = "-" if worker.memory_bytes is None else words.size(worker.memory_bytes)
        queues = "all" if worker.queues is None else ", ".join(worker.queues)
        return [
            host,
            Span(self.manner.status(worker.state), _ROLES.get(worker.state, "text")),
            _load(worker, self.manner),
            self._busy(worker),
            said(cpu),
            said(memory, "muted"),
            _heartbeat(worker),
            aged(_uptime(worker, self.snapshot), "muted"),
            data(queues, "muted"),
            data(", ".join(worker.crews), "text"),
            data(worker.id, "muted"),
        ]

    def _busy(self, worker: WorkerRow) -> Cell:
        wanted = self._asked.get(worker.id, worker.desired_slots)
        change = f" {self.manner.glyph('→')} {wanted}" if wanted is not None and wanted != worker.slots else ""
        return joined(Span(f"{worker.busy}", "text", True), Span(f"/{worker.slots}", "muted"), Span(change, "accent"))


def _load(worker: WorkerRow, manner: Manner) -> Cell:
    """Busy slots as a bar: a cell for each where they fit."""
    cells = min(worker.slots, BAR_CELLS)
    full = min(cells, -(-worker.busy * cells // worker.slots)) if worker.slots else 0
    role = _ROLES.get(worker.state, "text")
    return joined(Span(manner.glyph("■") * full, role), Span(manner.glyph("·") * (cells - full), "faint"))


def _heartbeat(worker: WorkerRow) -> Span:
    """Ages of healthy heartbeats say nothing and would change in every tick."""
    if worker.state in ("running", "draining") and worker.heartbeat_age < 15:
        return Span("ok", "muted")
    return aged(worker.heartbeat_age, "wrong" if worker.state == "late" else "watch")


def _uptime(worker: WorkerRow, snapshot: Snapshot | None) -> float | None:
    return (snapshot.at - worker.started_at).total_seconds() if snapshot else None
