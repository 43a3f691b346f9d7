"""What the view of models and money says about given sums, and what its keys do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crewtop.model.filters import TaskFilter
from crewtop.model.money import Money
from crewtop.model.spending import Spending, Spent
from crewtop.tui.actions import View
from crewtop.tui.effects import Copy, Effect, Go, Say
from crewtop.tui.manner import Manner
from crewtop.tui.views.cells import NO_TASK_HERE
from crewtop.tui.views.models import Models
from crewtop.tui.wants import Spend
from tests.tui.fixtures import HOSTILE, NOW, SPENDING, usage, usd

NOTHING = Spending(NOW, 24, Money(), 0)


def models(spent: Spending = SPENDING, ascii_only: bool = False) -> Models:
    view = Models(Manner(ascii_only))
    view.answer(Spend(24), spent)
    return view


def shown(view: Models, width: int = 200, height: int = 45) -> str:
    return "\n".join(line.text for line in view.lines(width, height))


@pytest.mark.parametrize(
    ("commands", "effect"),
    [
        (("copy",), Copy("openai/gpt-4.1")),
        (("open",), Say("a model has no list of its own: Enter opens the tasks of a crew or a queue")),
        (("other_list", "down", "open"), Go(View.TASKS, TaskFilter(crews=("support",)))),
        (("other_list", "other_list", "open"), Go(View.TASKS, TaskFilter(queues=("research",)))),
        (("other_list_back", "open"), Say("no row is under the cursor: tab leads to the other tables")),
        (("act_on_tasks",), NO_TASK_HERE),
    ],
)
def test_what_keys_do(commands: tuple[str, ...], effect: Effect) -> None:
    view = models()
    assert [view.do(command, 20) for command in commands][-1] == effect


def test_w_goes_through_the_windows_and_shows_no_sums_of_another_one() -> None:
    view = models()
    wanted = []
    for _ in range(3):
        view.do("window", 20)
        wanted.append(view.want)
        assert view.loading
        assert "$" not in shown(view)
    assert wanted == [Spend(168), Spend(1), Spend(24)]
    view.answer(Spend(168), SPENDING)
    assert view.loading
    view.answer(Spend(24), SPENDING)
    assert not view.loading


@pytest.mark.parametrize("size", [(200, 45), (120, 35), (80, 19)])
def test_the_top_tells_the_sum_its_price_the_failures_the_unpriced_and_what_is_to_come(size: tuple[int, int]) -> None:
    text = shown(models(), *size)
    for words in (
        "last 24 h ≥ $61.20",
        "≥ $2.15 per 1,000 completed",
        "failed tasks ≥ $2.07",
        "today ≥ $38.60",
        "≥ $71.90 by midnight UTC if it goes on as the last hour",
        "7 calls at unknown cost: gpt-4.1, house-model",
    ):
        assert words in text


def test_nothing_is_projected_from_an_hour_without_a_call() -> None:
    assert "midnight" not in shown(models(replace(SPENDING, projected=None)))


def test_a_model_tells_tokens_by_kind_refusals_latency_and_price() -> None:
    lines = shown(models()).splitlines()
    titles = next(line for line in lines if line.startswith("  MODEL")).split()
    row = next(line for line in lines if line.startswith("▌ gpt-4.1 openai"))
    assert titles[:9] == ["MODEL", "CALLS", "IN", "CACHED", "WRITTEN", "OUT", "REASON", "429", "ERR"]
    assert row.split()[3:] == [
        *("6,120", "12.8M", "5.5M", "0", "2.5M", "0", "212", "31", "1.8s", "6.2s", "11s"),
        *("≥", "$48.10", "≥", "$7.85", "7"),
    ]
    unpriced = next(line for line in lines if "house-model" in line and "9" in line.split())
    assert unpriced.split()[-3:] == ["?", "?", "9"]


def test_shares_and_prices_of_crews() -> None:
    view = models()
    view.do("other_list", 20)
    lines = shown(view, 80, 19).splitlines()
    assert next(line for line in lines if "briefing" in line).split() == [
        *("▌", "briefing", "≥", "$44.00", "310", "≥", "$141.93", "■■■■■■■···"),
    ]
    view = models(replace(SPENDING, crews=(Spent("idle", usd("1.00"), 0),)))
    view.do("other_list", 20)
    assert next(line for line in shown(view, 80, 19).splitlines() if "idle" in line).split()[3:5] == ["0", "-"]


def test_low_screens_show_one_table_at_a_time_and_high_ones_all() -> None:
    everything = shown(models())
    assert all(title in everything for title in ("MODEL", "CREW", "QUEUE", "By hour", "By day"))
    view = models()
    seen = []
    for _ in range(4):
        text = shown(view, 80, 19)
        seen.append([title for title in ("MODEL ", "CREW ", "QUEUE ", "By hour", "By day") if title in text])
        view.do("other_list", 19)
    assert seen == [["MODEL "], ["CREW "], ["QUEUE "], ["By hour", "By day"]]


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("spent", [SPENDING, NOTHING, replace(SPENDING, hours=SPENDING.hours[:1], days=())])
@pytest.mark.parametrize("size", [(200, 45), (120, 35), (100, 28), (80, 19), (60, 15), (40, 6), (20, 4)])
def test_it_fits_every_screen(size: tuple[int, int], spent: Spending, ascii_only: bool) -> None:
    view = models(spent, ascii_only)
    for _ in range(4):
        lines = view.lines(*size)
        assert len(lines) <= max(size[1], 6)
        assert max(len(line.text) for line in lines) <= max(size[0], 40)
        assert not ascii_only or "".join(line.text for line in lines).isascii()
        view.do("other_list", size[1])


def test_a_shop_that_never_called_a_model_says_so() -> None:
    text = shown(models(NOTHING), 80, 19)
    assert "No LLM call in the last 24 h" in text
    assert "$" not in text


def test_a_question_without_an_answer_is_said() -> None:
    view = Models(Manner())
    assert "adding up the last 24 h" in shown(view)
    view.fail("postgres: connection refused")
    assert "connection refused" in shown(view)


def test_a_click_moves_the_cursor_and_another_one_opens() -> None:
    view = models()
    view.do("other_list", 19)
    y = next(y for y, line in enumerate(shown(view, 80, 19).splitlines()) if "product" in line)
    assert view.click(y) is None
    assert view.click(y) == Go(View.TASKS, TaskFilter(crews=("product",)))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_shown_and_not_obeyed(text: str) -> None:
    spent = replace(SPENDING, models=(usage(text, text, 9, usd("1", 9)),), crews=(Spent(text, usd("1"), 1),))
    view = models(spent)
    view.fail(text)
    assert all(line.text.isprintable() for line in view.lines(200, 45))
    copied = view.do("copy", 45)
    assert isinstance(copied, Copy)
    assert copied.text.isprintable()
