"""What is asked before anything is changed: ids, versions and costs are those of the moment of the key press."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from crewtop import words
from crewtop.model.money import Money, total
from crewtop.model.operations import RULES, Action, Order, Scope, Target, must_be_typed
from crewtop.model.snapshot import QueueRow, TaskRow
from crewtop.tui.edit import LineEdit
from crewtop.tui.effects import Act, ActOnAll, Drain, Effect, Open, PauseQueue, Price, Say, Undo
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Line, Span, Spans, clip_spans, joined, padded, spread
from crewtop.tui.reading import wrapped


@dataclass
class Question:
    """A question at the foot of the screen: a title, lines that say what will happen, and how to answer."""

    title: str
    said: tuple[Spans, ...]
    verb: str
    effect: Effect
    type_in: str = ""
    answer: LineEdit = field(default_factory=LineEdit)

    def press(self, key: str) -> Effect | Question | bool:
        """True while the question stays open, False when it is dropped, the effect when it is confirmed."""
        if key in ("escape", "ctrl+c", "q"):
            return False
        if key == "enter":
            return self.effect if self.answer.text.strip() == self.type_in else True
        if self.type_in and not self.answer.key(key) and key.isdigit():
            self.answer.insert(key)
        return True

    def lines(self, cells: int, manner: Manner) -> list[Line]:
        """The question as a box."""
        draw = manner.glyph
        inner = cells - 6
        title = clip_spans((Span(f" {self.title} ", "watch", True),), inner, manner.cut)
        fill = draw("─") * max(0, cells - 5 - sum(len(span.text) for span in title))
        top = joined(" ", Span(draw("╭") + draw("─"), "watch"), title, Span(fill + draw("╮"), "watch"), " ")
        bottom = joined(" ", Span(draw("╰") + draw("─") * (cells - 4) + draw("╯"), "watch"), " ")
        side = Span(draw("│"), "watch")
        body = [part for spans in self.said for part in _fitted(spans, inner, manner)]
        body.append(self._how(inner, manner))
        middle = [joined(" ", side, " ", padded(spans, inner, mark=manner.cut), " ", side, " ") for spans in body]
        return [Line(spans, "panel") for spans in (top, *middle, bottom)]

    def _how(self, cells: int, manner: Manner) -> Spans:
        enter, escape = Span(manner.glyph("⏎"), "accent", True), Span("Esc", "accent", True)
        keep = joined(escape, Span(" keep as is", "muted"))
        if not self.type_in:
            return spread(joined(enter, Span(f" {self.verb}", "text")), keep, cells)
        ask = joined("type ", Span(self.type_in, "text", True), " and ", enter, f" to {self.verb}   ")
        return spread(joined(ask, self.answer.spans()), keep, cells)


@dataclass
class Blank(Question):
    """A question whose answer is a word; then makes what follows of it, or says in a text what is wrong with it."""

    then: Callable[[str], Effect | Question | str] = str
    complaint: str = ""

    def press(self, key: str) -> Effect | Question | bool:
        """As Question.press; every character is typed."""
        if key in ("escape", "ctrl+c"):
            return False
        if key == "enter":
            following = self.then(self.answer.text.strip())
            if not isinstance(following, str):
                return following
            self.complaint = following
        else:
            self.answer.type(key)
        return True

    def _how(self, cells: int, manner: Manner) -> Spans:
        ask = joined(Span(f"{self.verb}: ", "text"), self.answer.spans(), Span(f"  {self.complaint}", "wrong"))
        return spread(ask, joined(Span("Esc", "accent", True), Span(" keep as is", "muted")), cells)


def _fitted(spans: Spans, cells: int, manner: Manner) -> list[Spans]:
    """A sentence of one span is wrapped; figures are cut."""
    if len(spans) == 1:
        return [(spans[0]._replace(text=text),) for text in wrapped(spans[0].text, cells)]
    return [clip_spans(spans, cells, manner.cut)]


def about_tasks(order: Order, tasks: Sequence[TaskRow], manner: Manner) -> Question | Say:
    """The question before an action on these tasks, or why there is nothing to ask."""
    action = order.action
    fit = [task for task in tasks if ineligible(action, task) is None]
    unfit = [task for task in tasks if ineligible(action, task) is not None]
    if not fit:
        return Say(f"nothing to {action}: {_reasons(action, unfit)}", "watch")
    what = f"{words.count(len(fit))} {_statuses({str(task.status) for task in fit})} {_tasks(len(fit))}"
    cost = total(task.cost.per(max(1, task.attempt)) for task in fit)
    said = [_sample(fit), *_effect(action, cost, manner)]
    if unfit:
        said.append((Span(f"not included: {_reasons(action, unfit)}", "watch"),))
    return Question(
        title=f"{action.capitalize()} {what}{_to(order)}",
        said=tuple(said),
        verb=action,
        effect=Act(order, tuple(Target(task.id, task.version) for task in fit)),
        type_in=str(len(fit)) if must_be_typed(len(fit), cost) else "",
    )


def about_all(asked: Price, scope: Scope, manner: Manner) -> Question | Say:
    """The question before an action on all that match, or why there is nothing to ask."""
    action = asked.order.action
    typed = safe(asked.typed) or "no filter"
    newcomers = f"{words.count(scope.newcomers)} that came since the list was drawn are not included"
    if not scope.count:
        why = f": {newcomers}" if scope.newcomers else ""
        return Say(f"nothing to {action} matches {typed}{why}", "watch")
    sample = joined(*(Span(f"{task_id}   ", "link") for task_id in scope.sample[:8]))
    left = scope.count - len(scope.sample[:8])
    said = [
        joined(Span(typed, "text", True), Span(f"   {words.count(scope.others)} others stay as they are", "muted")),
        joined(sample, Span(f"and {words.count(left)} more" if left else "", "muted")),
        *_effect(action, scope.cost, manner),
    ]
    if scope.newcomers:
        said.append((Span(newcomers, "watch"),))
    what = f"{words.count(scope.count)} {_statuses(set(scope.statuses))} {_tasks(scope.count)}"
    return Question(
        title=f"{action.capitalize()} all {what}{_to(asked.order)}",
        said=tuple(said),
        verb=action,
        effect=ActOnAll(asked.order, asked.matching),
        type_in=str(scope.count) if not asked.typed.strip() or must_be_typed(scope.count, scope.cost) else "",
    )


def about_argument(action: Action, then: Callable[[Order], Effect | Question]) -> Question:
    """The question where to move tasks, or which priority to give them; then says what follows."""

    def read(typed: str) -> Effect | Question | str:
        if action is Action.PRIORITY:
            return then(Order(action, int(typed))) if typed in ("0", "1", "2", "3", "4") else "use 0 to 4"
        return then(Order(action, typed)) if 1 <= len(typed) <= 200 else "name a queue"

    title = "Which priority?" if action is Action.PRIORITY else "Move to which queue?"
    said = "0 is the most urgent, 4 the least" if action is Action.PRIORITY else "a new name makes a new queue"
    return Blank(title, ((Span(said, "muted"),),), action, Say(""), then=read)


def about_id() -> Question:
    """The question which task to open."""

    def read(typed: str) -> Effect | str:
        digits = typed.removeprefix("#")
        return Open(int(digits)) if digits.isdecimal() and len(digits) < 19 else "a task's id is a number"

    return Blank("Open which task?", ((Span("its number, as in the column ID", "muted"),),), "id", Say(""), then=read)


def about_undo(operation_id: int, action: Action, done: int) -> Question:
    """The question before an operation is taken back."""
    what = f"{action} of {words.count(done)} {_tasks(done)}"
    said = (Span(RULES[Action.UNDO].effect, "muted"),)
    return Question(f"Undo {what}", (said,), "undo", Undo(operation_id))


def about_pause(queue: QueueRow) -> Question:
    """The question before a queue is paused, or goes on."""
    verb = "resume" if queue.paused else "pause"
    ready = f"{words.count(queue.ready)} ready"
    effect = f"workers claim from it again: {ready}" if queue.paused else f"nothing more is claimed from it: {ready}"
    running = f"; {words.count(queue.running)} running go on" if queue.running and not queue.paused else ""
    said = (Span(effect + running, "muted"),)
    return Question(f"{verb.capitalize()} {safe(queue.name)}", (said,), verb, PauseQueue(queue.name, not queue.paused))


def ineligible(action: Action, task: TaskRow) -> str | None:
    """Why an action does not apply to a task as it was seen, or None."""
    if action is Action.CANCEL and task.cancelling:
        return "already cancelling"
    return None if task.status in RULES[action].eligible else str(task.status)


def about_drain(worker_id: str, host: str, busy: int, manner: Manner) -> Question:
    """The question before a worker is drained."""
    runs = "nothing runs there now" if busy == 0 else f"{words.count(busy)} running there may finish first"
    return Question(
        title=f"Drain {safe(host)}",
        said=(
            (Span(safe(worker_id), "link"),),
            (Span(f"claims nothing more; {runs}; then the worker ends", "muted"),),
        ),
        verb="drain",
        effect=Drain(worker_id),
    )


def _effect(action: Action, cost: Money, manner: Manner) -> list[Spans]:
    said: list[Spans] = [(Span(RULES[action].effect, "muted"),)]
    if cost.calls:
        said.append(joined(Span("their last attempts cost about ", "muted"), Span(manner.money(cost), "money")))
    return said


def _to(order: Order) -> str:
    return f" to {safe(str(order.argument))}" if order.argument is not None else ""


def _tasks(count: int) -> str:
    return "task" if count == 1 else "tasks"


def _sample(tasks: Sequence[TaskRow]) -> Spans:
    shown = [
        joined(Span(str(task.id), "link"), Span(f" {safe(task.crew)}   ", "text") if len(tasks) < 4 else "   ")
        for task in tasks[:8]
    ]
    left = len(tasks) - len(shown)
    return joined(*shown, Span(f"and {words.count(left)} more" if left else "", "muted"))


def _reasons(action: Action, tasks: Sequence[TaskRow]) -> str:
    reasons = Counter(ineligible(action, task) or "" for task in tasks)
    return ", ".join(f"{words.count(n)} {reason}" for reason, n in reasons.most_common())


def _statuses(statuses: set[str]) -> str:
    names = sorted(statuses)
    return " and ".join(names) if len(names) <= 2 else "selected"
