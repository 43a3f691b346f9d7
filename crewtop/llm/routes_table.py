"""[llm.routes] of crewtop.toml, read into Routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from crewtop.llm.complexity import Grade
from crewtop.llm.routes import AS_IS, AUTO, PATIENCE_SECONDS, Model, Routes, Rule
from crewtop.model.task import Priority

PRIORITIES = {level.name.lower(): int(level) for level in Priority}


def parse(table: Mapping[str, Any]) -> Routes:
    """[llm.routes] of crewtop.toml. Raises ValueError in one line naming the key, the value and what is allowed."""
    _known(table, ("rules", "otherwise", "models", "fallbacks", "patience_seconds", "ceiling_dollars"), "llm.routes")
    rules = table.get("rules", [])
    if not isinstance(rules, list):
        raise ValueError(f"llm.routes.rules = {rules!r}: a list of tables, each begun with [[llm.routes.rules]]")
    otherwise = table.get("otherwise", AS_IS)
    if otherwise not in (AUTO, AS_IS):
        raise ValueError(f'llm.routes.otherwise = {otherwise!r}: use "{AUTO}" or "{AS_IS}"')
    routes = Routes(
        rules=tuple(_rule(rule, f"llm.routes.rules[{number}]") for number, rule in enumerate(rules, 1)),
        otherwise=otherwise,
        models=_models(_table(table, "models")),
        fallbacks=_fallbacks(_table(table, "fallbacks")),
        patience=_patience(table.get("patience_seconds", PATIENCE_SECONDS)),
        ceiling=_ceiling(table["ceiling_dollars"]) if "ceiling_dollars" in table else None,
    )
    if AUTO in (otherwise, *(rule.use for rule in routes.rules)) and set(routes.models) != set(Grade):
        missing = next(g for g in Grade if g not in routes.models)
        raise ValueError(f'llm.routes.models.{missing}: "auto" needs a model for every grade: "provider/model"')
    return routes


def _rule(table: object, key: str) -> Rule:
    if not isinstance(table, Mapping):
        raise ValueError(f'{key} = {table!r}: a table such as {{ crew = "support", use = "openai/gpt-5-mini" }}')
    _known(table, ("crew", "queue", "tag", "step", "priority", "use"), key)
    use = table.get("use")
    return Rule(
        use=str(use) if use in (AUTO, AS_IS) else _model(use, f"{key}.use", f'"{AUTO}", "{AS_IS}" or "provider/model"'),
        crews=_patterns(table, "crew", key),
        queues=_patterns(table, "queue", key),
        tags=_patterns(table, "tag", key),
        steps=tuple(_step(step, f"{key}.step") for step in _list(table.get("step", []))),
        priorities=tuple(_priority(level, f"{key}.priority") for level in _list(table.get("priority", []))),
    )


def _known(table: Mapping[str, Any], allowed: Sequence[str], key: str) -> None:
    for name in table:
        if name not in allowed:
            raise ValueError(f"{key}.{name}: no such key: use {', '.join(allowed)}")


def _table(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = table.get(name, {})
    if not isinstance(value, Mapping):
        raise ValueError(f"llm.routes.{name} = {value!r}: a table, begun with [llm.routes.{name}]")
    return value


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _patterns(table: Mapping[str, Any], name: str, key: str) -> tuple[str, ...]:
    patterns = _list(table.get(name, []))
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise ValueError(f'{key}.{name} = {pattern!r}: a name or a pattern such as "research-*", or a list of them')
    return tuple(str(pattern) for pattern in patterns)


def _step(value: object, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{key} = {value!r}: the number of a step, from 1, or a list of them")
    return value


def _priority(value: object, key: str) -> int:
    level = PRIORITIES.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= 4:
        raise ValueError(f"{key} = {value!r}: use 0 to 4, or {', '.join(PRIORITIES)}")
    return level


def _model(value: object, key: str, allowed: str = '"provider/model"') -> Model:
    provider, _, name = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not provider or not name:
        raise ValueError(f"{key} = {value!r}: use {allowed}")
    return Model(provider, name)


def _models(table: Mapping[str, Any]) -> dict[Grade, Model]:
    _known(table, tuple(Grade), "llm.routes.models")
    return {Grade(name): _model(value, f"llm.routes.models.{name}") for name, value in table.items()}


def _fallbacks(table: Mapping[str, Any]) -> dict[Model, tuple[Model, ...]]:
    return {
        _model(name, "llm.routes.fallbacks"): tuple(_model(v, f'llm.routes.fallbacks."{name}"') for v in _list(value))
        for name, value in table.items()
    }


def _patience(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 3_600:
        raise ValueError(f"llm.routes.patience_seconds = {value!r}: seconds from 0 to 3600")
    return float(value)


def _ceiling(value: object) -> Decimal:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if isinstance(value, bool) or not amount.is_finite() or amount <= 0:
        raise ValueError(f"llm.routes.ceiling_dollars = {value!r}: US dollars for one call, above 0")
    return amount
