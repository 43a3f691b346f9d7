"""Textual's screen, made sparing: of a line that changed in part, that part alone is worked out and sent.

Textual is told which cells of a line changed, but composes all lines between the first and the last of them anew,
and sends all that is left of each: on a wide line of many colours ten times as much as has changed. It has no public
place to mend this in; the version in pyproject.toml is exact. Here one canvas covers the screen: nothing is composed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor
from textual.screen import Screen
from textual.widget import Widget

from crewtop.tui.canvas import Canvas, Piece


class SparingUpdate(ChopsUpdate):
    """Pieces of lines."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces

    def render_segments(self, console: Console) -> str:
        """What to write to the terminal."""
        sent: list[str] = []
        for piece in self._pieces:
            sent.append(Control.move_to(piece.x, piece.y).segment.text)
            sent += [style.render(text, color_system=console._color_system) for text, style in piece.words]
        return "".join(sent)


class SparingCompositor(Compositor):
    """Makes such updates where parts of the canvas changed."""

    def __init__(self, canvas: Canvas) -> None:
        super().__init__()
        self._canvas = canvas

    def render_partial_update(self) -> ChopsUpdate | None:
        """The changed pieces since the last update; None where there are none."""
        regions = self._dirty_regions.copy()
        self._dirty_regions.clear()
        if not regions:
            return None
        return SparingUpdate([self._canvas.piece(*span) for span in self._regions_to_spans(regions)])


class SparingScreen(Screen[None]):
    """The screen that the application puts its canvas on."""

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(id="_default")
        self._compositor = SparingCompositor(canvas)

    def set_focus(self, widget: Widget | None, *arguments: Any, **options: Any) -> None:
        """Leave the keys with who has them: a click beyond the edge, as of an older size, would take them from all."""
        if widget is not None:
            super().set_focus(widget, *arguments, **options)
