"""What operators did: how far each operation has come, what became of its tasks; pause it, cancel it, take it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crewtop import words
from crewtop.model.operations import NEVER_UNDONE, Operation
from crewtop.tui.actions import View
from crewtop.tui.columns import Cell, Column, fit, heading, row
from crewtop.tui.effects import Copy, Effect, Go, Halt, Resume, Say
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import BLANK, Line, Role, Span, joined, line, spread
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import aged, count, lead, moved, said
from crewtop.tui.views.outcomes import MOST_OUTCOMES, OUTCOME_COLUMNS, Outcomes, state_spans
from crewtop.tui.views.page import Page
from crewtop.tui.views.question import Question, about_undo
from crewtop.tui.wants import OperationList, OutcomeList, Want

MOST = 100
"""Operations that are asked for: the newest."""

BAR_CELLS = 8

COLUMNS = (
    Column("ID", 4, right=True, most=8, about="The operation's number, as crewtop operations knows it"),
    Column("ACTION", 7, most=24, grow=8, about="What was wanted of the tasks"),
    Column("STATE", 11, about="Whether it is under way, paused, cancelled or done"),
    Column("DONE", 9, right=True, most=13, about="How many tasks it has changed, of how many"),
    Column("PROGRESS", BAR_CELLS, 5, about="How many tasks it has come to, done or refused"),
    Column("REFUSED", 7, 2, right=True, about="How many tasks it left as they were, for reasons that Enter shows"),
    Column("AT", 6, 1, right=True, about="How long ago it began"),
    Column("BY", 10, 3, most=30, grow=2, about="Who did it, and from where"),
    Column("SCOPE", 12, 4, most=60, grow=3, about="The filter that chose its tasks, as it was typed"),
    Column("REASON", 10, 6, most=80, grow=2, about="Why, as whoever did it has said"),
)

_UNDER_WAY = ("running", "paused")


class Operations(Page):
    """State of the view: the newest operations, the cursor, and the one that is open."""

    kind = View.OPERATIONS
    columns = (*COLUMNS, *OUTCOME_COLUMNS)

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner)
        self.selection: Selection[int] = Selection()
        self._operations: dict[int, Operation] | None = None
        self._open: Outcomes | None = None
        self._list_is_next = False
        self._first_row = 0
        self._come = False

    def come(self, anew: bool) -> None:
        """Opened by its name, it shows the list, and in it what is under way."""
        if anew:
            self._close()
            self._come = True
            self._choose()

    def _close(self) -> None:
        self._open, self._list_is_next = None, False

    def _choose(self) -> None:
        """The cursor goes to the newest operation that is under way, or else to the newest of all."""
        under_way = (o.id for o in (self._operations or {}).values() if o.state in _UNDER_WAY)
        if self._operations:
            self.selection.place(self.selection.keys.index(next(under_way, self.selection.keys[0])))

    @property
    def want(self) -> Want:
        """The list; while one is open its outcomes, and the list in turn with them, since that knows how it stands."""
        if self._open is None or self._list_is_next:
            return OperationList(MOST)
        return OutcomeList(self._open.operation.id, MOST_OUTCOMES)

    @property
    def loading(self) -> bool:
        """Whether the list, or what is open, has not come yet."""
        return self._operations is None or (self._open is not None and self._open.items is None)

    def answer(self, want: Want, answer: Any) -> None:
        """Show the operations, or the outcomes of the open one."""
        match want:
            case OperationList():
                self._take(answer)
            case OutcomeList(operation_id) if self._open is not None and self._open.operation.id == operation_id:
                self._open.take(answer)
            case _:
                return
        self.problem = ""
        self._list_is_next = isinstance(want, OutcomeList)

    def _take(self, operations: Sequence[Operation]) -> None:
        self._operations = {operation.id: operation for operation in operations}
        self.selection.update(tuple(self._operations))
        if self._come:
            self._choose()
        self._come = False
        if self._open is not None:
            self._open.operation = self._operations.get(self._open.operation.id, self._open.operation)

    @property
    def _current(self) -> Operation | None:
        if self._open is not None:
            return self._open.operation
        return (self._operations or {}).get(self.selection.current or 0)

    @property
    def at_rest(self) -> bool:
        """Whether the list is shown."""
        return self._open is None

    def do(self, command: str, height: int) -> Effect | Question | None:
        """Obey a command."""
        self._come = False
        if self._open is not None and command not in ("back", "halt", "call_off"):
            return self._open.do(command, height)
        if command == "back":
            self._close()
            return None
        if moved(self.selection, command, height):
            return None
        operation = self._current
        if operation is None:
            return Say("no operation is under the cursor: choose one") if self._operations else None
        match command:
            case "open":
                self._open = Outcomes(operation)
            case "copy":
                return Copy(str(operation.id))
            case "halt":
                return _halt(operation)
            case "call_off":
                return _call_off(operation, self.manner)
        return None

    def click(self, y: int) -> Effect | Question | None:
        """The cursor goes to the line; on its own line it opens."""
        rows = self.selection if self._open is None else self._open.selection
        return self.do("open", 1) if rows.click(y - self._first_row) else None

    def own(self, command: str) -> Effect | Question | None:
        """Undo is for the operation under the cursor; the view's own key leads back to the list."""
        self._come = False
        if command == self.kind and self._open is not None:
            self._close()
            return Go(self.kind)
        if command != "undo":
            return None
        operation = self._current
        if operation is None:
            return Say("no operation is under the cursor: choose one")
        if operation.action in NEVER_UNDONE:
            return Say(f"not undone: operation {operation.id} was to {operation.action}, which is for good", "watch")
        if operation.state in _UNDER_WAY:
            cancels = f"{self.manner.key('call_off')} cancels what is left"
            return Say(f"not undone: operation {operation.id} is {operation.state}: {cancels}", "watch")
        if not operation.done:
            return Say(f"not undone: operation {operation.id} has changed no task", "watch")
        return about_undo(operation, self.snapshot.at if self.snapshot is not None else None)

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        airy = [BLANK] if height >= 12 else []
        if self._open is not None:
            drawn = [*airy, *self._open.head(width, height - len(airy), self.manner)]
            self._first_row = len(drawn)
            return [*drawn, *self._open.rows(width, height - len(drawn), self.manner)]
        head = [self._head(width), *airy]
        if not self._operations:
            asked = self.problem or "asking who did what"
            nothing = asked if self._operations is None else "Nobody has acted on a task yet."
            return [*head, line("  ", Span(nothing, "muted"))]
        fitted = fit(COLUMNS, width - 3)
        drawn = [*head, heading(fitted, "  ")]
        self._first_row = len(drawn)
        for index in self.selection.window(height - len(drawn)):
            operation = self._operations[self.selection.keys[index]]
            on = operation is self._current
            cells = self._cells(operation)
            drawn.append(row(fitted, cells, "cursor" if on else "ground", lead(on, self.manner), self.manner.cut))
        return drawn

    def _head(self, width: int) -> Line:
        if self.problem and self._operations is not None:
            right = (Span(self.problem + " ", "watch"),)
        elif self.selection.lost:
            right = (Span("the operation under the cursor left the list ", "watch"),)
        else:
            right = (Span(f"the newest {MOST} " if len(self._operations or ()) == MOST else "", "muted"),)
        under_way = sum(operation.state in _UNDER_WAY for operation in (self._operations or {}).values())
        left = Span(f"{words.count(under_way)} under way" if under_way else "nothing under way", "text")
        return Line(spread(joined("  ", left), right, width, self.manner.cut))

    def _cells(self, operation: Operation) -> list[Cell]:
        age = (self.snapshot.at - operation.at).total_seconds() if self.snapshot is not None else None
        return [
            Span(str(operation.id), "link"),
            data(operation.what, "text", True),
            state_spans(operation, self.manner),
            joined(words.compact(operation.done), Span(f"/{words.compact(operation.total)}", "muted")),
            _progress(operation, self.manner),
            count(operation.refused, "watch"),
            aged(age, "muted"),
            data(operation.actor),
            data(operation.scope or "named tasks", "text" if operation.scope else "faint"),
            said(safe(operation.reason or words.NOTHING), "muted"),
        ]


