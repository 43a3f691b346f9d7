"""Which model a call goes to: rules first, then how demanding the prompt is, then what can take it right now.

Everything here is a function of what is stored with a call, so that `reprice` can answer later what other routes would
have cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

from crewtop.llm.asking import CallAsk, PromptShape
from crewtop.llm.complexity import Grade, grade
from crewtop.llm.prices import price
from crewtop.model.errors import CrewtopError
from crewtop.model.pricing import Rates, Tokens

AS_IS, AUTO = "as is", "auto"
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, order=True)
class Model:
    """A provider's model, written provider/model."""

    provider: str
    name: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


@dataclass(frozen=True, slots=True)
class Rule:
    """Calls that match every given condition use one model: by name, AUTO (by grade) or AS_IS (what the crew asks for).

    crews, queues and tags are patterns such as "research-*"; empty stands for any.
    """

    use: Model | str
    crews: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    priorities: tuple[int, ...] = ()

    def matches(self, ask: CallAsk) -> bool:
        """Whether the rule is about this call."""
        return (
            _among(ask.crew, self.crews)
            and _among(ask.queue, self.queues)
            and _among(ask.tag or "", self.tags)
            and (not self.steps or ask.step in self.steps)
            and (not self.priorities or ask.priority in self.priorities)
        )


@dataclass(frozen=True, slots=True)
class Routes:
    """[llm.routes].

    rules: the first that matches decides; otherwise: what happens to calls that none matches, AUTO or AS_IS.
    models: by grade, for AUTO. fallbacks: what to try, in order, in a model's place. patience: seconds that a call
    waits for a throttled model before another one takes it. ceiling: US dollars above which a model is too dear for it.
    """

    rules: tuple[Rule, ...] = ()
    otherwise: str = AS_IS
    models: Mapping[Grade, Model] = field(default_factory=dict)
    fallbacks: Mapping[Model, tuple[Model, ...]] = field(default_factory=dict)
    patience: float = PATIENCE_SECONDS
    ceiling: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Down:
    """Why a model cannot take a call now. seconds: until it can, None where unknown. broken: its breaker is open."""

    reason: str
    seconds: float | None
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Passed:
    """A model that would have come first, and why it was passed over."""

    model: Model
    why: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a call goes. reason: in words. rule: the number of the rule that decided, from 1, None if none did.

    score: of the prompt, with its grade, where that decided.
    """

    provider: str
    model: str
    reason: str
    rule: int | None = None
    grade: Grade | None = None
    score: float | None = None
    passed: tuple[Passed, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The choice as it is stored with the call."""
        return {
            "model": f"{self.provider}/{self.model}",
            "reason": self.reason,
            "rule": self.rule,
            "grade": self.grade,
            "score": self.score,
            "passed": [{"model": str(passed.model), "why": passed.why} for passed in self.passed],
        }


Prices = Callable[[Model, Tokens], Decimal | None]
"""What so many tokens of a model cost in US dollars, None where unknown."""
Availability = Callable[[Model], Down | None]
"""Why a model cannot take a call now; None: it can."""


def listed(own: Mapping[str, Rates], at: datetime | None = None) -> Prices:
    """Prices as the ledger reckons, at an instant (None: now): the user's own table, then genai-prices."""
    return lambda model, tokens: price(model.provider, model.name, tokens, own, at).cost


def choose(ask: CallAsk, prompt: PromptShape, routes: Routes, prices: Prices, down: Availability) -> Choice:
    """The model for a call, with the reason.

    If none of the candidates can take it, it is the first that is only throttled or broken: the call waits for that; if
    there is none, as all are without a key, it is the first.
    If all are dearer than the ceiling, or of unknown price, it is the first of those.
    Raises CrewtopError where a crew leaves the choice to the routes and they name no model for its grade.
    """
    wanted = _wanted(ask, prompt, routes)
    candidates = (wanted.model, *routes.fallbacks.get(wanted.model, ()))
    spent = Tokens(prompt.input_tokens, 0, 0, prompt.output_tokens, 0)
    passed: list[Passed] = []
    affordable: list[Model] = []
    coming: list[Model] = []
    for model in candidates:
        dear = _too_dear(prices(model, spent), routes.ceiling) if routes.ceiling is not None else None
        lies = down(model)
        why = dear or _unavailable(lies, routes.patience)
        if why is None:
            return wanted.to(model, passed)
        if dear is None:
            affordable.append(model)
            coming += [model] if lies is None or lies.seconds is not None else []
        passed.append(Passed(model, why))
    last = (coming or affordable or candidates)[0]
    return wanted.to(last, passed, "nothing else can take it")


