"""What the view of models says of limits, breakers, keys and budgets, and what its keys do there."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from crewtop.model.allowance import AllowanceState
from crewtop.model.budgets import BudgetRow
from crewtop.model.providers import Circuit, KeyHealth, Providers
from crewtop.model.snapshot import Health, Snapshot
from crewtop.tui.effects import Copy, Effect, Say
from crewtop.tui.manner import Manner
from crewtop.tui.views.models import Models
from crewtop.tui.wants import Spend
from tests.tui.fixtures import ALLOWANCES, BUSY, HELD_BACK, HOSTILE, SPENDING


def models(snapshot: Snapshot = HELD_BACK, *commands: str, ascii_only: bool = False) -> Models:
    view = Models(Manner(ascii_only))
    view.take(snapshot)
    view.answer(Spend(24), SPENDING)
    view.come(anew=True)
    for command in commands:
        view.do(command, 19)
    return view


def shown(view: Models, width: int = 80, height: int = 19) -> list[str]:
    return [line.text.rstrip() for line in view.lines(width, height)]


def told(*allowances: AllowanceState, circuits: tuple[Circuit, ...] = (), keys: tuple[KeyHealth, ...] = ()) -> Snapshot:
    return replace(BUSY, providers=Providers(allowances, circuits, keys))


TROUBLE = """\
  [limits ▲]  models   crews   queues   time   tab: next
  BREAKER                      STATE            AGAIN  WHY
