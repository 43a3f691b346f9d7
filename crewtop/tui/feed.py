"""Asking a source again and again: one question in flight, a limit on its time, an endless jittered retry."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from crewtop.tui.source import Unavailable

Answer = TypeVar("Answer")

TIMEOUT_SECONDS = 10.0
"""How long an answer may take before the source counts as hung. Sources have shorter limits of their own."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.25, 15.0
"""The pauses between two attempts while a source is down double from the first to the longest."""


RESTS = 9.0
"""A question is asked again no sooner than after so many times what the quickest of the last three took: it gets a
tenth of a server's time."""


def pause_after(failures: int, interval: float, chance: float) -> float:
    """Seconds to wait after so many failures in a row; chance in [0, 1) spreads many screens over time.

    Full jitter on an exponential limit, but never less than half of it: the operator waits for this.
    """
    if failures == 0:
        return interval
    limit = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 10))
    return limit * (0.5 + chance / 2)


class Feed(Generic[Answer]):
    """Polls ask every interval seconds until cancelled, and less often where an answer takes its time.

    give gets each answer; trouble gets one line for each failure. Neither a failure nor a hung source ends it. pause:
    the seconds from the last answer to the next question.
    """

    def __init__(
        self,
        ask: Callable[[], Awaitable[Answer]],
        give: Callable[[Answer], None],
        trouble: Callable[[str], None],
        interval: Callable[[], float],
        chance: Callable[[], float] = random.random,
        timeout: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask, self._give, self._trouble = ask, give, trouble
        self._interval, self._chance, self._timeout, self._clock = interval, chance, timeout, clock
        self._wake = asyncio.Event()
        self._took = deque([0.0, 0.0], maxlen=3)  # one stall is no slow server
        self.pause = interval()

    def poke(self) -> None:
        """Ask as soon as the question in flight is answered: something that it depends on has changed."""
        self._wake.set()

    async def run(self) -> None:
        """Ask until cancelled, even if a driver below made an error of its own out of the cancellation."""
        failures = 0
        task = asyncio.current_task()
        assert task is not None
        while True:
            failures = 0 if await self._once() else failures + 1
            if task.cancelling():
                break
            pause = pause_after(failures, self.pause, self._chance())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(0)  # a source that answers at once and pokes must not starve the keys

    async def _once(self) -> bool:
        began = self._clock()
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._ask()
            self._took.append(self._clock() - began)
            self.pause = max(self._interval(), RESTS * min(self._took))
            self._give(answer)
        except Unavailable as error:
            self._trouble(str(error))
        except TimeoutError:
            self._trouble(f"no answer within {self._timeout:g} s")
        except Exception as error:  # a defect, here or below, must not end the asking
            self._trouble(f"unexpected {type(error).__name__}: {error}")
        else:
            return True
        return False
