"""The [llm] table of the settings, and what all tables have in common."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

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
    queue as throttled, at no cost. prices: the user's own, which win over every list.
    """

    connect_seconds: Seconds = 10.0
    first_byte_seconds: Seconds = 300.0
    call_seconds: Seconds = 900.0
    tries: Annotated[int, Field(ge=1, le=20)] = 3
    wait_seconds: Annotated[float, Field(ge=0, le=86_400)] = 30.0
    providers: dict[str, Provider] = Field(default_factory=dict)
    limits: dict[str, CallLimit] = Field(default_factory=dict)
    prices: dict[str, Price] = Field(default_factory=dict)

    def keys(self) -> dict[str, tuple[str, ...]]:
        """The names of all keys, by provider; providers without any are left out."""
        return {name: provider.keys for name, provider in self.providers.items() if provider.keys}