▌ claude-sonnet-4 anthropic    open             00:12  overloaded, 7 in a row,…
  gemini-2.5-flash google      half-open          now  timeout, 5 in a row
  KEY                          STATE            AGAIN  WHY
  OPENAI_API_KEY_3 openai      retired              -  refused by the provider…
  OPENAI_API_KEY_2 openai      cooling down     00:58  rate limit
  BUDGET         STATE         SHARE               SPENT     LIMIT  BY MIDNIGHT
  queue resear…  paused        ■■■■■■■■ 110%      $44.03    $40.00       $44.03
  crew briefing  nearly spent  ■■■■■■■·  88%      $44.00    $50.00       $71.90
  LIMIT           KEY         USED             REQUESTS/m     TOKENS/m    CALLS
  gpt-4.1 openai  …I_API_KEY  resumes 00:27   2,994/3,000    1.3M/1.5M       41
  gpt-4.1 openai  …API_KEY_2  resumes 00:58   1,020/3,000    401k/1.5M        0
  and 6 more: ↓"""


def test_a_small_screen_shows_all_that_is_wrong_at_once() -> None:
    assert "\n".join(shown(models())[5:]) == TROUBLE


def test_the_cursor_goes_on_to_what_is_well_below_the_titles_that_it_belongs_to() -> None:
    lines = shown(models(HELD_BACK, "last"))
    assert lines[7].split() == ["LIMIT", "KEY", "USED", "REQUESTS/m", "TOKENS/m", "CALLS"]
    assert lines[-2].startswith("▌ the day        ok            ■■······  30%    ≥ $61.20   $200.00    ≥ $112.40")


@pytest.mark.parametrize(
    ("state", "row"),
    [
        (ALLOWANCES[0], "deepseek-chat deepseek own ■······· 20% 12 20.4k 8/40"),
        (ALLOWANCES[1], "all models openai OPENAI_API_KEY ■······· 20% 0 0 41/200"),
        (ALLOWANCES[2], "gpt-4.1 openai OPENAI_API_KEY resumes 00:27 2,994/3,000 1.3M/1.5M 41 limit reached"),
        (replace(ALLOWANCES[2], resumes_in=0.2), "gpt-4.1 openai OPENAI_API_KEY ■■■■■■■· 99% 2,994/3,000 1.3M/1.5M 41"),
        (replace(ALLOWANCES[0], at_once=None), "deepseek-chat deepseek own no limit 12 20.4k 8"),
        (
            replace(ALLOWANCES[0], reason="no Redis: one worker's part of 3"),
            "deepseek-chat deepseek own ■······· 20% 12 20.4k 8/40 no Redis: one worker's part of 3",
        ),
    ],
)
def test_a_limit_says_what_is_used_of_what_may_be_or_when_it_resumes(state: AllowanceState, row: str) -> None:
    lines = shown(models(told(state)), 160, 60)
    titles = next(i for i, line in enumerate(lines) if line.startswith("  LIMIT"))
    assert " ".join(lines[titles + 1].split()).removeprefix("▌ ").startswith(row)


@pytest.mark.parametrize(
    ("snapshot", "split"),
    [
        (HELD_BACK, "limits"),
        (BUSY, "models"),
        (told(*ALLOWANCES[:2]), "models"),
        (told(circuits=(Circuit("google", "gemini", "half-open", 0.0, "timeout", 5),)), "limits"),
        (replace(BUSY, budgets=(BudgetRow("total", "", Decimal(9), Decimal(8), 0, None, "warn"),)), "limits"),
    ],
)
def test_what_is_wrong_is_shown_when_the_view_is_opened(snapshot: Snapshot, split: str) -> None:
    view = models(snapshot)
    assert view.split == split
    assert any("limits ▲" in line for line in shown(view)) == (split == "limits")


@pytest.mark.parametrize(
    ("commands", "effect"),
    [
        (("copy",), Copy("anthropic/claude-sonnet-4")),
        (
            ("open",),
            Say("anthropic/claude-sonnet-4 open: overloaded, 7 in a row, tried again 00:12, in 2 workers"),
        ),
        (("down", "down", "copy"), Copy("OPENAI_API_KEY_3")),
        (
            ("down", "down", "down", "down", "open"),
            Say("queue research, paused: $44.03 of $40.00 today, until 2026-03-15 00:00Z or until it is raised"),
        ),
        (
            (*["down"] * 7, "open"),
            Say("openai/gpt-4.1 (OPENAI_API_KEY_2): resumes 00:58: the provider asked to wait"),
        ),
        (("last", "open"), Say("the day, ok: at least $61.20 of $200.00 today")),
    ],
)
def test_keys_tell_a_row_in_full_and_copy_its_name(commands: tuple[str, ...], effect: Effect) -> None:
    view = models()
    assert [view.do(command, 19) for command in commands][-1] == effect


def test_a_click_moves_the_cursor_and_another_one_tells() -> None:
    view = models()
    y = next(y for y, line in enumerate(shown(view)) if "API_KEY_3" in line)
    assert view.click(y) is None
    assert isinstance(view.click(y), Say)


def test_tab_goes_round_and_leaves_limits_out_where_there_are_none() -> None:
    view = models(HELD_BACK)
    seen = []
    for _ in range(5):
        seen.append(view.split)
        view.do("other_list", 19)
    assert seen == ["limits", "models", "crews", "queues", "time"]
    assert "limits" not in "\n".join(shown(models(BUSY, *["other_list"] * 4)))


def test_what_vanishes_leaves_the_view_at_what_there_is() -> None:
    view = models(HELD_BACK)
    view.take(BUSY)
    assert any(line.startswith("  [models]") for line in shown(view))
    view.do("other_list", 19)
    assert view.split == "crews"


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        (
            replace(HELD_BACK, providers=ALLOWANCES and Providers(ALLOWANCES, age=41.0)),
            "limits as told 40s ago: Redis is away",
        ),
        (replace(BUSY, redis=Health(False)), "limits are not known: Redis has not told of them yet"),
        (replace(BUSY, providers=Providers(ALLOWANCES, omitted=3)), "workers leave out 3 more"),
    ],
)
def test_what_is_old_or_not_all_says_so(snapshot: Snapshot, said: str) -> None:
    view = models(snapshot)
    view.split = "limits"
    for size in ((80, 19), (120, 35)):
        assert f"  {said}" in shown(view, *size)


def test_limits_are_told_before_sums_are_and_where_nothing_was_spent() -> None:
    view = Models(Manner())
    view.take(HELD_BACK)
    view.come(anew=True)
    assert "resumes 00:27" in "\n".join(shown(view, 80, 24))
    view.answer(Spend(24), replace(SPENDING, total=type(SPENDING.total)(), days=()))
    assert "resumes 00:27" in "\n".join(shown(view, 80, 24))


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("size", [(200, 45), (120, 35), (100, 28), (80, 19), (60, 15), (40, 6), (20, 4)])
def test_it_fits_every_screen(size: tuple[int, int], ascii_only: bool) -> None:
    view = models(ascii_only=ascii_only)
    for _ in range(20):
        lines = view.lines(*size)
        assert len(lines) <= max(size[1], 6)
        assert max(len(line.text) for line in lines) <= max(size[0], 60)
        assert not ascii_only or "".join(line.text for line in lines).isascii()
        view.do("down", size[1])


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_shown_and_not_obeyed(text: str) -> None:
    providers = Providers(
        (replace(ALLOWANCES[2], provider=text, model=text, key=text, reason=text),),
        (Circuit(text, text, "open", 3.0, text, 5),),
        (KeyHealth(text, text, "retired", None, text),),
    )
    budgets = (BudgetRow("queue", text, Decimal(1), Decimal(2), 0, None, "held"),)
    view = models(replace(BUSY, providers=providers, budgets=budgets))
    for _ in range(4):
        assert all(line.text.isprintable() for line in view.lines(80, 24))
        for command in ("open", "copy"):
            effect = view.do(command, 24)
            assert isinstance(effect, Say | Copy)
            assert (effect.words if isinstance(effect, Say) else effect.text).isprintable()
        view.do("down", 24)
