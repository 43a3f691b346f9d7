"""The states that a screen may be in, posed without a terminal, and written down as text: frames that a diff can show.

Below the frame stands, for each line, in which style so many cells of it are, and below that what the styles are.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import chain, groupby
from string import ascii_letters
from typing import Any

from rich.cells import cell_len

from crewtop.tui import theme
from crewtop.tui.effects import Price
from crewtop.tui.look import Colours, Look
from crewtop.tui.options import ScreenOptions
from crewtop.tui.paint import Line
from crewtop.tui.session import Session
from crewtop.tui.views.tasks import MOST, PAGE
from crewtop.tui.wants import ask
from tests.tui.fixtures import EMPTY, INCIDENT, Shop, many

SIZES = ((60, 20), (80, 24), (120, 40), (200, 50))
DRESSES: dict[str, tuple[str, Colours]] = {
    "dark": ("crewtop-dark", "true"),
    "light": ("crewtop-light", "true"),
    "no-colour": ("crewtop-dark", "none"),
    "ascii": ("crewtop-dark", "16"),
}


@dataclass(frozen=True)
class State:
    """keys lead from the overview to the view in which the state matters; then, if given, happens at the end."""

    keys: tuple[str, ...] = ()
    shop: Callable[[], Shop] = Shop
    options: dict[str, Any] = field(default_factory=dict)
    then: Callable[[Session], None] | None = None

    def posed(self, ascii_only: bool) -> Session:
        """A session in that state."""
        shop = self.shop()
        session = Session(ScreenOptions(ascii=ascii_only, **self.options), clock=lambda: 0.0)
        session.take(at_once(shop.snapshot()))
        for key in self.keys:
            if isinstance(effect := session.press(key), Price):
                session.priced(effect, shop.scope)
            if (want := session.page.want) is not None:
                session.page.answer(want, at_once(ask(shop, want)))
        if self.then is not None:
            self.then(session)
        return session


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that waits for nothing comes to."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


def _silent(session: Session) -> None:
    session.fail("postgres: connection refused by db1:5432")


STATES = {
    "empty": State(shop=lambda: Shop(now=EMPTY, rows=())),
    "busy": State(),
    "incident": State(shop=lambda: Shop(now=INCIDENT)),
    "stale": State(("2", "down"), then=_silent),
    "read-only": State(("2", "down"), options={"read_only": True}),
    "confirm": State(("2", "/", *"status:failed", "enter", "A", "R")),
    "5000-marked": State(("2", *["end"] * (MOST // PAGE), "*"), shop=lambda: Shop(rows=many(MOST + PAGE))),
}


def written(lines: list[Line], width: int, look: Look) -> str:
    """A frame as text."""
    letters: dict[str, str] = {}
    runs = []
    for number, line in enumerate(lines, start=1):
        ends = look.style("text", False, line.ground, False)
        cells = [(str(look.of(span, line.ground, line.dim)), cell_len(span.text)) for span in line.spans]
        cells.append((str(ends), width - sum(size for _, size in cells)))
        alike = ((style, sum(size for _, size in same)) for style, same in groupby(cells, key=lambda cell: cell[0]))
        names = ascii_letters
        runs.append(
            f"{number}: "
            + " ".join(f"{letters.setdefault(style, names[len(letters)])}{size}" for style, size in alike if size)
        )
    rule = "-" * width
    styles = (f"{letter}: {style}" for style, letter in letters.items())
    return "\n".join(chain((line.text.rstrip() for line in lines), (rule,), runs, (rule,), styles, ("",)))


def look_of(dress: str) -> Look:
    """A dress as the terminal wears it."""
    name, colours = DRESSES[dress]
    return Look(theme.load(None)[0][name], colours)
