"""From roles to the styles of a terminal: true colour, 256, 16, or none at all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Literal

from rich._palettes import EIGHT_BIT_PALETTE
from rich.color import Color, ColorSystem
from rich.style import Style

from crewtop.tui.paint import Ground, Role, Span
from crewtop.tui.theme import Theme

Colours = Literal["true", "256", "16", "none"]
"""What the terminal can show."""

_ANSI: dict[Role, Style] = {
    "text": Style(),
    "muted": Style(dim=True),
    "faint": Style(dim=True),
    "accent": Style(color="cyan"),
    "link": Style(color="blue"),
    "wrong": Style(color="red"),
    "watch": Style(color="yellow"),
    "moving": Style(color="green"),
    "waiting": Style(color="blue"),
    "money": Style(color="magenta"),
    "frame": Style(dim=True),
    "badge": Style(reverse=True),
}
_PLAIN: dict[Role, Style] = {
    "muted": Style(dim=True),
    "faint": Style(dim=True),
    "wrong": Style(bold=True),
    "watch": Style(bold=True),
    "frame": Style(dim=True),
    "badge": Style(reverse=True),
}


def colours_of(environment: Mapping[str, str], wanted: str) -> Colours:
    """What to send: wanted is 'auto', '16' or 'none'.

    auto follows NO_COLOR (https://no-color.org), COLORTERM and TERM.
    """
    if wanted == "none" or (wanted == "auto" and environment.get("NO_COLOR")):
        return "none"
    if wanted == "16":
        return "16"
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "true"
    terminal = environment.get("TERM", "")
    if terminal in ("dumb", "unknown", ""):
        return "none"
    return "256" if "256" in terminal or terminal.startswith("xterm-kitty") else "16"


class Look:
    """A theme on a terminal of certain abilities."""

    def __init__(self, theme: Theme, colours: Colours) -> None:
        self.theme = theme
        self.colours = colours
        self._palette = {key: nearest_256(value) if colours == "256" else value for key, value in theme.colours.items()}
        self._palette["badge"] = self._palette.get("frame", self._palette["accent"])
        self._palette.setdefault("frame", self._palette["faint"])
        self._ansi = _ANSI | (_framed(theme.colours["frame"]) if "frame" in theme.colours else {})
        self.style = lru_cache(maxsize=None)(self._style)

    @property
    def ground(self) -> str | None:
        """The colour behind everything, or None for the terminal's own."""
        return None if self.colours in ("16", "none") else self._palette["ground"]

    def of(self, span: Span, ground: Ground, dim: bool) -> Style:
        """The style of a span on a ground; dim for data that may be stale."""
        style: Style = self.style(span.role, span.strong, ground, dim)
        return style

    def _style(self, role: Role, strong: bool, ground: Ground, dim: bool) -> Style:
        if self.colours in ("16", "none"):
            table = self._ansi if self.colours == "16" else _PLAIN
            style = table.get(role, Style()) + Style(bold=strong or None, dim=dim or None)
            return style + Style(reverse=True, dim=False) if ground == "cursor" else style
        behind = self._palette[ground]
        if role == "badge":
            behind, front = self._palette["badge"], self._palette["ground"]
        else:
            front = self._palette[role]
        if dim:
            front = _blend(front, behind)
            front = nearest_256(front) if self.colours == "256" else front
        return Style(color=front, bgcolor=behind, bold=strong or None)


def _framed(colour: str) -> dict[Role, Style]:
    """What a theme's own frame is in 16 colours."""
    named = Color.parse(colour).downgrade(ColorSystem.STANDARD)
    return {"frame": Style(color=named), "badge": Style(color=named, reverse=True)}


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _blend(front: str, behind: str) -> str:
    mixed = (round(f * 0.5 + b * 0.5) for f, b in zip(_parts(front), _parts(behind), strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


@cache
def nearest_256(colour: str) -> str:
    """The colour of the xterm palette (16 to 255) that is nearest to '#rrggbb'.

    Distance is weighted by the mean red as in https://www.compuphase.com/cmetric.htm; Rich's own choice turns dark
    greys with a tint into black or navy.
    """
    red, green, blue = _parts(colour)

    def distance(number: int) -> float:
        r, g, b = EIGHT_BIT_PALETTE[number]
        mean = (red + r) / 2
        return (2 + mean / 256) * (red - r) ** 2 + 4 * (green - g) ** 2 + (2 + (255 - mean) / 256) * (blue - b) ** 2

    r, g, b = EIGHT_BIT_PALETTE[min(range(16, 256), key=distance)]
    return f"#{r:02x}{g:02x}{b:02x}"
