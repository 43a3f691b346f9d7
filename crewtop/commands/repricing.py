"""Prices of past calls: as the present table has them, and as other models would have had them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from crewtop.llm.asking import CallAsk, PromptShape
from crewtop.llm.prices import Price, price
from crewtop.llm.routes import Model, PastCall, Routes, listed
from crewtop.llm.routes import reprice as by_routes
from crewtop.model.pricing import Rates, tokens
from crewtop.model.spending import Repriced, StoredCall

Place = tuple[str, str, str, str]


@dataclass(slots=True)
class Pricer:
    """The present price table, own first; counts what it makes of the calls that it is asked about.

    without_usage: calls of which nobody can say what they cost; unlisted: those whose model has no price now; same:
    those that cost what they cost. changes: the others, by where their price came from and comes from now.
    """

    own: Mapping[str, Rates]
    without_usage: int = 0
    unlisted: int = 0
    same: int = 0
    changes: dict[Place, Repriced] = field(default_factory=dict)

    def __call__(self, call: StoredCall) -> tuple[Decimal, str] | None:
        """A call's new price, None to leave it as it is: a cost that is known is never given up."""
        used = tokens(_object(call.usage))
        if used is None:
            self.without_usage += 1
            return None
        new = price(call.provider or None, call.model, used, self.own, call.started_at)
        if new.cost is None:
            self.unlisted += 1
            return None
        if (new.cost, new.source) == (call.cost, call.price_source):
            self.same += 1
            return None
        self._count(call, new.cost, new)
        return new.cost, new.source

    def sums(self) -> tuple[Repriced, ...]:
        """What would change, by model and source."""
        return tuple(self.changes[place] for place in sorted(self.changes))

    def _count(self, call: StoredCall, cost: Decimal, new: Price) -> None:
        place = (call.provider, call.model, call.price_source, new.source)
        sums = self.changes.get(place) or Repriced(*place, 0, 0, Decimal(0), Decimal(0))
        self.changes[place] = replace(
            sums,
            calls=sums.calls + 1,
            unknown=sums.unknown + (call.cost is None),
            before=sums.before + (call.cost or 0),
            after=sums.after + cost,
        )


@dataclass(slots=True)
class Supposed:
    """Calls to a model, and what they would have cost elsewhere. was and would: US dollars of the compared ones.

    unknown: calls left out, whose tokens, cost or other price nobody knows.
    """

    model: str
    instead: str
    compared: int = 0
    unknown: int = 0
    was: Decimal = Decimal(0)
    would: Decimal = Decimal(0)

    def add(self, was: Decimal | None, would: Decimal | None) -> None:
        """Another call."""
        if was is None or would is None:
            self.unknown += 1
        else:
            self.compared, self.was, self.would = self.compared + 1, self.was + was, self.would + would


async def by_mapping(
    pages: AsyncIterator[Sequence[StoredCall]], mapping: Mapping[str, str], own: Mapping[str, Rates]
) -> list[Supposed]:
    """What if calls to some models ('model' or 'provider/model') had gone to others, with the tokens that they took.

    Calls to models that are not named are left out. One without a provider is asked of the same one.
    """
    found: dict[tuple[str, str], Supposed] = {}
    async for page in pages:
        for call in page:
            model = f"{call.provider}/{call.model}" if call.provider else call.model
            instead = mapping.get(model) or mapping.get(call.model)
            if instead is None:
                continue
            provider, _, name = instead.rpartition("/")
            new = price(provider or call.provider or None, name, call.tokens, own, call.started_at)
            found.setdefault((model, instead), Supposed(model, instead)).add(call.cost, new.cost)
    return list(found.values())


async def by_route(
    pages: AsyncIterator[Sequence[StoredCall]], routes: Routes, own: Mapping[str, Rates]
) -> tuple[Supposed, dict[str, int]]:
    """What if other routes had been in force, at the prices of then; and how many calls would have gone to which."""
    whole, models = Supposed("all calls", "by these routes"), Counter[Model]()
    async for page in pages:
        for call in page:
            found = by_routes([_past(call)], routes, listed(own, call.started_at))
            whole.compared += found.compared
            whole.unknown += found.unknown
            whole.was += found.was
            whole.would += found.would
            models.update(found.models)
    return whole, {str(model): n for model, n in models.most_common()}


def difference(sums: Iterable[Repriced]) -> Decimal:
    """By how many US dollars the sum changes."""
    return sum((one.after - one.before for one in sums), Decimal(0))


def _past(call: StoredCall) -> PastCall:
    """A call as it asked: without a record of its prompt's shape, no route can be told."""
    route = _object(call.route) or {}
    provider, _, model = str(route.get("asked") or f"{call.provider}/{call.model}").partition("/")
    shape = route.get("prompt")
    ask = CallAsk(
        call_id=call.call_id,
        provider=provider,
        model=model,
        tokens=0,
        crew=call.crew,
        queue=call.queue,
        priority=call.priority,
        step=call.step,
        prompt=_shape(shape) if isinstance(shape, dict) else None,
        tag=route.get("tag"),
    )
    return PastCall(ask, call.tokens, call.cost)


def _shape(fields: dict[str, Any]) -> PromptShape | None:
    """The shape as it was stored; None for one of another version of it."""
    try:
        shape = PromptShape(**fields)
    except TypeError:
        return None
    return shape if shape.characters or shape.input_tokens else None


def _object(text: str | None) -> dict[str, Any] | None:
    found = json.loads(text) if text is not None else None
    return found if isinstance(found, dict) else None
