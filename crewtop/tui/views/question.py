"""What is asked before anything is changed: ids, versions and costs are those of the moment of the key press."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from crewtop import words
from crewtop.model.money import total
from crewtop.model.operations import RULES, Action, Target
from crewtop.model.snapshot import TaskRow
from crewtop.tui.edit import LineEdit
from crewtop.tui.effects import Act, Drain, Effect, Say
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Line, Span, Spans, clip_spans, joined, padded, spread
from crewtop.tui.reading import wrapped

TYPED_ABOVE = 20
"""More tasks than this have to be confirmed by typing their number."""


@dataclass
class Question:
    """A question at the foot of the screen: a title, lines that say what will happen, and how to answer."""

    title: str
    said: tuple[Spans, ...]
    verb: str
    effect: Effect
    type_in: str = ""
    answer: LineEdit = field(default_factory=LineEdit)

    def press(self, key: str) -> Effect | bool:
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


def _fitted(spans: Spans, cells: int, manner: Manner) -> list[Spans]:
    """A sentence of one span is wrapped; figures are cut."""
    if len(spans) == 1:
        return [(spans[0]._replace(text=text),) for text in wrapped(spans[0].text, cells)]
    return [clip_spans(spans, cells, manner.cut)]


def about_tasks(action: Action, tasks: Sequence[TaskRow], manner: Manner) -> Question | Say:
    """The question before an action on these tasks, or why there is nothing to ask."""
    fit = [task for task in tasks if ineligible(action, task) is None]
    unfit = [task for task in tasks if ineligible(action, task) is not None]
    if not fit:
        return Say(f"nothing to {action}: {_reasons(action, unfit)}", "watch")
    what = f"{words.count(len(fit))} {_statuses(fit)} {'task' if len(fit) == 1 else 'tasks'}"
    return Question(
        title=f"{action.capitalize()} {what}",
        said=tuple(_said(action, fit, unfit, manner)),
        verb=action,
        effect=Act(action, tuple(Target(task.id, task.version) for task in fit)),
        type_in=str(len(fit)) if len(fit) > TYPED_ABOVE else "",
    )


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


def _said(action: Action, fit: Sequence[TaskRow], unfit: Sequence[TaskRow], manner: Manner) -> list[Spans]:
    said = [_sample(fit), (Span(RULES[action].effect, "muted"),)]
    spent = total(task.cost for task in fit)
    if spent.calls:
        said.append(joined(Span("cost so far ", "muted"), Span(manner.money(spent), "money")))
    if unfit:
        said.append((Span(f"not included: {_reasons(action, unfit)}", "watch"),))
    return said


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


def _statuses(tasks: Sequence[TaskRow]) -> str:
    names = sorted({str(task.status) for task in tasks})
    return " and ".join(names) if len(names) <= 2 else "selected"
