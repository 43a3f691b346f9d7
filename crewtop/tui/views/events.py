"""What happens, as it happens: changes of tasks and lines of their output, and news of stores, workers and queues."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from crewtop import words
from crewtop.model.live import Happening, Happenings, LogLine, Transition
from crewtop.model.snapshot import Snapshot
from crewtop.tui.actions import View
from crewtop.tui.columns import fit, heading
from crewtop.tui.edit import LineEdit
from crewtop.tui.effects import Copy, Effect, Say
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import BLANK, Ground, Line, Part, Span, Spans, bar, joined, line, spread
from crewtop.tui.selection import Selection
from crewtop.tui.views.cells import lead, moved
from crewtop.tui.views.eventrows import EVENT_COLUMNS, Event, Wanted, event_line, name, opened, searchable
from crewtop.tui.views.news import News, news
from crewtop.tui.views.page import Page
from crewtop.tui.wants import LiveEvents, Stream

MOST = 5_000
"""Events that are kept: the newest."""


class Kept(NamedTuple):
    """An event with its place: clocks of several servers are in it, so not every one comes in the order of its time.

    text: what words of a filter are looked for in.
    """

    at: datetime
    number: int
    event: Event
    text: str


class Events(Page):
    """State of the view: the events, the filter, the cursor; a list that is held still while the operator reads."""

    kind = View.EVENTS
    columns = EVENT_COLUMNS

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner)
        self.selection: Selection[int] = Selection()
        self._logs = False
        self._wanted = Wanted("")
        self._note: str | None = None
        self._kept: list[Kept] = []
        self._shown: list[Kept] = []
        self._held: list[Kept] | None = None
        self._new = 0
        self._number = 0
        self._lost = 0
        self._full = False
        self._first_row = 0
        self._moved = True
        self._latest: Snapshot | None = None

    # What comes

    @property
    def stream(self) -> Stream:
        """What happens, with lines of output if they are shown."""
        return LiveEvents(self._logs)

    def take(self, snapshot: Snapshot) -> None:
        """Tell what is new in a snapshot. Pictures of the past hold no news."""
        self.snapshot = snapshot
        before = self._latest
        if before is not None and snapshot.at <= before.at:
            return
        if before is not None:
            self._add(news(before, snapshot))
        if before is None or snapshot.postgres.up:
            self._latest = snapshot
        else:  # the rest of such a picture may be empty, and what comes after the outage is compared with before
            self._latest = replace(before, at=snapshot.at, postgres=snapshot.postgres, redis=snapshot.redis)

    def told(self, stream: Stream, item: Any) -> None:
        """More of what happened."""
        happenings: Happenings = item
        self._note = happenings.note
        self._lost += happenings.lost
        fresh: list[Event] = []
        if self._lost and happenings.items:
            fresh.append(_left_out(self._lost, happenings.items[0].at))
            self._lost = 0
        fresh += [event for event in happenings.items if not self._is_known(event)]
        self._add(fresh)

    def _is_known(self, event: Happening) -> bool:
        """Whoever follows anew is told the newest changes again."""
        if not isinstance(event, Transition):
            return False
        since = takewhile(lambda kept: kept.at >= event.at, reversed(self._kept))
        return any(_same(kept.event, event) for kept in since)

    def _add(self, events: Iterable[Event]) -> None:
        for event in events:
            self._number += 1
            kept = Kept(event.at, self._number, event, searchable(event))
            insort(self._kept, kept, key=_place)
            if self._is_wanted(kept):
                self._new += 1
                if self._held is None:
                    insort(self._shown, kept, key=_place)
                    self._moved = True
        gone = len(self._kept) - MOST
        if gone > 0:
            self._full = True
            del self._kept[:gone]
            if self._held is None:
                del self._shown[: bisect_left(self._shown, _place(self._kept[0]), key=_place)]

    # The list

    def _is_wanted(self, kept: Kept) -> bool:
        return (self._logs or not isinstance(kept.event, LogLine)) and self._wanted(kept.event, kept.text)

    def _show(self) -> None:
        """Choose anew what is shown, after another filter or another end of the list."""
        everything = self._kept if self._held is None else self._held
        self._shown = [kept for kept in everything if self._is_wanted(kept)]
        self._moved = True

    def _settle(self) -> None:
        """Let the cursor know the list; it is at the end of one that goes on."""
        if self._moved:
            self.selection.update([kept.number for kept in self._shown])
            if self._held is None:
                self.selection.place(len(self._shown) - 1)
            self._moved = False

    def _hold(self) -> None:
        if self._held is None:
            self._settle()
            self._held, self._new = list(self._kept), 0

    def _go_on(self) -> None:
        self._held = None
        self._show()

    def narrow(self, typed: str) -> None:
        """Show only what a filter wants."""
        self.typed, self._wanted = typed, Wanted(typed)
        self._show()

    @property
    def at_rest(self) -> bool:
        """Whether Esc has nothing left to drop here."""
        return not self.typed and self._held is None

    # Keys

    def do(self, command: str, height: int) -> Effect | None:
        """Obey a command."""
        self._settle()
        if command == "last":
            self._go_on()
        elif command in ("up", "page_up", "first", "down", "page_down"):
            if command in ("up", "page_up", "first"):
                self._hold()
            moved(self.selection, command, height)
        elif command in ("open", "copy"):
            return self._on_current(command)
        else:
            self._choose(command)
        return None

    def _choose(self, command: str) -> None:
        match command:
            case "hold" if self._held is None:
                self._hold()
            case "hold":
                self._go_on()
            case "filter":
                self.edit = LineEdit(self.typed, len(self.typed))
            case "log_lines":
                self._logs = not self._logs
                self._show()
            case "back" if self.typed:
                self.narrow("")
            case "back":
                self._go_on()

    def _on_current(self, command: str) -> Effect:
        place = self.selection.position
        if self.selection.current is None or place >= len(self._shown):
            return Say("no event is under the cursor: choose one")
        event = self._shown[place].event
        return opened(event) if command == "open" else Copy(name(event))

    def click(self, y: int) -> Effect | None:
        """The list is held still and the cursor goes to the event; on its own line it opens."""
        if y < self._first_row:
            return None
        self._hold()
        return self._on_current("open") if self.selection.click(y - self._first_row) else None

    def press(self, key: str) -> Effect | None:
        """A key while the filter is being typed."""
        assert self.edit is not None
        if key == "enter":
            self.narrow(self.edit.text.strip())
            self.edit = None
        elif key in ("escape", "ctrl+c"):
            self.edit = None
        else:
            self.edit.type(key)
        return None

    # The picture

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines: of the events only those in sight are looked at."""
        self._settle()
        head = [self._head(width), *([BLANK] if height >= 12 else [])]
        if not self._shown:
            return [*head, line("  ", Span(self._nothing(), "muted"))]
        fitted = fit(EVENT_COLUMNS, width - 3)
        drawn = [*head, heading(fitted, "  ")]
        self._first_row = len(drawn)
        for index in self.selection.window(height - len(drawn)):
            kept = self._shown[index]
            on = kept.number == self.selection.current
            ground: Ground = "cursor" if on else "ground"
            drawn.append(event_line(kept.event, fitted, width - 3, ground, lead(on, self.manner), self.manner))
        return drawn

    def _nothing(self) -> str:
        if self.typed and self._kept:
            return f"No event matches. {self.manner.key('back')} drops the filter."
        return "Nothing has happened since this screen began."

    def _head(self, width: int) -> Line:
        right = self._right(width)
        if self.edit is not None:
            hint = () if self.edit.text else (Span("  crew:NAME queue:NAME status:failed words", "faint"),)
            return Line(spread(joined("  ", Span("/ ", "accent", True), self.edit.spans(), hint), right, width))
        everything = "all events and output" if self._logs else "all events"
        said = Span(safe(self.typed), "text", True) if self.typed else Span(everything, "muted")
        return Line(spread(joined("  ", Span("/ ", "accent"), said), right, width, self.manner.cut))

    def _right(self, width: int) -> Spans:
        parts = []
        if self._held is not None:
            new = f", {words.count(self._new)} new" if self._new else ""
            parts.append(Part(0, (Span(f"paused{new}", "watch", True),)))
        if self._full:
            parts.append(Part(2, (Span(f"the newest {words.count(MOST)}", "muted"),)))
        if self._note is not None:
            parts.append(Part(1, (Span(safe(self._note), "watch"),)))
        return joined(bar(parts, width - 16), " ")


def _same(known: Event, event: Transition) -> bool:
    """Of one change others may be told less at another time, such as the task's queue."""
    return isinstance(known, Transition) and (known.at, known.task_id, known.new_status) == (
        event.at, event.task_id, event.new_status,
    )  # fmt: skip


def _place(kept: Kept) -> tuple[datetime, int]:
    return kept.at, kept.number


def _left_out(changes: int, at: datetime) -> News:
    told = f"{words.count(changes)} before this were not told: too many at once"
    return News(at, "changes", "left out", told, "watch", Say("what was not told here is in the tasks' histories"))
