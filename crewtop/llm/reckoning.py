"""What calls really take of what they ask for: an upper bound, of which English takes about a quarter."""

from __future__ import annotations

from collections import OrderedDict, deque

from crewtop.llm.asking import CallAsk

CALLS = 32
"""The last calls that tell what the next may take."""
ENOUGH = 8
"""Before so many have told, the whole estimate is reserved."""
MARGIN = 1.25
"""On top of the largest share among them. What is reserved for many calls at once is then far above what they take
together, as they take the average; a call that takes more is counted as soon as it has ended."""
KINDS = 10_000
"""So many kinds of calls are remembered, those that were asked for last."""

_Kind = tuple[str, str, str, int | None]


class Reckoning:
    """Learns it apart for each provider, model, crew and step: those say the same again and again."""

    def __init__(self) -> None:
        self._shares: OrderedDict[_Kind, deque[float]] = OrderedDict()

    def tokens(self, ask: CallAsk) -> int:
        """What to reserve for a call. More than its estimate where others of its kind took more than theirs."""
        shares = self._shares.get(_kind(ask), ())
        if len(shares) < ENOUGH:
            return ask.tokens
        largest = max(shares)
        return max(1, int(ask.tokens * max(largest, min(1.0, largest * MARGIN))))

    def tell(self, ask: CallAsk, tokens: int) -> None:
        """A call took so many; zeros, of providers that do not count, are left out."""
        if ask.tokens <= 0 or tokens <= 0:
            return
        self._shares.setdefault(_kind(ask), deque(maxlen=CALLS)).append(tokens / ask.tokens)
        self._shares.move_to_end(_kind(ask))
        if len(self._shares) > KINDS:
            self._shares.popitem(last=False)


def _kind(ask: CallAsk) -> _Kind:
    return ask.provider, ask.model, ask.crew, ask.step