def _progress(operation: Operation, manner: Manner) -> Cell:
    """Full only once nothing is left."""
    reached = operation.total - operation.left
    full = reached * BAR_CELLS // operation.total if operation.total else BAR_CELLS
    role: Role = "moving" if operation.state == "running" else "muted"
    return joined(Span(manner.glyph("■") * full, role), Span(manner.glyph("·") * (BAR_CELLS - full), "faint"))


def _halt(operation: Operation) -> Effect:
    match operation.state:
        case "running":
            return Halt(operation.id, "pause")
        case "paused":
            return Resume(operation.id)
    return Say(f"not paused: operation {operation.id} is {operation.state}", "watch")


def _call_off(operation: Operation, manner: Manner) -> Effect | Question:
    if operation.state not in _UNDER_WAY:
        return Say(f"nothing to cancel: operation {operation.id} is {operation.state}", "watch")
    left = f"{words.count(operation.left)} of its {words.count(operation.total)} tasks stay as they are"
    stays = f"{left}; what it has done to {words.count(operation.done)} stays done: {manner.key('undo')} undoes that"
    title = f"Cancel what is left of operation {operation.id}: {safe(operation.what)}"
    return Question(title, ((Span(stays, "muted"),),), "cancel it", Halt(operation.id, "cancel"))
