"""The calls that wait for a permit: by priority, P0 first, and queues of equal priority in turns."""

from __future__ import annotations

from asyncio import Future
from collections import OrderedDict
from dataclasses import dataclass
from itertools import zip_longest

from crewtop.live.allowances import URGENT
from crewtop.llm.asking import CallAsk, Denied, Permit


@dataclass(eq=False, slots=True)
class Waiter:
    """One call. since and until: seconds of the clock at which it came, and at which it gives up. tokens: reserved."""

    ask: CallAsk
    answer: Future[Permit | Denied]
    since: float
    until: float
    tokens: int

    @property
    def urgent(self) -> bool:
        """Whether it may have what is kept from others."""
        return self.ask.priority <= URGENT


class Line:
    """Who is next. A queue with one call waits for one turn of each other queue, not for all that they have."""

    def __init__(self) -> None:
        self._by_priority: dict[int, OrderedDict[str, dict[str, Waiter]]] = {}

    def add(self, waiter: Waiter) -> None:
        """Let a call wait behind those of its own queue."""
        queues = self._by_priority.setdefault(waiter.ask.priority, OrderedDict())
        queues.setdefault(waiter.ask.queue, {})[waiter.ask.call_id] = waiter

    def remove(self, waiter: Waiter, *, served: bool) -> None:
        """Take a call out. served: its queue goes behind the others."""
        queues = self._by_priority.get(waiter.ask.priority, OrderedDict())
        calls = queues.get(waiter.ask.queue, {})
        if calls.pop(waiter.ask.call_id, None) is None:
            return
        if not calls:
            del queues[waiter.ask.queue]
            if not queues:
                del self._by_priority[waiter.ask.priority]
        elif served:
            queues.move_to_end(waiter.ask.queue)

    def first(self, most: int) -> list[Waiter]:
        """Those that are next, in order."""
        found: list[Waiter] = []
        for priority in sorted(self._by_priority):
            queues = [list(calls.values()) for calls in self._by_priority[priority].values()]
            for turn in zip_longest(*queues):
                if len(found) >= most:
                    return found[:most]
                found += [waiter for waiter in turn if waiter is not None]
        return found[:most]

    def want(self) -> tuple[int, int, int]:
        """The highest priority that waits, and how many requests and tokens wait there."""
        if not self._by_priority:
            return 0, 0, 0
        priority = min(self._by_priority)
        waiters = [waiter for calls in self._by_priority[priority].values() for waiter in calls.values()]
        return priority, len(waiters), sum(waiter.tokens for waiter in waiters)

    def all(self) -> list[Waiter]:
        """All that wait, in no order."""
        return [
            waiter for queues in self._by_priority.values() for calls in queues.values() for waiter in calls.values()
        ]

    def __bool__(self) -> bool:
        return bool(self._by_priority)
