"""What is asked before anything is changed: ids, versions and costs are those of the moment of the key press."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from crewtop import words
from crewtop.model import filters
from crewtop.model.detail import TaskRow
from crewtop.model.money import Money, total
from crewtop.model.operations import RULES, Action, Operation, Order, Scope, Target, aim, effect_of, must_be_typed
from crewtop.tui.edit import LineEdit
from crewtop.tui.effects import Act, ActOnAll, Drain, Effect, Open, Price, Say, Undo
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Line, Span, Spans, clip, clip_spans, joined, padded, spread, width
from crewtop.tui.reading import wrapped
from crewtop.tui.views.cells import coarse

SAMPLE = 8
"""Tasks that a question names."""

NAMED = 3
"""Tasks that are named among those that an action does not fit, if there are no more."""


@dataclass
class Question:
    """A question at the foot of the screen: a title, lines that say what will happen, and how to answer.

    type_in: what has to be typed before Enter counts; complaint: what is wrong with the answer so far; seen: it was
    drawn. Keys may come faster than they are painted, and nobody confirms what has not been shown.
    """

    title: str
    said: tuple[Spans, ...]
    verb: str
    effect: Effect
    type_in: str = ""
    answer: LineEdit = field(default_factory=LineEdit)
    complaint: str = ""
    seen: bool = False

    def press(self, key: str) -> Effect | Question | bool:
        """True while the question stays open, False when it is dropped, the effect when it is confirmed."""
        if key in ("escape", "ctrl+c", "q"):
            return False
        if key == "enter" and not self.seen:
            return True
        if key == "enter":
            if self.answer.text.strip() == self.type_in:
                return self.effect
            self.complaint = f"not {self.type_in}" if self.answer.text else ""
            return True
        self.complaint = ""
        if self.type_in and not self.answer.key(key) and key.isdigit():
            self.answer.insert(key)
        return True

    def lines(self, cells: int, manner: Manner, most: int = 100) -> list[Line]:
        """The question as a box of at most so many lines: what is asked and how to answer are never left out."""
        self.seen = True
        draw = manner.glyph
        inner = cells - 6
        title = clip_spans((Span(f" {self.title} ", "watch", True),), inner, manner.cut)
        fill = draw("─") * max(0, cells - 5 - width(title))
        top = joined(" ", Span(draw("╭") + draw("─"), "watch"), title, Span(fill + draw("╮"), "watch"), " ")
        bottom = joined(" ", Span(draw("╰") + draw("─") * (cells - 4) + draw("╯"), "watch"), " ")
        side = Span(draw("│"), "watch")
        body = [*self._inside(inner, max(0, most - 3), manner), self._how(inner, manner)]
        middle = [joined(" ", side, " ", padded(spans, inner, mark=manner.cut), " ", side, " ") for spans in body]
        return [Line(spans, "panel") for spans in (top, *middle, bottom)]

    def _inside(self, cells: int, room: int, manner: Manner) -> list[Spans]:
        """What it says in so many cells and lines."""
        return [part for spans in self.said for part in _fitted(spans, cells, manner)][:room]

    def _how(self, cells: int, manner: Manner) -> Spans:
        keep = joined(Span("Esc", "accent", True), Span(" keep as is", "muted"))
        enter = Span(manner.glyph("⏎"), "accent", True)
        if not self.type_in:
            return spread(joined(enter, Span(f" {self.verb}", "text")), keep, cells, manner.cut)
        ask = joined("type ", Span(self.type_in, "text", True), " and ", enter, f" to {self.verb}   ")
        return spread(joined(ask, self.answer.spans(), Span(f"  {self.complaint}", "wrong")), keep, cells, manner.cut)


@dataclass
class Blank(Question):
    """A question whose answer is a word; then makes what follows of it, or says in a text what is wrong with it.

    enter: what Enter does.
    """

    then: Callable[[str], Effect | Question | str] = str
    enter: str = "next"

    def press(self, key: str) -> Effect | Question | bool:
        """As Question.press; every character is typed."""
        if key in ("escape", "ctrl+c"):
            return False
        if key == "enter":
            following = self.then(self.answer.text.strip())
            if not isinstance(following, str):
                return following
            self.complaint = following
        elif self.answer.type(key):
            self.complaint = ""
        return True

    def _how(self, cells: int, manner: Manner) -> Spans:
        ask = joined(Span(f"{self.verb}: ", "text"), self.answer.spans(), Span(f"  {self.complaint}", "wrong"))
        enter = joined(Span(manner.glyph("⏎"), "accent", True), Span(f" {self.enter}   ", "muted"))
        keep = joined(Span("Esc", "accent", True), Span(" keep as is", "muted"))
        return spread(ask, joined(enter, keep), cells, manner.cut)


def _fitted(spans: Spans, cells: int, manner: Manner) -> list[Spans]:
    """A sentence of one span is wrapped; of several, each stays whole and goes to the next line where it must."""
    if len(spans) == 1:
        return [(spans[0]._replace(text=text),) for text in wrapped(spans[0].text, cells)]
    rows: list[list[Span]] = [[]]
    for span in spans:
        if rows[-1] and width([*rows[-1], span._replace(text=span.text.rstrip())]) > cells:
            rows.append([])
            span = span._replace(text=span.text.lstrip())
        rows[-1].append(span)
    return [clip_spans(tuple(row), cells, manner.cut) for row in rows]


def about_tasks(order: Order, tasks: Sequence[TaskRow], manner: Manner) -> Question | Say:
    """The question before an action on these tasks, or why there is nothing to ask."""
    action = order.action
    fit = [task for task in tasks if ineligible(action, task) is None]
    unfit = [task for task in tasks if ineligible(action, task) is not None]
    if not fit:
        *most, last = sorted(RULES[action].eligible)
        eligible = f"{', '.join(most)} or {last}" if most else last
        return Say(f"nothing to {action.verb}: {_reasons(action, unfit)}; it has to be {eligible}", "watch")
    cost = total(task.cost.per(max(1, task.attempt)) for task in fit)
    statuses = Counter(str(task.status) for task in fit)
    said = [_sample(fit, manner), *_counted(statuses), *_effect(order, len(fit), cost, manner)]
    if unfit:
        said.append((Span(f"not included: {_reasons(action, unfit)}", "watch"),))
    return Question(
        title=f"{action.verb.capitalize()} {_what(statuses, len(fit))}{_to(order)}",
        said=tuple(said),
        verb=action.verb,
        effect=Act(order, tuple(Target(task.id, task.version) for task in fit)),
        type_in=str(len(fit)) if must_be_typed(action, len(fit), cost) else "",
    )


def about_all(asked: Price, scope: Scope, manner: Manner) -> Question | Say:
    """The question before an action on all that match, or why there is nothing to ask."""
    action = asked.order.action
    typed = safe(asked.typed.strip()) or "no filter"
    came = (
        "1 that came since the list was drawn is"
        if scope.newcomers == 1
        else (f"{words.count(scope.newcomers)} that came since the list was drawn are")
    )
    if not scope.count:
        why = f": {came} not included" if scope.newcomers else ""
        return Say(f"nothing to {action.verb} matches {typed}{why}", "watch")
    count = scope.count
    left = count - len(scope.sample[:SAMPLE])
    verb = action.verb.capitalize() + (" all" if count > 1 else "")
    said = [
        joined(Span(f"{typed}   ", "text", True), *_meaning(asked), *_others(action, scope), _as_of(scope, manner)),
        joined(*(Span(f"{task_id}   ", "link") for task_id in scope.sample[:SAMPLE]), _more(left)),
        *_counted(scope.statuses),
        *_effect(asked.order, count, scope.cost, manner),
    ]
    if scope.newcomers:
        said.append((Span(f"{came} not included", "watch"),))
    return Question(
        title=f"{verb} {_what(scope.statuses, count)}{_to(asked.order)}",
        said=tuple(said),
        verb=action.verb,
        effect=ActOnAll(asked.order, asked.matching, count),
        type_in=str(count) if not asked.typed.strip() or must_be_typed(action, count, scope.cost) else "",
    )


def about_argument(action: Action, then: Callable[[Order], Effect | Question]) -> Question:
    """The question where to move tasks, or which priority to give them; then says what follows."""

    def read(typed: str) -> Effect | Question | str:
        if action is Action.PRIORITY:
            return then(Order(action, int(typed))) if typed in ("0", "1", "2", "3", "4") else "use 0 to 4"
        return then(Order(action, typed)) if 1 <= len(typed) <= 200 else "name a queue"

    title = "Which priority?" if action is Action.PRIORITY else "Move to which queue?"
    said = "0 is the most urgent, 4 the least" if action is Action.PRIORITY else "a new name makes a new queue"
    name = "priority" if action is Action.PRIORITY else "queue"
    return Blank(title, ((Span(said, "muted"),),), name, Say(""), then=read)


def about_id() -> Question:
    """The question which task to open."""

    def read(typed: str) -> Effect | str:
        digits = typed.removeprefix("#")
        return Open(int(digits)) if digits.isdecimal() and len(digits) < 19 else "a task's id is a number"

    said = (Span("its number, as in the column ID", "muted"),)
    return Blank("Open which task?", (said,), "id", Say(""), then=read, enter="open")


def about_undo(operation: Operation, now: datetime | None) -> Question:
    """The question before an operation is taken back; now by the database's clock, None where it has not told."""
    done = operation.done
    ago = f", {coarse((now - operation.at).total_seconds())} ago" if now is not None else ""
    aimed = safe(f" {operation.aim}".rstrip())
    change = "change" if operation.action is Action.PRIORITY else operation.action
    title = f"Undo operation {operation.id}: {change} of {words.count(done)} {_tasks(done)}{aimed}{ago}"
    return Question(title, (_does(Order(Action.UNDO), done),), "undo", Undo(operation.id))


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


