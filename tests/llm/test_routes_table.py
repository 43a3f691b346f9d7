"""[llm.routes] as an operator writes it, and what is said where it is wrong."""

from __future__ import annotations

import tomllib
from decimal import Decimal

import pytest

from crewtop.llm.complexity import Grade
from crewtop.llm.routes import AS_IS, AUTO, Model, Routes, Rule
from crewtop.llm.routes_table import parse

WHOLE = """
otherwise = "auto"
patience_seconds = 10
ceiling_dollars = "0.50"
[models]
easy = "openai/gpt-6-luna"
moderate = "openai/gpt-6.1-terra"
hard = "anthropic/claude-opus-5-5"
[fallbacks]
"anthropic/claude-opus-5-5" = ["openai/gpt-6-astra", "together/meta/llama"]
[[rules]]
crew = ["support", "sales-*"]
step = 1
priority = ["low", 3]
use = "openai/gpt-6-luna"
[[rules]]
queue = "night"
tag = "draft"
use = "as is"
"""


def test_a_whole_table() -> None:
    astra, llama = Model("openai", "gpt-6-astra"), Model("together", "meta/llama")
    luna, terra, opus = (
        Model("openai", "gpt-6-luna"),
        Model("openai", "gpt-6.1-terra"),
        Model("anthropic", "claude-opus-5-5"),
    )
    assert parse(tomllib.loads(WHOLE)) == Routes(
        rules=(
            Rule(luna, crews=("support", "sales-*"), steps=(1,), priorities=(4, 3)),
            Rule(AS_IS, queues=("night",), tags=("draft",)),
        ),
        otherwise=AUTO,
        models={Grade.EASY: luna, Grade.MODERATE: terra, Grade.HARD: opus},
        fallbacks={opus: (astra, llama)},
        patience=10.0,
        ceiling=Decimal("0.50"),
    )


def test_an_empty_table_changes_nothing() -> None:
    assert parse({}) == Routes()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("ruls = []", "llm.routes.ruls: no such key: use rules, otherwise, models"),
        ('rules = "x"', r"llm.routes.rules = 'x': a list of tables"),
        ("rules = [1]", r"llm.routes.rules\[1\] = 1: a table such as"),
        ('[[rules]]\ncrews = "x"\nuse = "auto"', r"llm.routes.rules\[1\].crews: no such key: use crew, queue, tag"),
        ('[[rules]]\ncrew = "x"', r'llm.routes.rules\[1\].use = None: use "auto", "as is" or "provider/model"'),
        ('[[rules]]\nuse = "gpt-5"', r"llm.routes.rules\[1\].use = 'gpt-5': use \"auto\""),
        ('[[rules]]\nuse = "a/b"\nstep = "one"', r"rules\[1\].step = 'one': the number of a step, from 1"),
        ('[[rules]]\nuse = "a/b"\nstep = 0', r"rules\[1\].step = 0: the number of a step, from 1"),
        ('[[rules]]\nuse = "a/b"\npriority = 7', r"rules\[1\].priority = 7: use 0 to 4, or p0, critical"),
        ('[[rules]]\nuse = "a/b"\ncrew = 3', r"rules\[1\].crew = 3: a name or a pattern"),
        ('otherwise = "cheap"', 'llm.routes.otherwise = \'cheap\': use "auto" or "as is"'),
        ("models = 3", "llm.routes.models = 3: a table"),
        ('models.eesy = "a/b"', "llm.routes.models.eesy: no such key: use easy, moderate, hard"),
        ('models.easy = "luna"', "llm.routes.models.easy = 'luna': use \"provider/model\""),
        ('otherwise = "auto"\nmodels.easy = "a/b"', "llm.routes.models.moderate: .* needs a model for every grade"),
        ('fallbacks.luna = "a/b"', "llm.routes.fallbacks = 'luna': use \"provider/model\""),
        ("patience_seconds = -1", "llm.routes.patience_seconds = -1: seconds from 0 to 3600"),
        ("patience_seconds = nan", "llm.routes.patience_seconds = nan: seconds from 0 to 3600"),
        ("ceiling_dollars = 0", "llm.routes.ceiling_dollars = 0: US dollars for one call, above 0"),
        ('ceiling_dollars = "NaN"', "llm.routes.ceiling_dollars = 'NaN': US dollars"),
    ],
)
def test_a_mistake_is_named_in_one_line_with_what_is_allowed(table: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        parse(tomllib.loads(table))
    assert "\n" not in str(refused.value)
