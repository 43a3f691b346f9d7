"""What is asked before a queue is paused or goes on, and what is said where that is not anybody's to decide here."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop import words
from crewtop.model.budgets import BudgetRow, holding, still_held
from crewtop.model.snapshot import QueueRow
from crewtop.tui.effects import PauseQueue, Say
from crewtop.tui.manner import safe
from crewtop.tui.paint import Span
from crewtop.tui.views.question import Question


def about_pause(queue: QueueRow, budgets: Sequence[BudgetRow]) -> Question | Say:
    """The question before a queue is paused, or goes on. budgets: all of them, as they stand."""
    held = holding(budgets, queue.name) if queue.paused else []
    if queue.by_budget:
        return Say(safe(still_held(queue.name, held) if held else f"{queue.name} is held by a budget"), "watch")
    verb = "resume" if queue.paused else "pause"
    ready = f"{words.count(queue.ready)} ready"
    effect = f"workers claim from it again: {ready}" if queue.paused else f"nothing more is claimed from it: {ready}"
    running = f"; {words.count(queue.running)} running go on" if queue.running and not queue.paused else ""
    said = Span(safe(still_held(queue.name, held)), "watch") if held else Span(effect + running, "muted")
    return Question(
        f"{verb.capitalize()} {safe(queue.name)}", ((said,),), verb, PauseQueue(queue.name, not queue.paused)
    )
