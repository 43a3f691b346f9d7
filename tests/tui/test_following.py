"""What the open view follows: whatever a stream does, it is followed as long as it is wanted, and told once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from crewtop.tui import following
from crewtop.tui.following import Following
from crewtop.tui.options import ScreenOptions
from crewtop.tui.session import Session
from crewtop.tui.source import LogLines, Unavailable
from crewtop.tui.wants import PIECE_LINES, RunLog, follow
from tests.tui.fixtures import STUCK, Shop


class Broken(Shop):
    """Its log begins with an error so often."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__(log_lines=("the only line",))
        self.errors = list(errors)

    async def log(self, run_id: int) -> AsyncIterator[LogLines]:
        yield LogLines(self.log_lines)
        if self.errors:
            raise self.errors.pop()
        await asyncio.Event().wait()


def reading(shop: Shop) -> tuple[Session, Following, set[asyncio.Task[None]]]:
    """A session that has the log of a task open, and what follows it."""
    session = Session(ScreenOptions(), lambda: 0.0)
    session.take(shop.now)
    for key in ("#", *"48201", "enter", "l"):
        session.press(key)
    session.page.answer(session.page.want, STUCK)  # type: ignore[arg-type]
    tasks: set[asyncio.Task[None]] = set()

    def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        tasks.add(task := asyncio.create_task(work))
        return task

    return session, Following(session, lambda: shop, spawn, lambda: None, lambda: None), tasks


def picture(session: Session) -> str:
    return "\n".join(line.text for line in session.frame(120, 40))


async def turns(number: int = 20) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


@pytest.mark.parametrize("error", [Unavailable("postgres: refused"), RuntimeError("a defect"), OSError(5, "EIO")])
async def test_a_stream_that_breaks_is_followed_anew(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "pause_after", lambda *_: 0.0)
    shop = Broken(error)
    session, followed, tasks = reading(shop)
    followed.attend()
    await turns()
    assert not shop.errors
    assert picture(session).count("the only line") == 1
    assert all(not task.done() for task in tasks)
    for task in tasks:
        task.cancel()


async def test_coming_back_to_a_running_task_shows_its_output_once() -> None:
    session, followed, tasks = reading(Broken())
    followed.attend()
    await turns()
    session.press("4")
    followed.attend()
    await turns()
    session.press("backspace")
    followed.attend()
    await turns()
    assert picture(session).count("the only line") == 1
    for task in tasks:
        task.cancel()


async def test_a_task_that_is_opened_once_more_shows_its_output_too() -> None:
    session, followed, tasks = reading(Broken())
    followed.attend()
    await turns()
    for key in ("#", *"48201", "enter", "l"):
        session.press(key)
    session.page.answer(session.page.want, STUCK)  # type: ignore[arg-type]
    followed.attend()
    await turns()
    assert "the only line" in picture(session)
    for task in tasks:
        task.cancel()


async def test_much_output_comes_in_pieces() -> None:
    shop = Shop(log_lines=tuple(map(str, range(2 * PIECE_LINES + 1))))
    told: list[str] = []
    async for item in follow(shop, RunLog(1)):
        assert len(item.lines) <= PIECE_LINES
        told += item.lines
        if len(told) == len(shop.log_lines):
            break
    assert tuple(told) == shop.log_lines


class Told(Shop):
    """Its log tells what the test puts in."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    async def log(self, run_id: int) -> AsyncIterator[LogLines]:
        while True:
            yield LogLines((await self.lines.get(),))


async def test_a_frozen_picture_holds_what_is_followed_and_tells_it_afterwards() -> None:
    shop = Told()
    session, followed, tasks = reading(shop)
    followed.attend()
    shop.lines.put_nowait("before")
    await turns()
    session.press("p")
    followed.attend()
    for line in ("meanwhile", "and then"):
        shop.lines.put_nowait(line)
    await turns()
    assert "before" in picture(session)
    assert "meanwhile" not in picture(session)
    session.press("p")
    followed.attend()
    await turns()
    assert "meanwhile" in picture(session)
    assert "and then" in picture(session)
    for task in tasks:
        task.cancel()


async def test_what_is_opened_while_the_picture_is_frozen_is_told() -> None:
    session, followed, tasks = reading(Broken())
    session.press("p")
    followed.attend()
    await turns()
    assert "the only line" in picture(session)
    for task in tasks:
        task.cancel()
