"""The one widget: it paints lines and sends to the terminal only what differs from what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from crewtop.tui.look import Look
from crewtop.tui.paint import BLANK, FILLER, Line, between, changes

WHEEL_LINES = 3


class Piece(NamedTuple):
    """Words in a row from cell x of line y on, each with the style that the terminal is sent."""

    x: int
    y: int
    words: list[tuple[str, Style]]


class Canvas(Widget, can_focus=True):
    """Paints what frame(width, height) returns; keys, pastes, the wheel and clicks go to the callbacks."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; background: transparent; }"
    ALLOW_SELECT = False

    def __init__(
        self,
        frame: Callable[[int, int], list[Line]],
        press: Callable[[str], None],
        paste: Callable[[str], None],
        click: Callable[[int], None],
        look: Look,
    ) -> None:
        super().__init__()
        self._frame, self._press, self._paste, self._click = frame, press, paste, click
        self._look = look
        self._lines: list[Line] = []
        self._filtered: dict[Style, Style] = {}

    def paint(self, look: Look | None = None) -> None:
        """Bring the screen up to date; a new look repaints all of it."""
        if look is not None:
            self._look = look
            self._filtered.clear()
        size = self.size
        if not size:
            return
        old, self._lines = self._lines, self._frame(size.width, size.height)[: size.height]
        if look is not None or len(old) != len(self._lines):
            self.refresh()
            return
        regions: list[Region] = []
        for y, (before, after) in enumerate(zip(old, self._lines, strict=True)):
            regions += [Region(start, y, end - start, 1) for start, end in changes(before, after, size.width)]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        """One line as Textual wants it."""
        line = self._line(y)
        style = self._look.of
        segments = [Segment(span.text, style(span, line.ground, line.dim)) for span in line.spans if span.text]
        return Strip(segments).adjust_cell_length(self.size.width, style(FILLER, line.ground, line.dim))

    def piece(self, y: int, start: int, end: int) -> Piece:
        """The words of a line that lie, in whole or in part, in cells start to end."""
        line = self._line(y)
        x, spans = between(line.spans, start, end)
        return Piece(x, y, [(span.text, self._sent(self._look.of(span, line.ground, line.dim))) for span in spans])

    def _line(self, y: int) -> Line:
        return self._lines[y] if y < len(self._lines) else BLANK

    def _sent(self, style: Style) -> Style:
        """A style as Textual's filters leave it: NO_COLOR is one of them."""
        sent = self._filtered.get(style)
        if sent is None:
            segments = [Segment(" ", style)]
            for line_filter in self.get_line_filters():
                segments = line_filter.apply(segments, self.background_colors[1])
            sent = self._filtered[style] = segments[0].style or Style()
        return sent

    def on_resize(self) -> None:
        """A new size is a new picture."""
        self._lines = []
        self.paint()

    def on_key(self, event: events.Key) -> None:
        """Printable keys by their character, the others by their name."""
        event.stop()
        event.prevent_default()
        character = event.character
        printable = character is not None and character.isprintable() and character != " "
        self._press(character if printable and character else event.key)

    def on_paste(self, event: events.Paste) -> None:
        """Pasted text is typed text, never keys: a paste cannot press R."""
        event.stop()
        self._paste(event.text)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        for _ in range(WHEEL_LINES):
            self._press("down")

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        for _ in range(WHEEL_LINES):
            self._press("up")

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A click is told by its line; other buttons are the terminal's."""
        event.stop()
        if event.button == 1:
            self._click(event.y)