@dataclass(frozen=True, slots=True)
class _Wanted:
    model: Model
    because: str
    rule: int | None
    grade: Grade | None
    score: float | None

    def to(self, model: Model, passed: Sequence[Passed], addition: str = "") -> Choice:
        parts = [self.because, *(f"{p.model} {p.why}" for p in passed), *([addition] if addition else [])]
        reason = "; ".join(parts)
        return Choice(model.provider, model.name, reason, self.rule, self.grade, self.score, tuple(passed))


def _wanted(ask: CallAsk, prompt: PromptShape, routes: Routes) -> _Wanted:
    number, rule = next(((n, r) for n, r in enumerate(routes.rules, 1) if r.matches(ask)), (None, None))
    use = rule.use if rule else routes.otherwise
    if ask.model == AUTO and use == AS_IS:
        use = AUTO
    said = f"rule {number}" if rule else "no rule matches" if routes.rules else ""
    if isinstance(use, Model):
        return _Wanted(use, f"{said} names it", number, None, None)
    if use == AS_IS:
        because = f"{said or 'there are no rules'}: as the crew asks"
        return _Wanted(Model(ask.provider, ask.model), because, number, None, None)
    graded = grade(prompt)
    if graded.grade not in routes.models:
        raise CrewtopError(
            f'crew {ask.crew}: model "auto" and a prompt graded {graded.grade}, but [llm.routes.models] names none for '
            f'it: add {graded.grade} = "provider/model"'
        )
    because = f"{said}: {graded.words}" if said else graded.words
    return _Wanted(routes.models[graded.grade], because, number, graded.grade, graded.score)


def _too_dear(cost: Decimal | None, ceiling: Decimal) -> str | None:
    if cost is None:
        return f"has no known price to hold against the ceiling of ${ceiling}"
    return f"would cost about ${cost:.4f}, over the ceiling of ${ceiling}" if cost > ceiling else None


def _unavailable(down: Down | None, patience: float) -> str | None:
    if down is None or (not down.broken and down.seconds is not None and down.seconds <= patience):
        return None
    left = "" if down.seconds is None else f" for {down.seconds:.0f} s"
    return f"is {down.reason}{left}"


def _among(value: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class PastCall:
    """A stored call: what was asked, its prompt's shape, the tokens that were billed and what they cost, if known."""

    ask: CallAsk
    tokens: Tokens | None
    cost: Decimal | None


@dataclass(frozen=True, slots=True)
class Repriced:
    """What past calls would have cost by other routes.

    was and would: US dollars over the calls whose cost is known both ways; their number is compared. unknown: calls
    left out because tokens, shape, price or model is missing. models: calls by the model that they would have gone to.
    """

    was: Decimal
    would: Decimal
    compared: int
    unknown: int
    models: Mapping[Model, int]


def reprice(calls: Iterable[PastCall], routes: Routes, prices: Prices) -> Repriced:
    """What if these routes had been in force, with every model up. Answers of another length are not guessed at."""
    was = would = Decimal(0)
    compared = unknown = 0
    models: dict[Model, int] = {}
    for call in calls:
        model, cost = _would(call, routes, prices)
        if model is not None:
            models[model] = models.get(model, 0) + 1
        if cost is None or call.cost is None:
            unknown += 1
            continue
        was, would, compared = was + call.cost, would + cost, compared + 1
    return Repriced(was, would, compared, unknown, models)


def _would(call: PastCall, routes: Routes, prices: Prices) -> tuple[Model | None, Decimal | None]:
    if call.tokens is None or call.ask.prompt is None:
        return None, None
    try:
        choice = choose(call.ask, call.ask.prompt, routes, prices, lambda _: None)
    except CrewtopError:
        return None, None
    model = Model(choice.provider, choice.model)
    return model, prices(model, call.tokens)
