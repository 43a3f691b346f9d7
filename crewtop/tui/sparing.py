"""Textual's screen, made sparing: of a line that changed in part, that part alone goes to the terminal.

Textual is told which cells of a line changed, but sends all that is left of them too, styles and all: on a wide line of
many colours that is ten times as much. It has no public place to mend this in; the version in pyproject.toml is exact.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor
from textual.screen import Screen
from textual.widget import Widget


class SparingUpdate(ChopsUpdate):
    """Spans of lines, each cut to where it begins and ends."""

    def render_segments(self, console: Console) -> str:
        """What to write to the terminal."""
        sent: list[str] = []
        for y, start, end in self.spans:
            for right, (left, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                begin, stop = max(left, start), min(right, end)
                if strip is not None and begin < stop:
                    sent.append(Control.move_to(begin, y).segment.text)
                    sent.append(strip.crop(begin - left, stop - left).render(console))
        return "".join(sent)


class SparingCompositor(Compositor):
    """Makes such updates where parts of the screen changed."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """The changed spans since the last update; None where there are none."""
        update = super().render_partial_update()
        return None if update is None else SparingUpdate(update.chops, update.spans, update.chop_ends)


class SparingScreen(Screen[None]):
    """The screen that the application puts its canvas on."""

    def __init__(self) -> None:
        super().__init__(id="_default")
        self._compositor = SparingCompositor()

    def set_focus(self, widget: Widget | None, *arguments: Any, **options: Any) -> None:
        """Leave the keys with who has them: a click beyond the edge, as of an older size, would take them from all."""
        if widget is not None:
            super().set_focus(widget, *arguments, **options)
