"""Which server reads go to: the read replica while it answers and keeps up, else the primary."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from crewtop.model.durations import duration
from crewtop.model.errors import Unavailable
from crewtop.store.database import Database, TooSlow

Answer = TypeVar("Answer")

MOST_LAG_SECONDS = 10.0
"""A replica further behind is not read from: rollups that are over, and are not fetched again, would lack their end."""

FIRST_REST_SECONDS, LONGEST_REST_SECONDS = 15.0, 240.0
"""For so long a replica that was away is not asked, doubling each time: the attempt may hold a screen up."""


class Reading:
    """Puts questions to the replica, or to the primary where there is none or it is away. clock: monotonic seconds.

    away: why the primary is read from though a replica is configured, '' where it is not.
    """

    def __init__(
        self, primary: Database, replica: Database | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.away = ""
        self._primary = primary
        self._replica = replica
        self._clock = clock
        self._rest_until = 0.0
        self._rest = FIRST_REST_SECONDS

    async def ask(self, question: Callable[[Database], Awaitable[Answer]]) -> Answer:
        """The answer of whichever server is read from. Raises what the question raises on the primary.

        A question that is too slow for the replica is not put to the primary as well: it would be no quicker there.
        """
        if self._replica is None or self._clock() < self._rest_until:
            return await question(self._primary)
        try:
            answer = await question(self._replica)
        except TooSlow:
            raise
        except Unavailable as error:
            self.away = str(error)
            self._rest_until = self._clock() + self._rest
            self._rest = min(2 * self._rest, LONGEST_REST_SECONDS)
            return await question(self._primary)
        self.away, self._rest = "", FIRST_REST_SECONDS
        return answer

    def lag(self, database: Database, behind: float | None) -> float | None:
        """Seconds that figures of this server are behind, None where they are the primary's own.

        behind: as store/snapshot.sql says. Raises Unavailable where that is too much.
        """
        if database is self._primary:
            return None
        if behind is None or behind > MOST_LAG_SECONDS:
            raise Unavailable(f"it is {duration(behind) if behind is not None else 'nobody knows how far'} behind")
        return behind
