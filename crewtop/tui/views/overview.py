"""What is wrong now, how much waits, how fast it goes, what it costs: queues and running tasks at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from crewtop import words
from crewtop.model.filters import TaskFilter
from crewtop.model.problems import Problem, problems
from crewtop.model.snapshot import QueueRow, RunningRow, Snapshot
from crewtop.tui.actions import View
from crewtop.tui.columns import fit, heading, row
from crewtop.tui.effects import Copy, Effect, Go, Open, Say
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import BLANK, Ground, Line, Span, clip_spans, joined, line, spread
from crewtop.tui.paint import width as cells_of
from crewtop.tui.selection import Selection
from crewtop.tui.views import figures
from crewtop.tui.views.cells import NO_TASK_HERE, lead, moved
from crewtop.tui.views.page import Page
from crewtop.tui.views.pause import about_pause
from crewtop.tui.views.problems import leads, opens
from crewtop.tui.views.question import Question
from crewtop.tui.views.silence import about_silence
from crewtop.tui.views.tables import QUEUE_COLUMNS, RUNNING_COLUMNS, held_by, in_order, queue_cells, running_cells

MOST_PROBLEMS = 8
"""Lines of problems on a high screen; the cursor goes through the rest."""

HINT_CELLS = 70
"""From this width on a problem's line says where Enter leads."""


class Key(NamedTuple):
    """What the cursor stands on: a problem, a queue or a running task, by its name or id."""

    kind: str
    name: str


Rows = list[tuple[Line, Key | None]]
"""Lines with what the cursor stands on there."""


