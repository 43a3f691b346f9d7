"""What a call costs: the user's own table first, then genai-prices, else unknown with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import version

from crewtop.model.pricing import Rates, Tokens


@dataclass(frozen=True, slots=True)
class Price:
    """cost in US dollars, None where unknown; source is where it comes from with its version, or why it is unknown."""

    cost: Decimal | None
    source: str


def price(
    provider: str | None, model: str, tokens: Tokens | None, own: Mapping[str, Rates], at: datetime | None = None
) -> Price:
    """The price of one answered call, at an instant (None: now).

    own maps 'model' or 'provider/model' to rates and wins over every other source; it knows no dates.
    """
    if tokens is None:
        return Price(None, "unknown: the provider reported no usage")
    rates = own.get(f"{provider}/{model}") or own.get(model)
    if rates is not None:
        return Price(rates.cost(tokens), _own_version(rates))
    return _listed(provider, model, tokens, at)


def _own_version(rates: Rates) -> str:
    """A file has no version, so the rates stand for themselves: US dollars a million tokens."""
    return (
        f"crewtop.toml: {rates.input:f} in, {rates.cache_read:f} cached, {rates.cache_write:f} to cache, "
        f"{rates.output:f} out"
    )


def _listed(provider: str | None, model: str, tokens: Tokens, at: datetime | None) -> Price:
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=tokens.input + tokens.cache_read + tokens.cache_write,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
    )
    try:
        listed = calc_price(usage, model, provider_id=provider, genai_request_timestamp=at).total_price
    except LookupError:
        return Price(None, f"unknown: genai-prices {_listed_version()} lists no {provider or '?'}/{model}")
    except ValueError as error:
        return Price(None, f"unknown: {error}")
    if not listed.is_finite() or listed < 0:
        return Price(None, f"unknown: genai-prices {_listed_version()} answered {listed}")
    return Price(listed, f"genai-prices {_listed_version()}")


@cache
def _listed_version() -> str:
    return version("genai-prices")
