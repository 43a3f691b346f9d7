"""Who does the work: hosts, slots, queues, crews, health, and what each worker runs now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from crewtop import words
from crewtop.model.snapshot import RunningRow, Snapshot, WorkerRow
from crewtop.tui.actions import View
from crewtop.tui.columns import Column, fit, heading, row
from crewtop.tui.effects import Copy, Effect, Kill, Open, Say, SetSlots
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import BLANK, Ground, Line, Span, line
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import NO_TASK_HERE, lead, moved
from crewtop.tui.views.page import Page
from crewtop.tui.views.question import Blank, Question, about_drain
from crewtop.tui.views.tables import RUNNING_COLUMNS, in_order, running_cells
from crewtop.tui.views.workerrows import WORKER_COLUMNS, clock_words, short_id, worker_cells

MOST_SLOTS = 1_000

ASKED_FOR = timedelta(seconds=15)
"""How long slots that were asked for are shown before they are reported: an order that failed is over by then."""


class Workers(Page):
    """State of the view: the snapshot, a cursor in each of the two lists, and slots asked for but not reported yet.

    runs are those of the worker under the cursor; in_runs: keys go to their list.
    """

    kind = View.WORKERS
    columns = (*WORKER_COLUMNS, *RUNNING_COLUMNS)

    def __init__(self, manner: Manner, pool_worker: str | None) -> None:
        super().__init__(manner)
        self.pool_worker = pool_worker
        self.selection: Selection[str] = Selection()
        self.runs: Selection[int] = Selection()
        self.in_runs = False
        self._workers: dict[str, WorkerRow] = {}
        self._asked: dict[str, tuple[int, datetime]] = {}
        self._lines_of: dict[int, str | int] = {}

    def take(self, snapshot: Snapshot) -> None:
        """Show a new snapshot."""
        self.snapshot = snapshot
        self._workers = {worker.id: worker for worker in snapshot.workers}
        self._asked = {
            worker_id: (slots, at)
            for worker_id, (slots, at) in self._asked.items()
            if worker_id in self._workers
            and self._workers[worker_id].desired_slots != slots
            and snapshot.at < at + ASKED_FOR
        }
        self.selection.update(tuple(self._workers))
        self._update_runs()

    def _update_runs(self) -> None:
        """Unless the cursor is among the runs, the first of them is the one that Enter opens."""
        worker = self._worker
        if not self.in_runs:
            self.runs.restart()
        self.runs.update([task.task_id for task in self._runs(worker)] if worker else [])

    @property
    def _worker(self) -> WorkerRow | None:
        return self._workers.get(self.selection.current or "")

    def _runs(self, worker: WorkerRow) -> Sequence[RunningRow]:
        assert self.snapshot is not None
        return in_order([task for task in self.snapshot.running if task.worker_id == worker.id])

    @property
    def at_rest(self) -> bool:
        """Whether Esc has nothing left to drop here."""
        return not self.in_runs

    def do(self, command: str, height: int) -> Effect | Question | None:
        """Obey a command."""
        if self._moved(command, height):
            return None
        if command == "act_on_tasks":
            return NO_TASK_HERE
        worker = self._worker
        if worker is None:
            return Say("no worker is under the cursor: choose one")
        match command:
            case "open":
                return self._open(worker)
            case "copy":
                return Copy(str(self.runs.current) if self.in_runs and self.runs.current else safe(worker.id))
            case "more_slots" | "fewer_slots" | "slots":
                return self._slots(worker, command)
            case "drain" | "kill":
                return self._end(worker, command)
        return None

    def _moved(self, command: str, height: int) -> bool:
        """Whether command moves a cursor, or leads from one list to the other; if so, it has."""
        if command in ("other_list", "other_list_back"):
            self.in_runs = not self.in_runs
            self._update_runs()
        elif command == "back":
            self.in_runs = False
            self._update_runs()
        elif self.in_runs:
            return moved(self.runs, command, height)
        elif moved(self.selection, command, height):
            self._update_runs()
        else:
            return False
        return True

    def _open(self, worker: WorkerRow) -> Effect:
        if self.runs.current is not None:
            return Open(self.runs.current)
        if self.runs.keys:
            return Say("what was under the cursor has ended: choose again")
        return Say(f"{safe(worker.host)} runs nothing now")

    def click(self, y: int) -> Effect | Question | None:
        """The cursor goes to the row; on the cursor's own row it opens."""
        key = self._lines_of.get(y)
        if key is None:
            return None
        before = self.in_runs, self.selection.current, self.runs.current
        self.in_runs = isinstance(key, int)
        if isinstance(key, int):
            self.runs.place(list(self.runs.keys).index(key))
        elif key != self.selection.current:
            self.selection.place(list(self.selection.keys).index(key))
            self._update_runs()
        again = before == (self.in_runs, self.selection.current, self.runs.current)
        return self.do("open", 0) if again else None

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        self._lines_of = {}
        if self.snapshot is None:
            return []
        if not self._workers:
            return [
                BLANK,
                line("  ", Span("No worker has reported yet.", "text", True)),
                line("  ", Span("Start one on this or another host: ", "muted"), Span("crewtop worker", "accent")),
            ]
        airy = [BLANK] if height >= 12 else []
        columns, places = self._shown_columns()
        fitted = fit(columns, width - 3)
        drawn = [*airy, heading(fitted, "  ")]
        room = min(len(self._workers), max(1, height // 2 - len(drawn)))
        for index in self.selection.window(room):
            worker = self.snapshot.workers[index]
            on = self.selection.current == worker.id
            wanted = self._wanted(worker)
            mine = self.pool_worker is not None and worker.id.startswith(self.pool_worker)
            cells = worker_cells(worker, self.snapshot.at, wanted, mine, self.manner)
            ground: Ground = "cursor" if on and not self.in_runs else "ground"
            self._lines_of[len(drawn)] = worker.id
            left = lead(on, self.manner)
            drawn.append(row(fitted, [cells[place] for place in places], ground, left, self.manner.cut))
        return [*drawn, *airy, *self._run_lines(width, height - len(drawn) - len(airy), len(drawn) + len(airy))]

    def _shown_columns(self) -> tuple[list[Column], list[int]]:
        """The columns that have something to say, and their places: clocks where one is off, versions that differ."""
        alive = [worker for worker in self._workers.values() if worker.state != "stopped"]
        silent = set()
        if all(clock_words(worker.clock_offset) == words.NOTHING for worker in alive):
            silent.add("CLOCK")
        if len({worker.version for worker in alive}) < 2:
            silent.add("VERSION")
        places = [place for place, column in enumerate(WORKER_COLUMNS) if column.title not in silent]
        return [WORKER_COLUMNS[place] for place in places], places

    def _run_lines(self, width: int, room: int, y: int) -> list[Line]:
        """What the worker under the cursor does now, from line y of the view on."""
        worker = self._worker
        if worker is None or room < 2:
            return []
        title = Column(f"ON {safe(worker.host)} {safe(short_id(worker))}", 22, most=40)
        fitted = fit((title, *RUNNING_COLUMNS[1:-1]), width - 3)
        runs = {task.task_id: task for task in self._runs(worker)}
        if not runs:
            return [heading(fitted, "  "), line("  ", Span("runs nothing that this screen was told of", "muted"))]
        drawn = [heading(fitted, "  ")]
        for index in self.runs.window(room - 1):
            task = runs[self.runs.keys[index]]
            on = self.runs.current == task.task_id
            ground: Ground = "cursor" if on and self.in_runs else "ground"
            self._lines_of[y + len(drawn)] = task.task_id
            cells = running_cells(task, self.manner)[:-1]
            drawn.append(row(fitted, cells, ground, lead(on and self.in_runs, self.manner), self.manner.cut))
        left = worker.busy - len(runs)
        if left > 0 and len(drawn) < room:
            drawn.append(line("  ", Span(f"and {words.count(left)} more", "muted")))
        return drawn

    def _slots(self, worker: WorkerRow, command: str) -> Effect | Question:
        if worker.state != "running":
            return Say(f"slots stay: {safe(worker.host)} is {worker.state}", "watch")
        wanted = self._wanted(worker)
        wanted = worker.slots if wanted is None else wanted
        if command == "slots":
            return self._about_slots(worker, wanted)
        return self._ask(worker.id, min(max(0, wanted + (1 if command == "more_slots" else -1)), MOST_SLOTS))

    def _wanted(self, worker: WorkerRow) -> int | None:
        """The slots that were asked for last, as far as anybody knows."""
        return self._asked[worker.id][0] if worker.id in self._asked else worker.desired_slots

    def _ask(self, worker_id: str, slots: int) -> SetSlots:
        assert self.snapshot is not None
        self._asked[worker_id] = slots, self.snapshot.at
        return SetSlots(worker_id, slots)

    def _about_slots(self, worker: WorkerRow, wanted: int) -> Question:
        """The question how many slots a worker is to have."""

        def read(typed: str) -> Effect | str:
            fits = typed.isascii() and typed.isdigit() and len(typed) < 6 and int(typed) <= MOST_SLOTS
            return self._ask(worker.id, int(typed)) if fits else f"use 0 to {words.count(MOST_SLOTS)}"

        said = (
            f"now {words.count(wanted)}; with fewer, what runs goes on and nothing more is claimed until slots are free"
        )
        return Blank(f"How many slots for {_name(worker)}?", ((Span(said, "muted"),),), "slots", Say(""), then=read)

    def _end(self, worker: WorkerRow, how: str) -> Effect | Question:
        drains = how == "drain"
        if worker.state in ("stopped", "late") or (drains and worker.state != "running"):
            return Say(f"not {'drained' if drains else 'killed'}: {safe(worker.host)} is {worker.state}", "watch")
        return about_drain(worker.id, worker.host, worker.busy, self.manner) if drains else _about_kill(worker)


def _name(worker: WorkerRow) -> str:
    return f"{safe(worker.host)} {safe(short_id(worker))}"


def _about_kill(worker: WorkerRow) -> Question:
    """The question before a worker is ended at once."""
    one = worker.busy == 1
    goes = f"{words.count(worker.busy)} running there {'goes back to its queue' if one else 'go back to their queues'}"
    said = f"the worker ends at once; {goes if worker.busy else 'nothing runs there now'}; D lets it finish first"
    return Question(
        f"Kill {_name(worker)}", ((Span(safe(worker.id), "link"),), (Span(said, "muted"),)), "kill", Kill(worker.id)
    )
