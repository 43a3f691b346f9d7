"""The application around the session: answers, orders and long texts, on a screen in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from crewtop.model.detail import Excerpt
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Action, Matching, Order, Target
from crewtop.model.shipped import shipped
from crewtop.model.spending import Spending
from crewtop.tui.actions import View
from crewtop.tui.app import CrewtopApp, build
from crewtop.tui.options import ScreenOptions
from crewtop.tui.source import Unavailable
from crewtop.tui.views.tasks import PAGE
from tests.snapshots.pictures import DETAIL, settled
from tests.tui.fixtures import NOW, STUCK, Shop, many


def screen(shop: Shop, **options: object) -> CrewtopApp:
    return build(lambda: shop, ScreenOptions(**options), colours="true")  # type: ignore[arg-type]


def shown(app: CrewtopApp) -> str:
    return "\n".join(line.text for line in app.session.frame(120, 40))


async def until(pilot: Pilot[int], condition: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError(shown(pilot.app))  # type: ignore[arg-type]


async def press(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot.app, pilot)  # type: ignore[arg-type]


async def test_a_retry_reaches_the_source_with_the_version_that_was_seen() -> None:
    shop = Shop(refused={47_802: "not retried: completed 0.3s ago"})
    app = screen(shop)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "2", *["down"] * 9, "R", "enter")
        await until(pilot, lambda: bool(app.session.message))
        assert shop.acted == [(Order(Action.RETRY), (Target(47_802, 7),))]
        assert "47802 not retried: completed 0.3s ago" in shown(app)


async def test_an_action_on_all_that_match_shows_its_progress_and_can_be_taken_back() -> None:
    shop = Shop()
    app = screen(shop)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "2", "A", "R", "9", "6", "enter")
        assert shop.acted == [(Order(Action.RETRY), Matching(TaskFilter(), NOW))]
        await until(pilot, lambda: "retry 0 of 96" in shown(app))
        shop.go_on.set()
        await until(pilot, lambda: "96 retried (operation 7)" in shown(app))
        assert "of 96" not in shown(app)
        await press(pilot, "u", "enter")
        await until(pilot, lambda: "96 undone (operation 7)" in shown(app))
        assert shop.undone == [7]


async def test_a_queue_is_paused_through_the_source() -> None:
    shop = Shop()
    app = screen(shop)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "P", "enter")
        assert shop.asked == [("pause", "nightly", 0)]


async def test_an_action_that_the_store_cannot_take_is_said_to_be_undone() -> None:
    shop = Shop()
    app = screen(shop)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "2", *["down"] * 9, "R")
        shop.down = "postgres: connection refused"
        await pilot.press("enter")
        await until(pilot, lambda: "nothing done: postgres: connection refused" in shown(app))
        assert shop.acted == []


async def test_scrolling_to_the_end_loads_more() -> None:
    shop = Shop(rows=many(900))
    app = screen(shop)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "2", "end")
        await until(pilot, lambda: app.session.tasks.page is not None and len(app.session.tasks.page.rows) > PAGE)
        assert shop.limits[-1] == 2 * PAGE


async def test_the_live_log_is_followed() -> None:
    app = screen(Shop())
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, *DETAIL, "l")
        await until(pilot, lambda: "no answer yet" in shown(app))
        assert "following" in shown(app)


async def test_a_long_text_is_shown_in_part_and_more_on_demand() -> None:
    whole = "A long answer. " * 70_000
    run = replace(STUCK.runs[1], traceback=Excerpt(whole[:65_536], len(whole)))
    shop = Shop(details={48_201: replace(STUCK, runs=(STUCK.runs[0], run))}, bodies={"traceback": whole})
    app = screen(shop)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, *DETAIL, "e")
        await until(pilot, lambda: "A long answer." in shown(app))
        assert "showing 64 KB of 1.0 MB" in shown(app)
        await press(pilot, "m")
        await until(pilot, lambda: "showing 256 KB of 1.0 MB" in shown(app))


async def test_a_hung_source_leaves_the_keys_alive() -> None:
    app = screen(Shop(hang=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await pilot.press("question_mark")
        assert "One line up" in shown(app)


async def test_what_runs_beside_the_screen_is_cancelled_with_it() -> None:
    ended = asyncio.Event()

    async def beside() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    app = build(lambda: Shop(), ScreenOptions(), colours="true", background=beside)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("q")
    assert ended.is_set()


async def test_what_fails_beside_the_screen_is_told_and_the_screen_stays() -> None:
    async def beside() -> None:
        raise RuntimeError("no port [/] left")

    app = build(lambda: Shop(), ScreenOptions(), colours="true", background=beside)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "RuntimeError: no port [/] left" in shown(app))


async def test_the_theme_changes_with_a_key() -> None:
    app = screen(Shop())
    async with app.run_test(size=(80, 24)) as pilot:
        before = app.screen.styles.background
        await press(pilot, "t")
        assert app.screen.styles.background != before


async def test_an_open_operation_is_asked_about_no_more_often_than_anything_else() -> None:
    """What is wanted changes with each answer there: that is no reason to ask at once."""
    shop = Shop()
    app = screen(shop, interval=30.0)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "7", "enter")
        before = len(shop.listed)
        for _ in range(20):
            await pilot.pause(0.01)
        assert len(shop.listed) - before <= 1


async def test_a_worn_theme_that_is_being_deleted_does_not_end_the_screen(tmp_path: Path) -> None:
    dark = (shipped("themes") / "crewtop-dark.toml").read_text()
    (tmp_path / "mine.toml").write_text(dark.replace('"crewtop-dark"', '"mine"'))
    app = screen(Shop(), theme="mine", theme_folder=tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        (tmp_path / "mine.toml").unlink()
        app._files.read()  # as its thread has done, before the screen has taken it over
        await press(pilot, "2", "1")
        assert app.session.wardrobe.theme == "mine"


async def test_what_a_view_was_not_told_is_no_trouble_of_the_view_opened_since() -> None:
    class Slow(Shop):
        answer = asyncio.Event()

        async def spending(self, hours: int) -> Spending:
            await self.answer.wait()
            raise Unavailable("too slow: narrow the window")

    shop = Slow()
    app = screen(shop)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5")
        await until(pilot, lambda: "adding up" in shown(app))
        await pilot.press("7")
        shop.answer.set()
        await until(pilot, lambda: "dana@ops1" in shown(app))
        assert "too slow" not in shown(app)
        assert app.session.ways.pages[View.MODELS].problem == "too slow: narrow the window"
