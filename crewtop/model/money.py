"""Money that knows what it does not know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in US dollars of which some parts may be unknown: known is a lower bound while unknown > 0.

    unknown counts the LLM calls whose cost nobody reported; calls counts all of them.
    """

    known: Decimal = Decimal(0)
    unknown: int = 0
    calls: int = 0

    def __add__(self, other: Money) -> Money:
        return Money(self.known + other.known, self.unknown + other.unknown, self.calls + other.calls)

    def per(self, n: float) -> Money:
        """The share of one of n; unknown parts stay unknown."""
        return Money(self.known / Decimal(str(n)), self.unknown, self.calls)


def total(amounts: Iterable[Money]) -> Money:
    """The sum of amounts, which is a lower bound if any part of it is."""
    return sum(amounts, Money())
