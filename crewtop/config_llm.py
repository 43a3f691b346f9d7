"""The [llm] table of the settings, and what all tables have in common."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from crewtop.model import budgets
from crewtop.model.pricing import Rates, money

Seconds = Annotated[float, Field(gt=0, le=31_536_000, allow_inf_nan=False)]


class Table(BaseModel):
    """A table of crewtop.toml: an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(Table):
    """[llm.prices."provider/model"]: US dollars a million tokens. Cached input costs as much as input unless stated."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None

    @field_validator("*", mode="before")
    @classmethod
    def _finite(cls, value: object) -> Decimal:
        return money(value, "price")

    def rates(self) -> Rates:
        """The same as the ledger reckons with."""
        return Rates(
            self.input,
            self.output,
            self.input if self.cache_read is None else self.cache_read,
            self.input if self.cache_write is None else self.cache_write,
        )


class Budget(Table):
    """[llm.budgets]: day is US dollars from midnight to midnight, UTC; warn: from which share of it on to say so.

    then: what comes once it is spent: "warn" only says so; with "pause" nothing more of it is claimed until midnight,
    or until the budget is raised.
    """

    day: Annotated[Decimal, Field(gt=0, le=1_000_000_000, allow_inf_nan=False)]
    warn: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.8
    then: Literal["warn", "pause"] = "warn"


BudgetName = Annotated[str, Field(min_length=1, max_length=200)]


class Budgets(Table):
    """[llm.budgets]: what may be spent a day, by queue and by crew; total: by all of them together."""

    total: Budget | None = None
    queue: dict[BudgetName, Budget] = Field(default_factory=dict)
    crew: dict[BudgetName, Budget] = Field(default_factory=dict)

    def rows(self) -> tuple[budgets.Budget, ...]:
        """All of them, as the database judges them."""
        named: list[tuple[budgets.Scope, str, Budget]] = [("total", "", self.total)] if self.total else []
        named += [("queue", name, budget) for name, budget in self.queue.items()]
        named += [("crew", name, budget) for name, budget in self.crew.items()]
        return tuple(budgets.Budget(scope, name, b.day, b.warn, b.then == "pause") for scope, name, b in named)


_KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[^\0]*/[^\0]*")


class Provider(Table):
    """[llm.providers.<name>]: keys are names of environment variables, or paths of files that hold a key each.

    base_url: where another provider's calls are sent when they are routed here; None is the provider's own address.
    """

    keys: tuple[str, ...] = ()
    base_url: str | None = None

    @field_validator("keys")
    @classmethod
    def _are_names(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_KEY_NAME.fullmatch(key) for key in keys):  # what is there may be the key itself: it is not shown
            raise ValueError("name the environment variable or the file that holds a key, never the key itself")
        if len(set(keys)) < len(keys):
            raise ValueError("a key is named twice")
        return keys


class CallLimit(Table):
    """[llm.limits."provider/model"], or [llm.limits.provider] for all its models together: for each of its keys."""

    requests_per_minute: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    tokens_per_minute: Annotated[int, Field(ge=1, le=10_000_000_000)] | None = None
    at_once: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class Llm(Table):
    """[llm]: how crews' calls to models are made, unless a crew's are left "as is".

    connect_seconds, first_byte_seconds (also between any two pieces of an answer) and call_seconds (all of it): after
    these a call is given up; a model's own timeout wins. tries: how often a call goes out that may be answered a
    moment later. wait_seconds: how long it waits in its slot for a limit; what has to wait longer goes back to the
    queue as throttled, at no cost. prices: the user's own, which win over every list. budgets: a day's.
    windows: tokens that a model takes, in and out together, by "provider/model" or "model", where the list is wrong or
    has none. routes: which model a call goes to; a worker reads them when it starts.
    """

    connect_seconds: Seconds = 10.0
    first_byte_seconds: Seconds = 300.0
    call_seconds: Seconds = 900.0
    tries: Annotated[int, Field(ge=1, le=20)] = 3
    wait_seconds: Annotated[float, Field(ge=0, le=86_400)] = 30.0
    providers: dict[str, Provider] = Field(default_factory=dict)
    limits: dict[str, CallLimit] = Field(default_factory=dict)
    prices: dict[str, Price] = Field(default_factory=dict)
    windows: dict[str, Annotated[int, Field(ge=1, le=1_000_000_000)]] = Field(default_factory=dict)
    routes: dict[str, Any] = Field(default_factory=dict)
    budgets: Budgets = Budgets()

    def keys(self) -> dict[str, tuple[str, ...]]:
        """The names of all keys, by provider; providers without any are left out."""
        return {name: provider.keys for name, provider in self.providers.items() if provider.keys}
