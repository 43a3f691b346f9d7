"""Names and reasons that terminals would obey (cases C02 and X5), wherever the screen says them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.tui.options import ScreenOptions
from crewtop.tui.session import Session
from tests.tui.fixtures import BUSY

EVIL = "red \x1b[31m\x9b2J\u202e name"
SECRET = "postgres://ops:hunter2hunter2@db1/shop"


def session() -> Session:
    queue = replace(BUSY.queues[0], name=EVIL)
    made = Session(ScreenOptions(), lambda: 0.0)
    made.take(replace(BUSY, queues=(queue, *BUSY.queues[1:])))
    return made


def picture(made: Session) -> str:
    return "".join(line.text for line in made.frame(120, 40))


def test_a_filter_that_a_queue_with_an_evil_name_led_to_can_be_edited() -> None:
    made = session()
    for key in ("down", "enter", "/"):
        made.press(key)
        assert picture(made).isprintable()
    assert "name" in picture(made)
    made.press("enter")
    assert made.tasks.request.task_filter.queues == (EVIL,)


def test_why_postgres_is_down_is_masked_and_made_visible() -> None:
    made = session()
    down = replace(BUSY.postgres, up=False, detail=f"{EVIL} {SECRET}")
    made.take(replace(BUSY, postgres=down))
    assert picture(made).isprintable()
    assert "hunter2" not in picture(made)


@pytest.mark.parametrize("view", ["2", "3", "5", "7"])
def test_why_a_view_has_no_answer_is_masked_and_made_visible(view: str) -> None:
    made = session()
    made.press(view)
    made.page.fail(f"{EVIL} {SECRET}")
    assert picture(made).isprintable()
    assert "red" in picture(made)
    assert "hunter2" not in picture(made)


def test_why_a_task_cannot_be_told_is_said() -> None:
    made = session()
    for key in ("#", "7", "enter"):
        made.press(key)
    made.page.fail(f"postgres: no answer within 2 s {SECRET}")
    assert "no answer within 2 s" in picture(made)
    assert "hunter2" not in picture(made)
