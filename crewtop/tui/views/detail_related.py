"""The tasks that one has to do with, in a list from which each can be opened."""

from __future__ import annotations

from crewtop import words
from crewtop.model.detail import TaskTies
from crewtop.tui.columns import Cell, Column, fit, heading, row
from crewtop.tui.effects import Effect, Open, Say
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import Ground, Line, Span, Spans, joined, line
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import STATUS_ROLES, lead, moved

RELATED_COLUMNS = (
    Column("IS", 14),
    Column("TASK", 9, right=True, most=12),
    Column("STATUS", 12),
    Column("NAME", 10, 1, most=60),
)

NOT_TASKS = 2
"""Lines above the table, at most: the schedule and the key."""

Relation = tuple[str, int]
"""What a task is to this one, and its id."""


class Related:
    """The list and its cursor."""

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self._selection: Selection[Relation] = Selection()
        self._room = 1
        self._above = 0

    def scroll(self, command: str) -> bool:
        """Obey a command that moves; False if it is none."""
        return moved(self._selection, command, self._room)

    def click(self, row: int) -> bool:
        """Put the cursor on a line of the list; whether it was there."""
        place = self._selection.top + row - self._above
        if not 0 <= place < len(self._selection.keys) or row < self._above:
            return False
        before = self._selection.current
        self._selection.place(place)
        return before == self._selection.current

    def open(self) -> Effect:
        """Open the task under the cursor."""
        current = self._selection.current
        return Open(current[1]) if current is not None else Say("no task is under the cursor")

    def lines(self, ties: TaskTies, cells: int, room: int) -> list[Line]:
        """The list in so many cells and lines."""
        found = _relations(ties)
        self._selection.update(list(found))
        drawn = self._beside(ties, cells) if room > NOT_TASKS + 2 else []
        if not found:
            return [*drawn, line("  ", Span("no other task has to do with this one", "muted"))]
        fitted = fit(RELATED_COLUMNS, cells - 3)
        drawn.append(heading(fitted, "  "))
        self._above = len(drawn)
        self._room = max(1, room - len(drawn))
        for index in self._selection.window(self._room):
            relation = self._selection.keys[index]
            on = relation == self._selection.current
            name, status = found[relation]
            drawn_cells: list[Cell] = [
                Span(relation[0], "muted"),
                Span(str(relation[1]), "link"),
                self._status(status),
                data(name),
            ]
            behind: Ground = "cursor" if on else "ground"
            drawn.append(row(fitted, drawn_cells, behind, lead(on, self.manner), self.manner.cut))
        return drawn

    def _beside(self, ties: TaskTies, cells: int) -> list[Line]:
        said: list[Spans] = []
        if ties.schedule is not None:
            said.append(joined(Span("made by the schedule ", "muted"), data(ties.schedule)))
        if ties.key is not None:
            said.append(joined(Span("key ", "muted"), data(f"{ties.key} ({ties.key_scope})")))
        return [line("  ", spans) for spans in said]

    def _status(self, status: str | None) -> Span:
        if status is None:
            return Span(words.NOTHING, "faint")
        return Span(self.manner.status(safe(status)), STATUS_ROLES.get(status, "muted"))


def _relations(ties: TaskTies) -> dict[Relation, tuple[str, str | None]]:
    """Name and status (None: not told) of each."""
    found: dict[Relation, tuple[str, str | None]] = {}
    if ties.parent_id is not None:
        found["parent", ties.parent_id] = "", None
    if ties.rerun_of is not None:
        found["rerun of", ties.rerun_of] = "", None
    for relation, others in (
        ("depends on", ties.depends_on),
        ("needed by", ties.needed_by),
        ("child", ties.children),
        ("rerun as", ties.reruns),
    ):
        for other in others:
            found[relation, other.task_id] = other.name, other.status
    return found