def _effect(order: Order, count: int, cost: Money, manner: Manner) -> list[Spans]:
    said: list[Spans] = [_does(order, count)]
    if cost.calls:
        whose = "their last attempts" if count > 1 else "its last attempt"
        said.append(joined(Span(f"{whose} cost about ", "muted"), Span(manner.money(cost), "money")))
    return said


def _does(order: Order, count: int) -> Spans:
    return (Span(("each " if count > 1 else "") + safe(effect_of(order)), "muted"),)


def _meaning(asked: Price) -> Spans:
    """What a filter that begins with a saved view's name stands for."""
    if not asked.typed.strip().startswith("@"):
        return ()
    return (Span(safe(filters.words(asked.matching.task_filter)) + "   ", "text"),)


def _others(action: Action, scope: Scope) -> Spans:
    """What could be acted on as well but does not match, in whichever of the action's statuses it is."""
    if not scope.others:
        return ()
    others = f"{words.count(scope.others)} other {_tasks(scope.others)} that could be {RULES[action].past}"
    stay = "stays as it is" if scope.others == 1 else "stay as they are"
    return (Span(f"{others} {stay}   ", "muted"),)


def _as_of(scope: Scope, manner: Manner) -> Span:
    return Span(f"as of {manner.clock(scope.at)}", "muted")


