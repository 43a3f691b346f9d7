"""What LLM calls cost, by model, crew, queue and time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from crewtop.model.money import Money
from crewtop.model.pricing import Tokens
from crewtop.model.snapshot import Percentiles


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls to one model. Token counts are sums of what is known, in tokens; cost says how many calls are unpriced.

    input_tokens are uncached ones; reasoning_tokens are a part of output_tokens. latency is of answered calls.
    """

    provider: str
    model: str
    calls: int
    errors: int
    rate_limited: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost: Money
    latency: Percentiles


@dataclass(frozen=True, slots=True)
class Spent:
    """What one crew or queue spent; completed: how many of its tasks completed meanwhile."""

    name: str
    cost: Money
    completed: int


@dataclass(frozen=True, slots=True)
class SpentIn:
    """What was spent in an hour or a day that began at an instant."""

    at: datetime
    cost: Money


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent over so many hours up to now. at: the database's clock.

    models, crews and queues: the dearest first; hours: one a clock hour that they touch, oldest first, those without a
    call included; days: likewise over the last 14 days, in UTC. The sum of hours, like total, begins that many hours
    ago, or with the first whole hour where those are more than a day: the first of hours is a part of one. completed:
    tasks that completed in these hours; failed: what all attempts at those tasks cost that failed for good in these
    hours, of the newest 20,000 failed ones. today: since midnight UTC; projected: today's at its end, if the rest of it
    goes on as the last hour went, None where nothing was spent in it.
    """

    at: datetime
    hours_back: int
    total: Money
    completed: int
    models: tuple[ModelUsage, ...] = ()
    crews: tuple[Spent, ...] = ()
    queues: tuple[Spent, ...] = ()
    hours: tuple[SpentIn, ...] = ()
    days: tuple[SpentIn, ...] = ()
    failed: Money = field(default_factory=Money)
    today: Money = field(default_factory=Money)
    projected: Money | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one crew, model, queue, step or day (UTC) cost; failed: of that what went to tasks that have failed by now.

    Token counts are sums of what is known, as in ModelUsage.
    """

    name: str
    cost: Money
    failed: Money
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int


@dataclass(frozen=True, slots=True)
class Costs:
    """What LLM calls cost that ended from since on, by what. at: the database's clock; notes: what is left out of it.

    rows: the dearest first, days in their order. Their sum is total, to the last digit.
    """

    at: datetime
    since: datetime
    by: str
    rows: tuple[Cost, ...]
    total: Money
    failed: Money
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One LLM call of the ledger, to be priced again. tokens as they were normalised then, None unknown.

    usage: what the provider reported, as JSON text; route: how its model was chosen, likewise; step: number in its run.
    """

    run_id: int
    call_id: str
    task_id: int
    provider: str
    model: str
    started_at: datetime
    ended_at: datetime
    tokens: Tokens | None
    cost: Decimal | None
    price_source: str
    usage: str | None
    route: str | None
    step: int | None
    crew: str
    queue: str
    priority: int


@dataclass(frozen=True, slots=True)
class Repriced:
    """Calls to a model whose price came from old_source and comes from new_source now.

    before and after: their sums in US dollars; unknown: how many of them had no known cost before.
    """

    provider: str
    model: str
    old_source: str
    new_source: str
    calls: int
    unknown: int
    before: Decimal
    after: Decimal


@dataclass(frozen=True, slots=True)
class Repricing:
    """One time that old calls were priced again: the calls that ended from since up to at; model None: to any.

    actor: who wanted it; role: as whom the database knows them; ended_at None: it is not through yet.
    """

    id: int
    at: datetime
    ended_at: datetime | None
    actor: str
    role: str
    since: datetime
    model: str | None
    sums: tuple[Repriced, ...] = ()
