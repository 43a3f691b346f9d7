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
from crewtop.tui.options import ScreenOptions
from crewtop.tui.theme import DEFAULT, load
from tests.tui.fixtures import BUSY, EMPTY, HELD_BACK, INCIDENT, Shop, many, task, usd


@dataclass(frozen=True)
class Picture:
    """dress is a theme, or 'no-colour'; keys lead from the overview to what is to be seen; then happens at the end."""

    name: str
    size: tuple[int, int] = (120, 40)
    dress: str = DEFAULT
    keys: tuple[str, ...] = ()
    shop: Callable[[], Shop] = Shop
    options: dict[str, Any] = field(default_factory=dict)
    then: Callable[[CrewtopApp], None] | None = None

    def app(self) -> CrewtopApp:
        theme, colours = (DEFAULT, "none") if self.dress == "no-colour" else (self.dress, "true")
        options = ScreenOptions(theme=theme, interval=1.0, **self.options)
        return build(self.shop, options, colours=colours, clock=lambda: 0.0)

    async def pose(self, pilot: Pilot[int]) -> None:
        """Press the keys, waiting after each for what it asked for.

        Not as a terminal does, which tests/tui/test_app.py sees to: the pilot waits 0.1 s with every key.
        """
        app = pilot.app
        assert isinstance(app, CrewtopApp)
        await settled(app, pilot)
        for key in self.keys:
            app.press(key)
            await settled(app, pilot)
        if self.then is not None:
            self.then(app)
            app.canvas.paint()
            await pilot.pause()


async def settled(app: CrewtopApp, pilot: Pilot[int]) -> None:
    """Wait until the last key is shown and the answers to everything that the screen wants to know are in."""
    shown = asyncio.Event()
    app.call_later(shown.set)  # what a key did is shown before
    await shown.wait()
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
    return tuple("space" if letter == " " else letter for letter in text)


DETAIL = ("2", *("down",) * 8, "enter")


def _without_redis() -> Shop:
    return Shop(now=replace(BUSY, redis=Health(False, None, "connection refused"), simulated=True))


def _bulk() -> Shop:
    dear = {"attempt": 3, "cost": usd("0.90"), "error": "429 quota exhausted"}
    return Shop(rows=tuple(task(48_000 - i, "failed", **dear) for i in range(60)))


def _dead(app: CrewtopApp) -> None:
    app.session.fail("postgres: connection refused by db1:5432")


def _production() -> Shop:
    return Shop(now=replace(INCIDENT, database="shop", host="prod-db1"))


MARKED = ("2", *typed("/status:failed"), "enter")
FEW = (*MARKED, "space", "space", "space")
VIEWS: dict[str, tuple[str, ...]] = {
    "overview": (),
    "charts": ("c",),
    "tasks": ("2", "down"),
    "tasks-completing": ("2", *typed("/status:fa")),
    "tasks-columns": ("2", "v", "down", "down"),
    "tasks-order": ("2", "s", "down"),
    "failures": ("3",),
    "detail": DETAIL,
    "detail-folded": (*DETAIL, "i", "f"),
    "detail-error": (*DETAIL, "e"),
    "detail-log": (*DETAIL, "l"),
    "detail-related": (*DETAIL, "r"),
    "workers": ("4", "down"),
    "models": ("5",),
    "events": ("6",),
    "operations": ("7",),
    "operation": ("7", "down", "enter"),
    "help": ("2", "?"),
    "palette": ("2", ":", *typed("ret")),
    "question": ("2", *("down",) * 9, "M", *typed("bulk")),
}
"""Each is photographed at 80x24 and at 120x40."""

PICTURES: list[Picture] = [
    Picture(f"{view}-{w}x{h}", (w, h), keys=keys) for view, keys in VIEWS.items() for w, h in ((80, 24), (120, 40))
]
PICTURES += [Picture(f"theme-{name}", dress=name) for name in load(None)[0] if name != DEFAULT]
PICTURES += [
    Picture("incident", shop=lambda: Shop(now=INCIDENT)),
    Picture("production", shop=_production, options={"production": ("*@prod-*",)}),
    Picture("overview-200x50", (200, 50)),
    Picture("overview-40x10", (40, 10)),
    Picture("tasks-40x10", (40, 10), keys=("2", "down")),
    Picture("confirm-40x10", (40, 10), keys=(*FEW, "R")),
    Picture("overview-ascii", (80, 24), "no-colour", options={"ascii": True}),
    Picture("overview-without-redis", (80, 24), shop=_without_redis),
    Picture("overview-empty", (80, 24), shop=lambda: Shop(now=EMPTY, rows=())),
    Picture("overview-never-connected", (80, 24), shop=lambda: Shop(down="postgres: connection refused by db1:5432")),
    Picture("overview-stale", then=_dead),
    Picture("tasks-empty", (80, 24), keys=("2",), shop=lambda: Shop(now=EMPTY, rows=())),
    Picture("tasks-filter-wrong", (80, 24), keys=("2", *typed("/status:faild"), "enter")),
    Picture("tasks-marked", keys=FEW),
    Picture("tasks-many", keys=("2", "end"), shop=lambda: Shop(rows=many(900))),
    Picture("tasks-acted", (80, 24), keys=(*FEW, "R", "enter"),
            shop=lambda: Shop(refused={47_800: "not retried: completed 0.3s ago"})),
    Picture("models-held-back-80x24", (80, 24), keys=("5",), shop=lambda: Shop(now=HELD_BACK)),
    Picture("models-held-back-120x40", keys=("5",), shop=lambda: Shop(now=HELD_BACK)),
    Picture("models-held-back-ascii", (80, 24), "no-colour", ("5",), lambda: Shop(now=HELD_BACK), {"ascii": True}),
    Picture("workers-empty", (80, 24), keys=("4",), shop=lambda: Shop(now=EMPTY, rows=())),
    Picture("detail-completed", keys=("2", *("down",) * 7, "enter")),
    Picture("detail-history", keys=(*DETAIL, "h")),
    Picture("confirm-few", (80, 24), keys=(*FEW, "R")),
    Picture("confirm-mixed", keys=("2", "down", "space", "down", "down", "space", "down", "down", "space", "C")),
    Picture("confirm-many", keys=("2", *("space",) * 34, "R", "3", "4"), shop=_bulk),
    Picture("confirm-all", keys=(*MARKED, "A", "R")),
    Picture("confirm-pause", (80, 24), keys=("P",)),
    Picture("confirm-kill", (80, 24), keys=("4", "K")),
]  # fmt: skip
"""Everything that is compared with the stored pictures. Each state in all sizes and dresses: see states.py."""

CURATED = {
    "overview": "overview-120x40",
    "incident": "incident",
    "tasks": "tasks-marked",
    "failures": "failures-120x40",
    "detail": "detail-120x40",
    "workers": "workers-120x40",
    "models": "models-120x40",
    "events": "events-120x40",
    "charts": "charts-120x40",
    "confirm": "confirm-many",
    "small": "overview-80x24",
    "light": "theme-crewtop-light",
    "production": "production",
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