def _to(order: Order) -> str:
    return safe(f" {aim(order.action, order.argument)}".rstrip())


def _tasks(count: int) -> str:
    return "task" if count == 1 else "tasks"


def _what(statuses: Mapping[str, int], count: int) -> str:
    """How many of what: '2 failed tasks', '5 tasks' where they stand differently."""
    status = f"{next(iter(statuses))} " if len(statuses) == 1 else ""
    return f"{words.count(count)} {status}{_tasks(count)}"


def _counted(statuses: Mapping[str, int]) -> list[Spans]:
    """How many in which status, where there is more than one."""
    if len(statuses) < 2:
        return []
    most_first = sorted(statuses.items(), key=lambda item: (-item[1], item[0]))
    return [(Span(", ".join(f"{words.count(n)} {status}" for status, n in most_first), "text"),)]


def _sample(tasks: Sequence[TaskRow], manner: Manner) -> Spans:
    shown = [Span(f"{task.id} {clip(safe(task.crew), 20, manner.cut)}   ", "link") for task in tasks[:SAMPLE]]
    return joined(*shown, _more(len(tasks) - len(shown)))


def _more(count: int) -> Span:
    return Span(f"and {words.count(count)} more" if count else "", "muted")


def _reasons(action: Action, tasks: Sequence[TaskRow]) -> str:
    """Why an action does not fit tasks: '2 completed (47790, 47788), 40 waiting'."""
    by_reason: dict[str, list[int]] = defaultdict(list)
    for task in tasks:
        by_reason[ineligible(action, task) or ""].append(task.id)
    parts = []
    for reason, ids in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        named = f" ({', '.join(map(str, ids))})" if len(ids) <= NAMED else ""
        parts.append(f"{words.count(len(ids))} {reason}{named}")
    return ", ".join(parts)
