"""What the operator is about to do, does, and did last: the acting part of the screen's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crewtop import words
from crewtop.model.operations import NEVER_UNDONE, RULES, Action, Matching, Operation, OperationResult, Order, summary
from crewtop.model.snapshot import TaskRow
from crewtop.tui.effects import Effect, Price, Say
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Role
from crewtop.tui.views.question import Question, about_argument, about_tasks, about_undo

MOST_REFUSALS = 5
"""Refused tasks that are told one by one."""


class Acting:
    """all_matching: the next action is for all that match; progress: an operation that is under way here.

    counting: what is being counted and priced to be asked about, until a key is pressed for something else.
    """

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self.all_matching = False
        self.counting: Price | None = None
        self.progress: Operation | None = None
        self._last: tuple[int, Action, int] | None = None

    def about(
        self, action: Action, chosen: Sequence[TaskRow], matching: Matching | None, typed: str
    ) -> Effect | Question:
        """What has to be asked, or found out, before an action: on the chosen tasks, or on all that match."""
        everything, self.all_matching = self.all_matching, False

        def ask(order: Order) -> Effect | Question:
            if not everything:
                return about_tasks(order, chosen, self.manner)
            return Price(order, matching, typed) if matching is not None else Say("the list is loading: ask again")

        if not chosen and not everything:
            return Say("no task is under the cursor: choose one")
        return about_argument(action, ask) if action in (Action.MOVE, Action.PRIORITY) else ask(Order(action))

    def everything(self, typed: str) -> Say:
        """The next action is for all that match; the same key again takes it back."""
        self.all_matching = not self.all_matching
        if not self.all_matching:
            return Say("the next action is for the marked tasks, or for the one under the cursor")
        whom = f"all that match {safe(typed)}" if typed else "every task: no filter is set"
        return Say(f"the next action is for {whom}", "watch")

    def undo(self) -> Effect | Question:
        """What has to be asked before the last operation is taken back."""
        if self._last is None:
            return Say("this screen has done nothing that could be undone: see crewtop operations")
        operation_id, action, done = self._last
        if action in NEVER_UNDONE:
            return Say(f"{'an' if action is Action.UNDO else 'a'} {action} cannot be undone", "watch")
        return about_undo(operation_id, action, done)

    def acted(self, result: OperationResult) -> list[tuple[str, Role]]:
        """What became of an action on chosen tasks, to be told."""
        self._last = result.operation_id, result.action, result.done
        refused = [f"{item.task_id} {safe(item.why)}" for item in result.refused]
        past = _PAST.get(result.action, RULES[result.action].past)
        parts = [f"{words.count(result.done)} {past}"] if result.done else []
        parts += [f"{words.count(len(refused))} refused"] if refused else []
        told: list[tuple[str, Role]] = [(", ".join(parts), "watch" if refused else "moving")]
        told += [(line, "text") for line in refused[:MOST_REFUSALS]]
        if len(refused) > MOST_REFUSALS:
            told.append((f"and {words.count(len(refused) - MOST_REFUSALS)} more: {_WHERE}", "muted"))
        return told

    def ended(self, operation: Operation, refusals: Mapping[str, int]) -> list[tuple[str, Role]]:
        """What became of an operation over all that matched, or of an undoing, to be told."""
        self.progress = None
        self._last = operation.id, operation.action, operation.done
        said = f"{summary(operation, refusals)} (operation {operation.id})"
        told: list[tuple[str, Role]] = [(safe(said), "watch" if operation.refused or operation.left else "moving")]
        return [*told, (f"which ones: {_WHERE}", "muted")] if operation.refused else told

    @property
    def words(self) -> str:
        """How far what is under way has come, for the header; empty if nothing is."""
        if self.progress is None:
            return "all matching" if self.all_matching else ""
        done = words.count(self.progress.total - self.progress.left)
        return f"{self.progress.action.verb} {done} of {words.count(self.progress.total)}"


_WHERE = "Enter on it in 7 Operations lists them"
_PAST = {Action.CANCEL: "cancelled or being cancelled"}
