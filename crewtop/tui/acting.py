"""What the operator is about to do, does, and did last: the acting part of the screen's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from crewtop import words
from crewtop.model.detail import TaskRow
from crewtop.model.operations import NEVER_UNDONE, RULES, Action, Matching, Operation, OperationResult, Order, summary
from crewtop.tui.effects import Effect, Price, Say
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Role
from crewtop.tui.views.question import Question, about_argument, about_tasks, about_undo

MOST_REFUSALS = 5
"""Refused tasks that are told one by one."""

MOST_DONE = 100
"""Operations that are remembered to be undone."""


class Acting:
    """all_matching: the next action is for all that match; progress: an operation that is under way here.

    counting: what is being counted and priced to be asked about, until a key is pressed for something else. What was
    done here is remembered, the newest last, until it is undone.
    """

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self.all_matching = False
        self.counting: Price | None = None
        self.progress: Operation | None = None
        self._done: list[Operation] = []

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

    def undo(self, now: datetime | None) -> Effect | Question:
        """What has to be asked before the newest operation that is not undone is taken back; now as for about_undo."""
        operations = f"{self.manner.key('operations')} Operations"
        if not self._done:
            return Say(f"this screen has nothing left to undo: what others did is in {operations}")
        *before, last = self._done
        if last.action not in NEVER_UNDONE:
            return about_undo(last, now)
        earlier = f": operation {before[-1].id} was before it: {operations}" if before else ""
        return Say(f"a {last.action} cannot be undone{earlier}", "watch")

    def acted(self, result: OperationResult) -> list[tuple[str, Role]]:
        """What became of an action on chosen tasks, to be told."""
        action = result.operation.action
        refused = [f"{item.task_id} {safe(item.why)}" for item in result.refused]
        past = _PAST.get(action, RULES[action].past)
        parts = [f"{words.count(result.done)} {past}"] if result.done else []
        parts += [f"{words.count(len(refused))} refused"] if refused else []
        said = ", ".join(parts) + self._remembered(result.operation)
        told: list[tuple[str, Role]] = [(said, "watch" if refused else "moving")]
        told += [(line, "text") for line in refused[:MOST_REFUSALS]]
        if len(refused) > MOST_REFUSALS:
            told.append((f"and {words.count(len(refused) - MOST_REFUSALS)} more: {self._where}", "muted"))
        return told

    def ended(self, operation: Operation, refusals: Mapping[str, int], asked: int | None) -> list[tuple[str, Role]]:
        """What became of an operation over all that matched, or of an undoing, to be told; asked: as for summary."""
        self.progress = None
        undoes = self._remembered(operation)
        said = f"{summary(operation, refusals, asked)} (operation {operation.id}){undoes}"
        told: list[tuple[str, Role]] = [(safe(said), "watch" if operation.refused or operation.left else "moving")]
        return [*told, (f"which ones: {self._where}", "muted")] if operation.refused else told

    def _remembered(self, operation: Operation) -> str:
        """How what was done is taken back, if it can be. An undone one is forgotten: undo is for the one before it."""
        gone = {operation.id} if operation.left else {operation.id, operation.undoes}
        self._done = [known for known in self._done if known.id not in gone][-MOST_DONE:]
        if operation.action is Action.UNDO or not operation.done:
            return ""
        self._done.append(operation)
        can = operation.action not in NEVER_UNDONE and operation.state != "paused"
        return f"; {self.manner.key('undo')} undoes it" if can else ""

    @property
    def _where(self) -> str:
        return f"{self.manner.key('open')} on it in {self.manner.key('operations')} Operations lists them"

    @property
    def words(self) -> str:
        """How far what is under way has come, for the header; empty if nothing is."""
        if self.progress is None:
            return "all matching" if self.all_matching else ""
        done = words.count(self.progress.total - self.progress.left)
        return f"{self.progress.action.verb} {done} of {words.count(self.progress.total)}"


_PAST = {Action.CANCEL: "cancelled or being cancelled"}
