"""What is photographed: each picture is a screen of fixed data, a size, a dress and the keys that lead there.

`python -m tests.snapshots.pictures` writes the curated ones to screenshots/.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from crewtop.model.snapshot import Health
from crewtop.tui.app import CrewtopApp, build
from crewtop.tui.look import Colours
from crewtop.tui.options import ScreenOptions
from tests.tui.fixtures import BUSY, EMPTY, Shop, many, task, usd

SIZES = ((80, 24), (120, 40), (200, 50))
DRESSES: dict[str, tuple[str, Colours]] = {
    "dark": ("crewtop-dark", "true"),
    "light": ("crewtop-light", "true"),
    "no-colour": ("crewtop-dark", "none"),
}


@dataclass(frozen=True)
class Picture:
    """keys lead from the overview to what is to be seen; then, if given, happens before the shutter."""

    name: str
    size: tuple[int, int] = (120, 40)
    dress: str = "dark"
    keys: tuple[str, ...] = ()
    shop: Callable[[], Shop] = Shop
    options: dict[str, Any] = field(default_factory=dict)
    then: Callable[[CrewtopApp], None] | None = None

    def app(self) -> CrewtopApp:
        theme, colours = DRESSES.get(self.dress, (self.dress, "true"))
        options = ScreenOptions(theme=theme, interval=1.0, **self.options)
        return build(self.shop, options, colours=colours, clock=lambda: 0.0)

    async def pose(self, pilot: Pilot[int]) -> None:
        """Press the keys, waiting after each for what it asked for."""
        app = pilot.app
        assert isinstance(app, CrewtopApp)
        await settled(app, pilot)
        for key in self.keys:
            await pilot.press(key)
            await settled(app, pilot)
        if self.then is not None:
            self.then(app)
            app.canvas.paint()
            await pilot.pause()


async def settled(app: CrewtopApp, pilot: Pilot[int]) -> None:
    """Wait until the answers to everything that the screen wants to know are in."""
    for _ in range(500):
        await pilot.pause(0.01)
        session = app.session
        told = session.picture.shown is not None or session.picture.trouble is not None
        page = session.page
        listed = page.want is None or not page.loading or session.picture.trouble is not None
        heard = page.stream is None or app.heard == page.stream or session.picture.trouble is not None
        if told and listed and heard and page.job is None and app.answered:
            return
    raise AssertionError("the screen did not come to rest")


def typed(text: str) -> tuple[str, ...]:
    """Keys that type a text."""
    names = {":": "colon", " ": "space", "/": "slash", "_": "underscore"}
    return tuple(names.get(letter, letter) for letter in text)


DETAIL = ("2", *("down",) * 8, "enter")
VIEWS: dict[str, tuple[str, ...]] = {"overview": (), "tasks": ("2", "down"), "detail": DETAIL, "workers": ("4", "down")}


def _without_redis() -> Shop:
    return Shop(now=replace(BUSY, redis=Health(False, None, "connection refused"), simulated=True))


def _bulk() -> Shop:
    dear = {"attempt": 3, "cost": usd("0.90"), "error": "429 quota exhausted"}
    return Shop(rows=tuple(task(48_000 - i, "failed", **dear) for i in range(60)))


def _dead(app: CrewtopApp) -> None:
    app.session.fail("postgres: connection refused by db1:5432")


MARKED = ("2", *typed("/status:failed"), "enter")
FEW = (*MARKED, "space", "space", "space")

PICTURES: list[Picture] = [
    Picture(f"{view}-{w}x{h}-{dress}", (w, h), dress, keys)
    for view, keys in VIEWS.items()
    for w, h in SIZES
    for dress in DRESSES
]
PICTURES += [
    Picture("overview-contrast", dress="crewtop-contrast"),
    Picture("overview-40x10", (40, 10)),
    Picture("tasks-40x10", (40, 10), keys=("2", "down")),
    Picture("overview-ascii", (80, 24), "no-colour", options={"ascii": True}),
    Picture("tasks-ascii", (80, 24), "no-colour", ("2", "down", "space"), options={"ascii": True}),
    Picture("overview-without-redis", (80, 24), shop=_without_redis),
    Picture("overview-empty", (80, 24), shop=lambda: Shop(now=EMPTY, rows=())),
    Picture("tasks-empty", (80, 24), keys=("2",), shop=lambda: Shop(now=EMPTY, rows=())),
    Picture("workers-empty", (80, 24), keys=("4",), shop=lambda: Shop(now=EMPTY, rows=())),
    Picture("overview-stale", then=_dead),
    Picture("overview-never-connected", (80, 24), shop=lambda: Shop(down="postgres: connection refused by db1:5432")),
    Picture("tasks-marked", keys=FEW),
    Picture("tasks-filter", (80, 24), keys=("2", *typed("/status:faild"))),
    Picture("confirm-few", keys=(*FEW, "R")),
    Picture("confirm-few-80x24", (80, 24), keys=(*FEW, "R")),
    Picture("confirm-mixed", keys=("2", "down", "space", "down", "down", "space", "down", "down", "space", "C")),
    Picture("confirm-many", keys=("2", *("space",) * 34, "R", "3", "4"), shop=_bulk),
    Picture("confirm-all", keys=(*MARKED, "A", "R")),
    Picture("confirm-move", (80, 24), keys=("2", *("down",) * 9, "M", "q")),
    Picture("confirm-pause", (80, 24), keys=("P",)),
    Picture("confirm-drain", (80, 24), keys=("4", "D")),
    Picture("tasks-acted", (80, 24), keys=(*FEW, "R", "enter"),
            shop=lambda: Shop(refused={47_800: "not retried: completed 0.3s ago"})),
    Picture("tasks-many", keys=("2", "end"), shop=lambda: Shop(rows=many(900))),
    Picture("detail-error", keys=(*DETAIL, "e")),
    Picture("detail-inputs", (80, 24), keys=(*DETAIL, "i")),
    Picture("detail-log", (80, 24), keys=(*DETAIL, "l")),
    Picture("detail-history", keys=(*DETAIL, "h")),
    Picture("detail-completed", keys=("2", *("down",) * 7, "enter")),
    Picture("help", keys=("2", "question_mark")),
    Picture("help-80x24", (80, 24), keys=("question_mark",)),
    Picture("palette", (80, 24), keys=("2", "colon", *typed("ret"))),
]  # fmt: skip
"""Everything that is compared with the stored pictures."""

CURATED = {
    "overview": "overview-120x40-dark",
    "overview-light": "overview-120x40-light",
    "tasks": "tasks-marked",
    "detail": "detail-120x40-dark",
    "workers": "workers-120x40-dark",
    "confirm": "confirm-many",
    "small": "overview-80x24-dark",
    "wide": "overview-200x50-dark",
}
"""The pictures that the README and the documentation show."""


async def _write(name: str, picture: Picture, folder: Path) -> None:
    app = picture.app()
    async with app.run_test(size=picture.size) as pilot:
        await picture.pose(pilot)
        (folder / f"{name}.svg").write_text(app.export_screenshot(title="crewtop"), encoding="utf-8")


if __name__ == "__main__":
    os.environ.pop("NO_COLOR", None)
    by_name = {picture.name: picture for picture in PICTURES}
    for target, source in CURATED.items():
        asyncio.run(_write(target, by_name[source], Path(__file__).parents[2] / "screenshots"))
