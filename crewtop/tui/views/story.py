"""A task's story on one page: the timeline, the LLM calls, and as much of input and output as fits below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from crewtop import words
from crewtop.model.detail import CallRow, TaskDetail
from crewtop.tui.columns import Cell, Column, Fitted, fit, heading, row
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import BLANK, Line, Role, Span, joined, line, padded
from crewtop.tui.selection import Selection
from crewtop.tui.views import timeline
from crewtop.tui.views.bars import Key
from crewtop.tui.views.cells import lead, moved, said
from crewtop.tui.views.timeline import Rows

CALL_COLUMNS = (
    Column("LLM CALLS", 12, most=30),
    Column("AGENT", 10, 4, most=24, grow=2),
    Column("IN", 7, 2, right=True, about="Tokens sent that no cache had"),
    Column("CACHED", 7, 3, right=True, about="Tokens sent that came out of the provider's cache"),
    Column("WRITTEN", 7, 8, right=True, about="Tokens sent that went into the provider's cache"),
    Column("OUT", 6, 2, right=True, about="Tokens of the answer, thinking among them"),
    Column("REASON", 6, 7, right=True, about="Those of OUT that are thinking"),
    Column("TOOK", 6, 1, right=True),
    Column("COST", 10, right=True),
    Column("OUTCOME", 12),
    Column("ERROR", 10, 5, most=80),
)

_OUTCOMES: dict[str, Role] = {"ok": "moving", "started": "watch", "rate_limited": "watch"}


class Story:
    """The page with its cursor. calls: whether the timeline shows LLM calls; None: where there is room."""

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self.calls: bool | None = None
        self._shows_calls = False
        self._selection: Selection[Key] = Selection()
        self._top = 0
        self._room = 1
        self._keys: list[Key | None] = []

    @property
    def under(self) -> Key | None:
        """What is under the cursor."""
        return self._selection.current

    def expand(self) -> None:
        """Show the calls in the timeline, or do not."""
        self.calls = not self._shows_calls

    def go(self, key: Key) -> None:
        """Put the cursor there, if it is on the page."""
        if key in self._selection.keys:
            self._selection.place(list(self._selection.keys).index(key))

    def click(self, row: int) -> bool:
        """Put the cursor on a line of the page; whether it was there."""
        key = self._keys[self._top + row] if self._top + row < len(self._keys) else None
        before = self.under
        if key is not None:
            self.go(key)
        return key is not None and key == before

    def scroll(self, command: str) -> bool:
        """Obey a command that moves; False if it is none."""
        return moved(self._selection, command, self._room)

    def lines(self, detail: TaskDetail, cells: int, room: int) -> list[Line]:
        """What of the page is in sight."""
        rows = self._rows(detail, cells, room)
        self._room = room
        self._keys = [key for key, _ in rows]
        self._selection.update([key for key in self._keys if key is not None])
        self._scroll_to_cursor(room)
        return [self._led(key, draw()) for key, draw in rows[self._top : self._top + room]]

    def _rows(self, detail: TaskDetail, cells: int, room: int) -> Rows:
        table = _calls(detail, cells, self.manner)
        with_calls = timeline.rows(detail, cells, self.manner, calls=True)
        self._shows_calls = len(with_calls) + len(table) < room if self.calls is None else self.calls
        bars = with_calls if self._shows_calls else timeline.rows(detail, cells, self.manner, calls=False)
        none = _told("No worker has claimed this task yet.")
        return [*(bars or none), (None, lambda: BLANK), *table]

    def _scroll_to_cursor(self, room: int) -> None:
        keys = self._keys
        under = self._selection.current
        place = keys.index(under) if under in keys and under is not None else 0
        first = place if any(key is not None for key in keys[:place]) else 0
        last = place if any(key is not None for key in keys[place + 1 :]) else len(keys) - 1
        self._top = min(self._top, first, max(0, len(keys) - room))
        self._top = min(max(self._top, last - room + 1), place)

    def _led(self, key: Key | None, drawn: Line) -> Line:
        on = key is not None and key == self._selection.current
        return Line((*lead(on, self.manner), *drawn.spans), "cursor" if on else drawn.ground)


def _calls(detail: TaskDetail, cells: int, manner: Manner) -> Rows:
    if not detail.calls:
        return _told("No LLM call yet.") if detail.runs else []
    any_error = any(call.error for call in detail.calls)
    fitted = fit(CALL_COLUMNS if any_error else CALL_COLUMNS[:-1], cells - 3)
    drawn: Rows = [(None, partial(heading, fitted))]
    for call in detail.calls:
        key = Key("call", call.run_id, call.call_id, table=True)
        drawn.append((key, partial(_call, fitted, call, detail, manner)))
    if detail.calls_total > len(detail.calls):
        drawn += _told(f"the newest {words.count(len(detail.calls))} of {words.count(detail.calls_total)} calls")
    return drawn


def _told(text: str) -> Rows:
    return [(None, lambda: line(Span(text, "muted")))]


def _call(fitted: Sequence[Fitted], call: CallRow, detail: TaskDetail, manner: Manner) -> Line:
    return row(fitted, _cells(call, detail, manner), "ground", (), manner.cut)


def _cells(call: CallRow, detail: TaskDetail, manner: Manner) -> list[Cell]:
    waiting = call.outcome == "started"
    seconds = (detail.at - call.started_at).total_seconds() if waiting else call.seconds
    return [
        data(call.model, "text", True),
        data(call.agent or "-", "muted"),
        _tokens(call.input_tokens, "text", waiting),
        _tokens(call.cache_read_tokens, "muted", waiting),
        _tokens(call.cache_write_tokens, "muted", waiting),
        _tokens(call.output_tokens, "text", waiting),
        _tokens(call.reasoning_tokens, "muted", waiting),
        said(words.duration(seconds), "watch" if waiting else "text"),
        said(manner.money(call.cost), "money"),
        _outcome(call, manner),
        data(call.error or "", "muted"),
    ]


def _tokens(number: int | None, role: Role, waiting: bool) -> Span:
    if number is None:
        return Span(words.NOTHING, "faint") if waiting else Span(words.UNKNOWN, "muted")
    return Span(words.compact(number), role if number else "faint")


def _outcome(call: CallRow, manner: Manner) -> Span:
    if call.outcome == "started":
        return Span(f"{words.glyph('started', ascii=manner.ascii_only)} waiting", "watch")
    return Span(manner.status(call.outcome), _OUTCOMES.get(call.outcome, "wrong"))


def beside(
    left: tuple[str, Sequence[str]], right: tuple[str, Sequence[str]], cells: int, height: int, manner: Manner
) -> list[Line]:
    """Two titled texts side by side; each row is cut, its own page has all of it."""
    half = (cells - 6) // 2
    drawn = [
        Line(joined("  ", padded((Span(left[0], "muted"),), half), "  ", padded((Span(right[0], "muted"),), half)))
    ]
    for i in range(min(height - 1, max(len(left[1]), len(right[1])))):
        texts = [part[1][i] if i < len(part[1]) else "" for part in (left, right)]
        pair = [padded((Span(text),), half, mark=manner.cut) for text in texts]
        drawn.append(Line(joined("  ", pair[0], "  ", pair[1])))
    return drawn
