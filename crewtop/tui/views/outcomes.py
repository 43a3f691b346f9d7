"""One operation in full: what was wanted, by whom and why, and what became of each task."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop import words
from crewtop.model.operations import ItemOutcome, Operation
from crewtop.tui.columns import Cell, Column, fit, heading, row
from crewtop.tui.effects import Copy, Effect, Open, Say
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import BLANK, Line, Part, Role, Span, Spans, bar, clip_spans, joined, line
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import lead, moved

MOST_OUTCOMES = 1_000
"""Outcomes that are asked for; refused tasks come first, so all of them are usually there."""

OUTCOME_COLUMNS = (
    Column("TASK", 10, right=True, about="The task; Enter opens it"),
    Column("OUTCOME", 9, about="Whether it was done, refused, or has yet to come"),
    Column("WHY", 12, most=500, about="What became of it, in words"),
)

_OUTCOMES: dict[bool | None, tuple[str, str, Role]] = {
    True: ("ok", "done", "moving"),
    False: ("refused", "refused", "watch"),
    None: ("waiting", "to come", "muted"),
}


class Outcomes:
    """State: the operation as last seen, its outcomes (None until they come), and the cursor on one of them."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.items: Sequence[ItemOutcome] | None = None
        self.selection: Selection[int] = Selection()
        self._by_id: dict[int, ItemOutcome] = {}

    def take(self, items: Sequence[ItemOutcome]) -> None:
        """Show these outcomes."""
        self.items = items
        self._by_id = {item.task_id: item for item in items}
        self.selection.update(tuple(self._by_id))

    def do(self, command: str, height: int) -> Effect | None:
        """Obey a command."""
        if moved(self.selection, command, height):
            return None
        current = self.selection.current
        if command not in ("open", "copy"):
            return None
        if current is None:
            return Say("no task is under the cursor: choose one")
        return Open(current) if command == "open" else Copy(str(current))

    def head(self, width: int, height: int, manner: Manner) -> list[Line]:
        """What is above the outcomes: the operation's facts and the titles."""
        facts = [Line(clip_spans(spans, width - 1, manner.cut)) for spans in _facts(self.operation, manner)]
        facts = [*facts, BLANK] if height >= 12 else facts[: max(1, height - 4)]
        if self.items:
            return [*facts, heading(fit(OUTCOME_COLUMNS, width - 3), "  ")]
        nothing = "asking what became of its tasks" if self.items is None else "It has reached no task."
        return [*facts, line("  ", Span(nothing, "muted"))]

    def rows(self, width: int, height: int, manner: Manner) -> list[Line]:
        """The outcomes in so many cells and lines, and how many more there are."""
        if not self.items:
            return []
        fitted = fit(OUTCOME_COLUMNS, width - 3)
        left = self.operation.total - len(self._by_id)
        drawn = []
        for index in self.selection.window(height - (1 if left > 0 else 0)):
            task_id = self.selection.keys[index]
            on = task_id == self.selection.current
            cells = _cells(self._by_id[task_id], manner)
            drawn.append(row(fitted, cells, "cursor" if on else "ground", lead(on, manner), manner.cut))
        if left > 0:
            drawn.append(line("  ", Span(f"and {words.count(left)} more", "muted")))
        return drawn


def _cells(item: ItemOutcome, manner: Manner) -> list[Cell]:
    state, word, role = _OUTCOMES[item.done]
    return [
        Span(str(item.task_id), "link"),
        Span(f"{words.glyph(state, ascii=manner.ascii_only)} {word}", role),
        data(item.why, "text" if item.done is False else "muted"),
    ]


def _facts(operation: Operation, manner: Manner) -> list[Spans]:
    title = joined("  ", Span(f"OPERATION {operation.id}  ", "muted"), data(operation.what, "text", True))
    counts = bar(
        [
            Part(0, state_spans(operation, manner)),
            Part(0, (Span(f"{words.count(operation.done)} of {words.count(operation.total)} done"),)),
            Part(1, (Span(f"{words.count(operation.refused)} refused", "watch" if operation.refused else "faint"),)),
            Part(2, (Span(f"{words.count(operation.left)} left", "text" if operation.left else "faint"),)),
        ],
        200,
    )
    ended = f", ended {manner.clock(operation.ended_at)}" if operation.ended_at is not None else ""
    facts = [
        joined(title, "   ", counts),
        _fact("by", f"{operation.actor} as {operation.role}, {manner.stamp(operation.at)}{ended}"),
        _fact("scope", operation.scope if operation.scope is not None else "tasks named one by one"),
    ]
    return facts + ([_fact("reason", operation.reason)] if operation.reason else [])


def _fact(name: str, said: str) -> Spans:
    return joined("  ", Span(f"{name:<8}", "muted"), data(said))


_STATES: dict[str, tuple[str, Role]] = {
    "running": ("running", "moving"),
    "paused": ("paused", "watch"),
    "cancelled": ("cancelled", "muted"),
    "done": ("completed", "muted"),
}


def state_spans(operation: Operation, manner: Manner) -> Spans:
    """How an operation stands, as glyph and word."""
    glyph, role = _STATES[operation.state]
    return (Span(f"{words.glyph(glyph, ascii=manner.ascii_only)} {safe(operation.state)}", role),)
