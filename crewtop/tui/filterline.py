"""The line that a filter is typed into: what may come next is offered below it, and earlier filters come back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from crewtop.model.completion import Completion, Names, complete
from crewtop.model.detail import TaskRow
from crewtop.model.filters import FilterError, TaskFilter, expand, parse
from crewtop.model.snapshot import Snapshot
from crewtop.tui.edit import LineEdit
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Line, Span, Spans, joined, line, padded, width
from crewtop.tui.reading import wrapped

OFFERED = 8
"""Offers that are in sight at once."""

_TEXT_CELLS = 30


class FilterLine(LineEdit):
    """tried: Enter was pressed, and what stands there is wrong; place: the offer that stands in the line for now.

    views are the saved filters. history holds earlier ones, the newest last; they are walked through until something
    is typed.
    """

    def __init__(self, text: str, names: Names, views: Mapping[str, str], history: Sequence[str]) -> None:
        super().__init__(text, len(text))
        self.tried = False
        self.place: int | None = None
        self._names, self._views, self._history = names, views, history
        self._typed, self._offered = (text, len(text)), ()  # type: tuple[str, int], Sequence[Completion]
        self._back: int | None = 0

    @property
    def offers(self) -> Sequence[Completion]:
        """What may come next; while one of them stands in the line, those that it was chosen from."""
        return self._offered if self.place is not None else complete(self.text, self.at, self._names)

    def insert(self, typed: str) -> None:
        """As LineEdit.insert."""
        self._settle()
        super().insert(typed)

    def key(self, key: str) -> bool:
        """As LineEdit.key; Tab and arrows go through the offers, Up and Down through history first."""
        match key:
            case "tab":
                self._choose(1)
            case "shift+tab":
                self._choose(-1)
            case "up":
                self._up()
            case "down":
                self._down()
            case _:
                self._settle()
                return super().key(key)
        return True

    def refuse(self) -> None:
        """Enter was pressed, but what stands in the line is no filter."""
        self._settle()
        self.tried = True

    def _settle(self) -> None:
        """What stands in the line now is what is typed."""
        self.place, self.tried, self._back = None, False, None

    def _choose(self, step: int) -> None:
        """Put the next offer into the line; the only one stays there, and what may follow it is offered."""
        offers = self.offers
        if not offers:
            return
        if self.place is None:
            self._typed, self._offered = (self.text, self.at), offers
        place = (self.place + step if self.place is not None else min(step, 0)) % len(offers)
        self._settle()
        self._put(offers[place])
        self.place = place if len(offers) > 1 else None

    def _put(self, offer: Completion) -> None:
        text, _ = self._typed
        self.text = text[: offer.start] + offer.text + text[offer.end :]
        self.at = offer.start + len(offer.text)

    def _up(self) -> None:
        if self.place == 0:
            self._settle()
            self.text, self.at = self._typed
        elif self.place is None and self._walk(1):
            return
        else:
            self._choose(-1)

    def _down(self) -> None:
        if self.place is not None or not self._walk(-1):
            self._choose(1)

    def _walk(self, step: int) -> bool:
        """Go back through history, or forward again; False where that is not what an arrow is for now."""
        if self._back is None and not self.text:
            self._back = 0
        if self._back is None or not 0 <= self._back + step <= len(self._history):
            return step > 0 and bool(self._back)  # above the oldest there is nothing
        if self._back == 0:
            self._typed = self.text, self.at
        self._back += step
        self.text = self._history[-self._back] if self._back else self._typed[0]
        self.at = len(self.text)
        return True

    def parsed(self) -> TaskFilter:
        """The filter that the line means. Raises FilterError."""
        return parse(expand(self.text, self._views))

    def hint(self, manner: Manner) -> Span:
        """What can be done where nothing is typed yet."""
        earlier = ", ↑ earlier filters" if self._history else ""
        return Span("" if self.text else manner.own(f"   Tab completes{earlier}"), "faint")

    def below(self, cells: int, manner: Manner) -> list[Line]:
        """What hangs from the line: what is wrong with it, and what may come next."""
        offers = self.offers
        try:
            self.parsed()
        except FilterError as error:
            # What is half typed is no mistake yet, as long as it can be completed.
            wrong = safe(str(error)) if self.tried or not offers else ""
            said = [line("    ", Span(text, "wrong"), ground="panel") for text in wrapped(wrong, cells - 8) if wrong]
        else:
            said = []
        return said + self._offers(offers, cells, manner)

    def _offers(self, offers: Sequence[Completion], cells: int, manner: Manner) -> list[Line]:
        """One a line, around the one that is chosen."""
        top = max(0, (self.place or 0) - OFFERED + 1)
        seen = offers[top : top + OFFERED]
        texts = min(_TEXT_CELLS, max((width([Span(offer.text)]) for offer in seen), default=0))
        rows = []
        for index, offer in enumerate(seen, top):
            on = index == self.place
            edge = Span(manner.glyph("▌") if on else " ", "accent")
            text = padded((Span(safe(offer.text), "text", on),), texts, mark=manner.cut)
            spans: Spans = joined("   ", edge, " ", text, "  ", Span(offer.help, "muted"))
            rows.append(Line(padded(spans, cells, mark=manner.cut), "cursor" if on else "panel"))
        return rows


def names_known(snapshot: Snapshot | None, rows: Collection[TaskRow], views: Iterable[str]) -> Names:
    """What is known by name from what was seen; a name that cannot be shown as it is cannot be typed either."""
    crews = {row.crew for row in rows}
    queues = {row.queue for row in rows}
    workers = {row.worker_id for row in rows if row.worker_id is not None}
    if snapshot is not None:
        crews |= {row.crew for row in snapshot.running}
        crews |= {crew for worker in snapshot.workers for crew in worker.crews or ()}
        queues |= {queue.name for queue in snapshot.queues}
        workers |= {worker.id for worker in snapshot.workers}
    return Names(_typable(crews), _typable(queues), _typable(workers), views=tuple(views))


def strangers(task_filter: TaskFilter, names: Names) -> list[str]:
    """A sentence for each crew and queue of a filter that is not among the names that are known, nor a pattern."""
    asked = (("crew", task_filter.crews, names.crews), ("queue", task_filter.queues, names.queues))
    return [
        _stranger(what, name, known)
        for what, wanted, known in asked
        for name in wanted
        if known and isinstance(name, str) and name not in known and safe(name) == name
    ]


def _stranger(what: str, name: str, known: Sequence[str]) -> str:
    meant = get_close_matches(name, known, 1, 0.6)
    return f"No {what} {name} is known here" + (f": did you mean {meant[0]}?" if meant else ".")


def _typable(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if safe(name) == name))
