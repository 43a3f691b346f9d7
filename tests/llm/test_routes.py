"""Which model a call goes to, why, and what other routes would have cost."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from crewtop.llm.asking import CallAsk, PromptShape
from crewtop.llm.complexity import Grade
from crewtop.llm.routes import AUTO, Choice, Down, Model, PastCall, Routes, Rule, choose, listed, reprice
from crewtop.model.errors import CrewtopError
from crewtop.model.pricing import Rates, Tokens

CHEAP, MIDDLE, DEAR, SPARE = (Model("a", "cheap"), Model("a", "middle"), Model("b", "dear"), Model("c", "spare"))
PER_MILLION = {CHEAP: 1, MIDDLE: 10, DEAR: 100, SPARE: 5}
MODELS = {Grade.EASY: CHEAP, Grade.MODERATE: MIDDLE, Grade.HARD: DEAR}
EASY, HARD = PromptShape(100, 10, easy=1), PromptShape(100, 900, hard=3)


def prices(model: Model, tokens: Tokens) -> Decimal | None:
    rate = PER_MILLION.get(model)
    return None if rate is None else Decimal(rate) * tokens.total / 1_000_000


def ask(model: str = "asked", **differing: object) -> CallAsk:
    plain = {"crew": "support", "queue": "mail", "priority": 3, "step": 1}
    return CallAsk("1", "x", model, 1_000, **(plain | differing))  # type: ignore[arg-type]


def chosen(routes: Routes, *, call: CallAsk | None = None, shape: PromptShape = EASY, **down: Down) -> Choice:
    return choose(call or ask(), shape, routes, prices, lambda model: down.get(model.name))


def test_without_routes_a_call_goes_where_the_crew_asks() -> None:
    choice = chosen(Routes())
    assert (choice.provider, choice.model) == ("x", "asked")
    assert choice.reason == "there are no rules: as the crew asks"


@pytest.mark.parametrize(
    ("rule", "differing"),
    [
        (Rule(CHEAP, crews=("support",)), {"crew": "research"}),
        (Rule(CHEAP, crews=("sup*", "sales")), {"crew": "research"}),
        (Rule(CHEAP, queues=("mail",)), {"queue": "chat"}),
        (Rule(CHEAP, steps=(1, 2)), {"step": 3}),
        (Rule(CHEAP, steps=(1,)), {"step": None}),
        (Rule(CHEAP, priorities=(3, 4)), {"priority": 1}),
    ],
)
def test_a_rule_decides_where_all_of_its_conditions_hold(rule: Rule, differing: dict[str, object]) -> None:
    routes = Routes(rules=(rule,))
    assert chosen(routes).model == "cheap"
    assert chosen(routes).rule == 1
    assert chosen(routes, call=ask(**differing)).model == "asked"


def test_a_rule_by_tag_is_about_calls_that_carry_it() -> None:
    routes = Routes(rules=(Rule(CHEAP, tags=("draft",)),))
    assert chosen(routes, call=ask(tag="draft")).model == "cheap"
    assert chosen(routes).model == "asked"


def test_the_first_rule_that_matches_decides() -> None:
    routes = Routes(rules=(Rule(DEAR, steps=(9,)), Rule(MIDDLE, crews=("support",)), Rule(CHEAP)))
    choice = chosen(routes)
    assert (choice.model, choice.rule, choice.reason) == ("middle", 2, "rule 2 names it")


def test_auto_sends_a_prompt_to_the_model_of_its_grade() -> None:
    routes = Routes(otherwise=AUTO, models=MODELS)
    assert chosen(routes, shape=EASY).model == "cheap"
    assert chosen(routes, shape=HARD).model == "dear"
    assert chosen(routes, shape=HARD).reason.startswith("hard at ")


def test_a_crew_that_leaves_it_open_is_graded_without_any_rule() -> None:
    assert chosen(Routes(models=MODELS), call=ask(AUTO), shape=HARD).model == "dear"


def test_a_crew_that_leaves_it_open_is_told_which_model_is_missing() -> None:
    with pytest.raises(CrewtopError, match=r'names none for it: add easy = "provider/model"'):
        chosen(Routes(), call=ask(AUTO))


def test_a_broken_model_is_passed_over_and_the_reason_names_it() -> None:
    routes = Routes(rules=(Rule(DEAR),), fallbacks={DEAR: (MIDDLE, CHEAP)})
    choice = chosen(routes, dear=Down("down after 5 failures", 20, broken=True))
    assert choice.model == "middle"
    assert choice.reason == "rule 1 names it; b/dear is down after 5 failures for 20 s"


def test_a_throttled_model_is_waited_for_as_long_as_patience_lasts() -> None:
    routes = Routes(rules=(Rule(DEAR),), fallbacks={DEAR: (CHEAP,)}, patience=30)
    assert chosen(routes, dear=Down("throttled", 30)).model == "dear"
    assert chosen(routes, dear=Down("throttled", 31)).model == "cheap"
    assert chosen(routes, dear=Down("throttled", None)).model == "cheap"


def test_a_model_over_the_ceiling_or_without_a_price_is_passed_over() -> None:
    unpriced = Model("z", "new")
    routes = Routes(rules=(Rule(DEAR),), fallbacks={DEAR: (unpriced, CHEAP)}, ceiling=Decimal("0.01"))
    choice = chosen(routes, shape=HARD)
    assert choice.model == "cheap"
    assert "b/dear would cost about $0.1000, over the ceiling of $0.01" in choice.reason
    assert "z/new has no known price to hold against the ceiling" in choice.reason


def test_with_everything_down_the_call_waits_for_the_first_it_can_afford() -> None:
    routes = Routes(rules=(Rule(DEAR),), fallbacks={DEAR: (MIDDLE, CHEAP)}, ceiling=Decimal("0.02"))
    off = Down("down", 60, broken=True)
    choice = chosen(routes, shape=HARD, middle=off, cheap=off)
    assert choice.model == "middle"
    assert choice.reason.endswith("nothing else can take it")


def test_a_choice_is_stored_as_json_with_its_grade_and_what_was_passed_over() -> None:
    routes = Routes(otherwise=AUTO, models=MODELS, fallbacks={CHEAP: (SPARE,)})
    stored = json.loads(json.dumps(chosen(routes, cheap=Down("down", None, broken=True)).as_json()))
    assert stored["model"] == "c/spare"
    assert stored["grade"] == "easy"
    assert stored["passed"] == [{"model": "a/cheap", "why": "is down"}]


def test_what_if_prices_the_same_tokens_at_other_models() -> None:
    tokens = Tokens(1_000, 0, 0, 1_000, 0)
    calls = [
        PastCall(ask(prompt=EASY), tokens, Decimal("0.2")),
        PastCall(ask(prompt=HARD), tokens, Decimal("0.2")),
        PastCall(ask(prompt=HARD), None, None),
        PastCall(ask(prompt=None), tokens, Decimal("0.2")),
    ]
    answer = reprice(calls, Routes(otherwise=AUTO, models=MODELS), prices)
    assert (answer.was, answer.would) == (Decimal("0.4"), Decimal("0.202"))
    assert (answer.compared, answer.unknown) == (2, 2)
    assert answer.models == {CHEAP: 1, DEAR: 1}


def test_what_if_leaves_calls_of_unknown_price_out_of_both_sums() -> None:
    answer = reprice([PastCall(ask(prompt=EASY), Tokens(1, 0, 0, 1, 0), None)], Routes(rules=(Rule(CHEAP),)), prices)
    assert (answer.was, answer.would, answer.compared, answer.unknown) == (0, 0, 0, 1)


def test_listed_prices_are_the_users_own_before_any_list() -> None:
    own = {"a/cheap": Rates(Decimal(1), Decimal(2), Decimal(0), Decimal(0))}
    assert listed(own)(CHEAP, Tokens(1_000_000, 0, 0, 1_000_000, 0)) == 3
    assert listed(own)(DEAR, Tokens(1, 0, 0, 1, 0)) is None


def test_a_model_without_a_key_is_not_waited_for_while_another_is_only_throttled() -> None:
    routes = Routes(rules=(Rule(CHEAP),), fallbacks={CHEAP: (MIDDLE,)})
    keyless = Down("without a key", None)
    assert chosen(routes, cheap=keyless, middle=Down("throttled", 40.0)).model == "middle"
    assert chosen(routes, cheap=keyless, middle=keyless).model == "cheap"
