"""What one worker and Redis tell each other about one model: calls that ended, calls that want out, calls it forgot."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from crewtop.live.allowances import (
    FRESH_SECONDS,
    GRACE_SECONDS,
    Answered,
    Asked,
    Ended,
    Exchange,
    SharedAllowances,
    Told,
)
from crewtop.llm.meter import Meter

MOST_ENDED = 10_000
"""Ended calls that are kept to be told when Redis is back; of the others the estimate counts for its minute."""


@dataclass(frozen=True, slots=True)
class Way:
    """A key by name, None for the crew's own, and the allowances that a call with it draws on, its model's last."""

    key: str | None
    meters: Sequence[Meter]


@dataclass(eq=False, slots=True)
class Teller:
    """Of one provider's model. workers: how many use the provider, as Redis said last.

    An exchange without an answer may have granted what it asked for (unheard): that is given back unless it is asked
    for again, or went out without Redis.
    """

    shared: SharedAllowances
    provider: str
    model: str
    workers: int = 1
    _ended: list[tuple[Sequence[Meter], Ended]] = field(default_factory=list)
    _epoch: str | None = None
    _retells: bool = False
    _unheard: frozenset[str] = frozenset()
    _untold: set[str] = field(default_factory=set)
    _heard_at: float = -math.inf
    _told_by: float = math.inf

    @property
    def is_due(self) -> bool:
        """Whether there is something that Redis should know at once."""
        return bool(self._retells or self._ended)

    def is_fresh(self, now: float) -> bool:
        """Whether Redis knows of every call that went out, and said lately what all others have out."""
        knows_all = not self._untold and not self._retells and now >= self._told_by
        return knows_all and now < self._heard_at + FRESH_SECONDS

    def tell(self, call: str) -> None:
        """Tell with the next exchange that a call went out that was not asked for."""
        self._untold.add(call)

    def end(self, meters: Sequence[Meter], ended: Ended) -> None:
        """Tell with the next exchange that a call has ended, or was given back."""
        self._ended.append((meters, ended))
        del self._ended[:-MOST_ENDED]

    async def exchange(
        self,
        meters: Sequence[Meter],
        ways: Sequence[Way],
        asked: Sequence[Asked],
        want: tuple[int, int, int],
        workers: int,
        now: float,
    ) -> Answered | None:
        """Tell all and ask. None where Redis is away: then it is told all again when it is back.

        workers: how many may know of calls that Redis forgot.
        """
        position = {id(meter): number for number, meter in enumerate(meters)}
        ended, self._ended = self._ended, []
        retells = self._retells
        untold, self._untold = self._untold, set()
        told = _told(meters, now, None if retells else untold)
        unsent = self._unheard - {ask.call for ask in asked} - {call.call for call in told}
        exchange = Exchange(
            self.provider,
            self.model,
            [meter.allowance for meter in meters],
            [meter.pace.limits(now) for meter in meters],
            [meter.kept(now) for meter in meters],
            [len(meter.flying) for meter in meters],
            [[position[id(meter)] for meter in way.meters] for way in ways],
            asked,
            told,
            [replace(end, allowances=[position[id(meter)] for meter in of]) for of, end in ended]
            + [Ended(call, range(len(meters)), unsent=True) for call in unsent],
            want,
            remembers=workers > 1 or any(meter.log.requests for meter in meters),
        )
        answer = await self.shared.exchange(exchange)
        if answer is None:
            self._ended[:0] = ended
            self._unheard |= {ask.call for ask in asked} if not retells else set()
            self._retells = True
            return None
        self._heard_at = now
        if answer.epoch != self._epoch:
            self._told_by = now + GRACE_SECONDS  # until then others tell what a new memory does not know
        self._unheard = frozenset()
        self._retells = self._epoch not in (None, answer.epoch) and not retells
        self._epoch, self.workers = answer.epoch, answer.workers
        return answer


def _told(meters: Sequence[Meter], now: float, calls: Collection[str] | None) -> list[Told]:
    """What is to be told of these calls; None: of all that count."""
    return [
        Told(call, position, known[call][0], known[call][1] - now)
        for position, known in enumerate(meter.log.calls() for meter in meters)
        for call in (known if calls is None else known.keys() & calls)
        if known[call][1] > now
    ]