class Overview(Page):
    """State of the view: the snapshot and the cursor, which goes through problems, queues and running tasks."""

    kind = View.OVERVIEW
    columns = (*QUEUE_COLUMNS, *RUNNING_COLUMNS)

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner)
        self.selection: Selection[Key] = Selection()
        self._problems: list[Problem] = []
        self._shown: dict[Key, Problem | QueueRow | RunningRow] = {}
        self._keys_of: list[Key | None] = []

    def take(self, snapshot: Snapshot) -> None:
        """Show a new snapshot."""
        self._problems = problems(snapshot)
        queues, running = _needy_first(snapshot.queues, self._problems), in_order(snapshot.running)
        self.snapshot = snapshot = replace(snapshot, queues=tuple(queues), running=tuple(running))
        self._shown = {_key(problem): problem for problem in self._problems}
        self._shown |= {Key("queue", queue.name): queue for queue in snapshot.queues}
        self._shown |= {Key("task", str(task.task_id)): task for task in snapshot.running}
        first = self.selection.cursor is None
        self.selection.update(tuple(self._shown))
        if first and snapshot.queues:
            self.selection.place(len(self._problems))

    def do(self, command: str, height: int) -> Effect | Question | None:
        """Obey a command."""
        if moved(self.selection, command, height):
            return None
        if command == "act_on_tasks":
            return NO_TASK_HERE
        chosen = self._shown.get(self.selection.current) if self.selection.current else None
        if chosen is None:
            return Say("what was under the cursor is gone: choose again") if self._shown else None
        if command in ("open", "log"):
            return _opened(chosen, "log" if command == "log" else None)
        if command == "pause_queue":
            if not isinstance(chosen, QueueRow):
                return Say("no queue is under the cursor: choose one")
            return about_pause(chosen, self.snapshot.budgets if self.snapshot else ())
        if command == "silence":
            return self._about_silence(chosen)
        if command == "copy":
            return Copy(str(chosen.task_id) if isinstance(chosen, RunningRow) else safe(chosen.name))
        return None

    def _about_silence(self, chosen: Problem | QueueRow | RunningRow) -> Question | Say:
        """Of the problem under the cursor, or of the only one that has an alert."""
        assert self.snapshot is not None
        alerted = [problem for problem in self._problems if problem.alert is not None]
        if isinstance(chosen, Problem):
            return about_silence(chosen, self.snapshot.at)
        if len(alerted) == 1:
            return about_silence(alerted[0], self.snapshot.at)
        if not alerted:
            return Say("no alert stands: there is nothing to silence")
        return Say(self.manner.own(f"{words.count(len(alerted))} alerts stand: ↑ goes up to them, choose one"))

    def click(self, y: int) -> Effect | Question | None:
        """The cursor goes to the row; on the cursor's own row it opens."""
        key = self._keys_of[y] if y < len(self._keys_of) else None
        if key not in self._shown or key is None:
            return None
        if key == self.selection.current:
            return self.do("open", 0)
        self.selection.place(list(self.selection.keys).index(key))
        return None

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        if self.snapshot is None:
            return []
        airy = height >= 14
        gap: Rows = [(BLANK, None)] if airy else []
        rows = [*self._problem_rows(width, _problem_room(height)), *gap]
        drawn = figures.lines(self.snapshot, width, _chart_height(height), self.manner)
        rows += [*((each, None) for each in drawn), *gap]
        rest = height - len(rows)
        running = min(len(self.snapshot.running), max(3, rest // 3)) if rest > 8 else 0
        room = max(1, rest - 1 - (running + 1 + len(gap) if running else 0))
        if not running and self.selection.current and self.selection.current.kind == "task":
            rows += self._running_rows(width, rest - 1)  # too low a screen for both: the list that the cursor is in
        else:
            rows += self._queue_rows(width, room)
        if running:
            rows += [*gap, *self._running_rows(width, height - len(rows) - len(gap) - 1)]
        self._keys_of = [key for _, key in rows]
        return [each for each, _ in rows]

    def _problem_rows(self, width: int, most: int) -> Rows:
        if not self._problems:
            return []
        keys = [_key(problem) for problem in self._problems]
        rows: Rows = [
            (self._problem_line(self._problems[index], width), keys[index])
            for index in _around(self._place_of(keys), len(keys), most)
        ]
        left = len(keys) - most
        if left > 0 and most > 1:
            said = self.manner.own(f"and {words.count(left)} more: ↑ ↓ go through all")
            rows.append((line("  ", Span(said, "muted")), None))
        return [(BLANK, None), *rows] if most > 1 else rows

    def _problem_line(self, problem: Problem, width: int) -> Line:
        """What is wrong, and on the right what Enter does about it, where there is room."""
        assert self.snapshot is not None
        on = self._on(_key(problem))
        standing = problem.standing(self.snapshot.at)
        quiet = problem.silence is not None
        said = joined(
            lead(on, self.manner),
            Span(
                self.manner.glyph("●" if problem.severity == "wrong" else "▲") + " ",
                "faint" if quiet else problem.severity,
            ),
            data(problem.name, "muted" if quiet else "text", not quiet),
            *(("  ", data(standing, "muted" if quiet else problem.severity)) if standing else ()),
            "  ",
            data(problem.words, "muted"),
        )
        if width < HINT_CELLS:
            return Line(clip_spans(said, width - 1, self.manner.cut), "cursor" if on else "ground")
        opens = joined(Span(self.manner.glyph("⏎"), "accent" if on else "faint"), Span(f" {leads(problem)} ", "faint"))
        said = clip_spans(said, width - cells_of(opens) - 2, self.manner.cut)
        return Line(spread(said, opens, width, self.manner.cut), "cursor" if on else "ground")

    def _queue_rows(self, width: int, room: int) -> Rows:
        assert self.snapshot is not None
        queues = self.snapshot.queues
        if not queues:
            return [(line("  ", Span("No queue has a task yet.", "muted")), None)]
        held = any(held_by(queue) for queue in queues)
        fitted = fit(QUEUE_COLUMNS if held else QUEUE_COLUMNS[:-1], width - 3)
        keys = [Key("queue", queue.name) for queue in queues]
        rows: Rows = [(heading(fitted, "  "), None)]
        cut = len(queues) > room - 1 > 1  # where there is but one line, it is a queue's
        for index in _around(self._place_of(keys), len(queues), room - 1 - cut):
            on = self._on(keys[index])
            cells = queue_cells(queues[index], self.manner)
            mark = words.glyph("paused", ascii=self.manner.ascii_only) if queues[index].paused else ""
            ground: Ground = "cursor" if on else "ground"
            rows.append((row(fitted, cells, ground, lead(on, self.manner, mark), self.manner.cut), keys[index]))
        if cut:
            rows.append((line("    ", Span(_more_queues(len(queues) - (room - 2)), "muted")), None))
        return rows

    def _running_rows(self, width: int, room: int) -> Rows:
        assert self.snapshot is not None
        running = self.snapshot.running
        fitted = fit(RUNNING_COLUMNS, width - 3)
        keys = [Key("task", str(task.task_id)) for task in running]
        more = self.snapshot.running_total > room
        rows: Rows = [(heading(fitted, "  "), None)]
        for index in _around(self._place_of(keys), len(running), room - more):
            on = self._on(keys[index])
            cells = running_cells(running[index], self.manner)
            ground: Ground = "cursor" if on else "ground"
            rows.append((row(fitted, cells, ground, lead(on, self.manner), self.manner.cut), keys[index]))
        left = self.snapshot.running_total - (len(rows) - 1)
        if left > 0:
            rows.append((line("    ", Span(f"and {words.count(left)} more", "muted")), None))
        return rows

    def _on(self, key: Key) -> bool:
        return self.selection.current == key

    def _place_of(self, keys: list[Key]) -> int:
        current = self.selection.current
        return keys.index(current) if current in keys else 0


def _key(problem: Problem) -> Key:
    return Key("problem", f"{problem.kind} {problem.name}")


def _opened(chosen: Problem | QueueRow | RunningRow, pane: str | None) -> Effect | None:
    if isinstance(chosen, RunningRow):
        return Open(chosen.task_id, pane)
    if isinstance(chosen, QueueRow):
        return Go(View.TASKS, TaskFilter(queues=(chosen.name,)))
    return opens(chosen)


def _needy_first(queues: Sequence[QueueRow], found: Sequence[Problem]) -> list[QueueRow]:
    """Queues with something wrong, then those where anything moves or waits: by name, so that a tick stirs little."""
    wrong = {problem.name for problem in found if problem.about == "queue" and problem.severity == "wrong"}

    def place(queue: QueueRow) -> tuple[int, str]:
        busy = queue.ready or queue.running or queue.retry
        return 0 if queue.name in wrong else 1 if busy else 2, queue.name

    return sorted(queues, key=place)


def _more_queues(count: int) -> str:
    return "and 1 more queue" if count == 1 else f"and {words.count(count)} more queues"


def _problem_room(height: int) -> int:
    return 1 if height < 12 else 3 if height < 24 else 5 if height < 40 else MOST_PROBLEMS


def _chart_height(height: int) -> int:
    return 0 if height < 17 else 2 if height < 26 else 3 if height < 44 else 4


def _around(place: int, count: int, room: int) -> range:
    """The lines in sight when room of count fit and line place has to be among them."""
    room = max(1, room)
    top = min(max(0, place - room + 1), max(0, count - room))
    return range(top, min(count, top + room))
