"""The lines of the event list, and what a filter over it means."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop import words
from crewtop.model.live import DELETED, UNKNOWN, Happening, LogLine, Transition
from crewtop.tui.columns import GAP, Cell, Column, Fitted, row
from crewtop.tui.effects import Effect, Open
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import Ground, Line, Span, Spans, joined, padded
from crewtop.tui.views.cells import STATUS_ROLES, said
from crewtop.tui.views.news import News

Event = Happening | News

EVENT_COLUMNS = (
    Column("TIME", 8, 1, about="When it was told, to the second"),
    Column("TASK", 8, right=True, most=12, about="The task; Enter opens it"),
    Column("CREW", 10, 3, most=20, about="The crew that runs it"),
    Column("QUEUE", 8, 5, most=16, about="The queue that it is in"),
    Column("CHANGE", 22, most=30, about="Its status before and after; 'new' is one that was put in just now"),
    Column("BY", 10, 4, most=24, about="The worker or the operator that did it, or the producer"),
    Column("REASON", 12, 2, most=400, grow=6, about="Why, such as the error"),
)

_LONGEST_LINE = 1_000
"""Characters of a line of output that are drawn, and searched."""

_KEYS = ("crew", "queue", "status")


class Wanted:
    """What was typed to narrow the list: words that must all be there, and key:value for crew, queue and status."""

    def __init__(self, typed: str) -> None:
        self._fields: list[tuple[str, str]] = []
        self._words: list[str] = []
        for word in typed.split():
            key, _, value = word.partition(":")
            if key in _KEYS and value:
                self._fields.append((key, value))
            else:
                self._words.append(word.lower())

    def __call__(self, event: Event, text: str) -> bool:
        """Whether an event is wanted; text is its searchable one."""
        if any(value not in _values(event, key) for key, value in self._fields):
            return False
        return all(word in text for word in self._words)


def _values(event: Event, key: str) -> tuple[str | None, ...]:
    match event, key:
        case Transition(), "status":
            return event.old_status, event.new_status
        case Transition(), "queue":
            return (event.queue,)
        case Transition() | LogLine(), "crew":
            return (event.crew,)
        case News(), "queue":
            return (event.name,)
    return ()


def searchable(event: Event) -> str:
    """What words are looked for in, in small letters: masked, or a secret could be found by guessing at it.

    Takes about 0.1 ms: not to be worked out for thousands of events at once.
    """
    return safe(_text(event)).lower()


def _text(event: Event) -> str:
    match event:
        case Transition():
            change = f"{event.old_status or 'new'} {event.new_status} {event.actor} {event.reason or ''}"
            return f"{event.task_id} {event.crew} {event.queue} {change}"
        case LogLine():
            return f"{event.task_id} {event.crew} {event.text[:_LONGEST_LINE]}"
        case News():
            return f"{event.kind} {event.name} {event.words}"


def opened(event: Event) -> Effect:
    """Where Enter leads."""
    return event.opens if isinstance(event, News) else Open(event.task_id)


def name(event: Event) -> str:
    """What is copied: the task's id, or the name of what it happened to."""
    return safe(event.name) if isinstance(event, News) else str(event.task_id)


def event_line(event: Event, fitted: Sequence[Fitted], cells: int, ground: Ground, edge: Spans, manner: Manner) -> Line:
    """An event in so many cells behind its edge."""
    if isinstance(event, Transition):
        return row(fitted, _cells(event, manner), ground, edge, manner.cut)
    time = _time(event, manner)
    known: list[Cell] = [time]
    if isinstance(event, News):
        text = _news(event, manner)
    else:
        text = (data(event.text[:_LONGEST_LINE], "muted"),)
        known += [Span(str(event.task_id), "link"), data(event.crew, "muted")]
    columns = [column for column in fitted if column.place < len(known)]
    left = row(columns, known, ground, edge, manner.cut)
    gap = Span(" " * GAP if columns else "")
    room = cells - sum(column.cells + GAP for column in columns)
    return Line((*left.spans, gap, *padded(text, max(0, room), mark=manner.cut)), ground)


def _cells(event: Transition, manner: Manner) -> list[Cell]:
    return [
        _time(event, manner),
        Span(str(event.task_id), "link"),
        said(_known(event.crew)),
        said(_known(event.queue), "muted"),
        _change(event, manner),
        data(_by(event.actor), "muted"),
        data(event.reason or "", "wrong" if event.new_status == "failed" else "text"),
    ]


def _time(event: Event, manner: Manner) -> Span:
    """Without its zone, which the header tells."""
    return Span(manner.clock(event.at)[:8], "muted")


def _known(text: str) -> str:
    return words.NOTHING if text == UNKNOWN else safe(text)


def _change(event: Transition, manner: Manner) -> Spans:
    new, old = event.new_status, event.old_status
    many = Span(f"{words.count(event.count)} " if event.count > 1 else "", "text", True)
    role = STATUS_ROLES.get(new, "text")
    if new == DELETED:
        after = Span(new, "watch")
    elif new in STATUS_ROLES:
        after = Span(manner.status(new), role)
    else:
        after = data(new)
    if old == new:
        return joined(many, after, Span(", changed", "muted"))
    before = "new" if old is None else "" if old == UNKNOWN else safe(old)
    return joined(many, Span(f"{before} {manner.glyph('→')} ".lstrip(), "muted"), after)


def _by(actor: str) -> str:
    return actor.removeprefix("worker:").removeprefix("operator:")


def _news(event: News, manner: Manner) -> Spans:
    sign = manner.glyph("▲" if event.role in ("wrong", "watch") else "·")
    return joined(
        Span(f"{sign} ", event.role),
        Span(f"{event.kind} ", "muted"),
        data(f"{event.name}: ", "text", True),
        data(event.words, event.role),
    )
