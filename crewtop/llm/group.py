"""The calls of one worker to one model: they wait in line, and one loop asks for permits for all of them at once."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from crewtop.live.allowances import GRACE_SECONDS, MARGIN_SECONDS, Answered, Asked, Ended
from crewtop.llm.asking import CallAsk, Denied, Permit
from crewtop.llm.line import Line, Waiter
from crewtop.llm.meter import Meter
from crewtop.llm.teller import Teller, Way
from crewtop.model.allowance import AllowanceState

BATCH = 100
"""Calls for which permits are asked at once."""
LOOKS_SECONDS = 0.5
"""Who waits asks again at least so often: what others give back is not told to it. Well within FRESH_SECONDS."""
TOGETHER_SECONDS = 0.01
"""What nobody waits for is told with what is asked within this time: an exchange of its own would hold that up."""
RENEWS_SECONDS = 1.0
"""A worker with calls that count says so at least as often: well within its lease, and within Redis's grace."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The ways that may be used now, and the seconds until there is one: 0 now, None never."""

    ways: Sequence[Way]
    rest: float | None


@dataclass(frozen=True, slots=True)
class Out:
    """A call with a permit. free: by kind, what the model's limits had left then."""

    ask: CallAsk
    meters: Sequence[Meter]
    permitted_at: float
    free: Mapping[str, float]


@dataclass(eq=False, slots=True)
class Group:
    """One model of one provider.

    ready: what may be used at the moment of asking. teller: to Redis, None where there is none. turn: of the provider:
    exchanges about it go one by one, as they tell of the same calls in flight. permitted: takes note of a permit before
    it is given. known_workers: how many live, as far as is known without Redis. reckon: the tokens to reserve.
    """

    provider: str
    model: str
    ready: Callable[[], Ready]
    teller: Teller | None
    turn: asyncio.Lock
    clock: Callable[[], float]
    known_workers: Callable[[], int]
    reckon: Callable[[CallAsk], int]
    permitted: Callable[[Group, str, Out], None]
    _line: Line = field(default_factory=Line)
    _meters: list[Meter] = field(default_factory=list)
    _unjudged: list[tuple[Out, Mapping[str, str]]] = field(default_factory=list)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _resumes_at: float = -math.inf
    _shown_at: float = -math.inf
    _closed: bool = False

    def join(self, waiter: Waiter) -> None:
        """Let a call wait; where there is plenty it goes at once, and is told of."""
        way = self._plenty(waiter)
        self._line.add(waiter)
        if way is not None and self.teller is not None:
            self._permit(waiter, way, self.clock())
            self.teller.tell(waiter.ask.call_id)
            self._wake_soon()
            return
        if self._closed:
            self.close()
        self._wake.set()

    def _plenty(self, waiter: Waiter) -> Way | None:
        """The way with most room, if so much that all workers may send one more beside what Redis permits meanwhile.

        Each has one at most that is not told of, and no view that is older than FRESH_SECONDS.
        """
        now = self.clock()
        if self.teller is None or not self.teller.is_fresh(now) or self._line or self._closed:
            return None
        waiter.tokens, workers = self.reckon(waiter.ask), self._workers()
        rooms = [
            (min(meter.plenty(workers, waiter.tokens, now) for meter in way.meters), way)
            for way in self.ready().ways
            if all(meter in self._meters for meter in way.meters)
        ]
        room, best = max(rooms, key=lambda each: each[0], default=(0.0, None))
        return best if room > 0.0 else None

    def leave(self, waiter: Waiter) -> None:
        """It waits no more, here and in Redis."""
        self._line.remove(waiter, served=False)
        self._wake.set()

    def drop(self, calls: frozenset[str]) -> None:
        """Let nobody wait for these calls any more."""
        for waiter in self._line.all():
            if waiter.ask.call_id in calls:
                self._deny(waiter, Denied("its run has ended", None, terminal=True))
                self._wake.set()

    def end(self, out: Out, ended: Ended) -> None:
        """A call that was out has ended. Redis is told with the next exchange: at once where somebody waits."""
        now = self.clock()
        for meter in out.meters:
            if ended.unsent:
                meter.take_back(ended.call)
            else:
                meter.land(ended.call, ended.tokens, now)
        if self.teller is not None:
            self.teller.end(out.meters, ended)
        if self._line:
            self._wake.set()
        else:
            self._wake_soon()

    def _wake_soon(self) -> None:
        asyncio.get_running_loop().call_later(TOGETHER_SECONDS, self._wake.set)

    def judge(self, out: Out, headers: Mapping[str, str]) -> None:
        """Learn from an answer's headers, as soon as it is known what all workers use."""
        self._unjudged.append((out, headers))

    def states(self) -> list[AllowanceState]:
        """How its allowances stand."""
        now = self.clock()
        resumes_in = self._resumes_at - now if self._line and self._resumes_at > now else None
        return [meter.state(resumes_in, self._workers(), now) for meter in self._meters]

    def close(self) -> None:
        """Let serve end after one more exchange, and nobody wait."""
        self._closed = True
        for waiter in self._line.all():
            self._deny(waiter, Denied("the worker ends", None, terminal=False))
        self._wake.set()

    async def serve(self) -> None:
        """Ask for permits until it is closed. What goes wrong here is told to all that wait.

        It is not cancelled: a client's library may swallow that in the midst of an exchange.
        """
        while not self._closed:
            self._wake.clear()
            rest = await self._safely()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._wake.wait()
        await self._safely()

    async def _safely(self) -> float | None:
        try:
            async with self.turn:
                return await self._round()
        except Exception as error:
            for waiter in self._line.all():
                self._line.remove(waiter, served=False)
                if not waiter.answer.done():
                    waiter.answer.set_exception(error)
            return RENEWS_SECONDS

    async def _round(self) -> float | None:
        """One exchange. Answers the seconds until the next is due, None: when something has happened."""
        ready, now = self.ready(), self.clock()
        for meter in (meter for way in ready.ways for meter in way.meters):
            if meter not in self._meters:
                self._meters.append(meter)
        for meter in self._meters:
            meter.log.purge(now)
        ways, waiters = self._within_own_part(ready.ways, self._next(), now)
        answer = None
        if self.teller is not None and self._meters:
            asked = [Asked(w.ask.call_id, _fitting(w, ways, now), w.ask.priority) for w in waiters]
            want, workers = self._line.want(), self._workers()
            answer = await self.teller.exchange(self._meters, ways, asked, want, workers, now)
        if not ways:
            again = self._without_keys(ready.rest)
        elif answer is None:
            again = self._alone(ready.ways, self._next())
        else:
            again = self._grant(ways, waiters, answer, now)
        await self._show()
        return self._rest(again, heard=answer is not None)

    def _next(self) -> Sequence[Waiter]:
        """Who is next in line, with what such calls take by now."""
        waiters = self._line.first(BATCH)
        for waiter in waiters:
            waiter.tokens = self.reckon(waiter.ask)
        return waiters

    def _rest(self, again: float, *, heard: bool) -> float | None:
        if heard and self.teller is not None and self.teller.is_due:
            return 0.0
        if self._line:
            return min(again, LOOKS_SECONDS)
        return RENEWS_SECONDS if any(meter.flying or meter.log.requests for meter in self._meters) else None

    def _grant(self, ways: Sequence[Way], waiters: Sequence[Waiter], answer: Answered, asked_at: float) -> float:
        """Give out what Redis granted. Answers the seconds until asking again may help."""
        now = self.clock()
        for meter, used in zip(self._meters, answer.used, strict=True):
            meter.see(used, now)
        self._learn(now)
        stale = now - asked_at > MARGIN_SECONDS / 2  # half of the margin is for Redis, the other for the way from here
        for waiter, position in zip(waiters, answer.granted, strict=False):
            way = ways[position]
            if self.teller is not None and (stale or waiter.answer.done()):
                self.teller.end(way.meters, Ended(waiter.ask.call_id, (), unsent=True))
            else:
                self._permit(waiter, way, now)
        if len(answer.granted) < len(waiters):
            again = answer.again
        elif waiters or not self._line or not _on_its_own(ways, now):
            return 0.0
        else:  # this worker's part is used up
            again = self._again_alone(self._line.first(1)[0], ways, now, urgent=True)
        self._give_up(now, again)
        return again

    def _learn(self, now: float) -> None:
        for out, headers in self._unjudged:
            meter = out.meters[-1]
            left = {kind: min(out.free.get(kind, math.inf), free) for kind, free in meter.free(now).items()}
            meter.pace.learn(headers, left, now)
        self._unjudged.clear()

    def _alone(self, ways: Sequence[Way], waiters: Sequence[Waiter]) -> float:
        """Give out this worker's own part, as there is no Redis to ask. Answers as _grant does."""
        now, workers = self.clock(), self._workers()
        for meter in self._meters:
            meter.lose(workers, now, seen=self.teller is not None)
        self._learn(now)
        lost_at = max(meter.lost_at or now for way in ways for meter in way.meters)
        if self.teller is not None and now < lost_at + GRACE_SECONDS:
            return lost_at + GRACE_SECONDS - now  # most likely Redis is back by then, and others never missed it
        for waiter in waiters:
            if waiter.answer.done():
                continue  # it was cancelled, and is about to leave
            soonest = self._again_alone(waiter, ways, now, urgent=waiter.urgent)
            if soonest > 0.0:
                self._give_up(now, soonest)
                return soonest
            free = [way for way in ways if self._again_alone(waiter, (way,), now, urgent=waiter.urgent) == 0.0]
            self._permit(waiter, min(free, key=lambda way: way.meters[-1].log.requests), now)
        return 0.0

    def _again_alone(self, waiter: Waiter, ways: Sequence[Way], now: float, *, urgent: bool) -> float:
        """Seconds until this worker may let it out without asking anybody."""
        workers = self._workers()
        return min(
            max(meter.again_alone(workers, waiter.tokens, now, urgent=urgent) for meter in way.meters) for way in ways
        )

    def _without_keys(self, rest: float | None) -> float:
        if rest is not None:
            self._give_up(self.clock(), rest)
            return rest
        for waiter in self._line.all():
            self._deny(waiter, Denied(f"no key of {self.provider} is left", None, terminal=True))
        return RENEWS_SECONDS

    def _permit(self, waiter: Waiter, way: Way, now: float) -> None:
        call = waiter.ask.call_id
        self._line.remove(waiter, served=True)
        tokens = _fitting(waiter, (way,), now)
        for meter in way.meters:
            meter.permit(call, tokens, now)
        self.permitted(self, call, Out(waiter.ask, way.meters, now, way.meters[-1].free(now)))
        permit = Permit(call, self.provider, self.model, way.key, waited=max(0.0, now - waiter.since))
        waiter.answer.set_result(permit)

    def _within_own_part(
        self, ways: Sequence[Way], waiters: Sequence[Waiter], now: float
    ) -> tuple[Sequence[Way], Sequence[Waiter]]:
        """The ways and the calls to ask for: while this worker is on its own, what fits into its part of one key."""
        if not ways:
            return ways, ()
        if not _on_its_own(ways, now):
            return ways, waiters
        fitting = [(way, self._fits_own_part(way, waiters, now)) for way in ways]
        way, found = max(fitting, key=lambda each: len(each[1]))
        return [way], found

    def _fits_own_part(self, way: Way, waiters: Sequence[Waiter], now: float) -> Sequence[Waiter]:
        rooms = [meter.room_alone(self._workers(), now) for meter in way.meters]
        requests, tokens, largest = (min(room[kind] for room in rooms) for kind in range(3))
        for position, waiter in enumerate(waiters):
            requests, tokens = requests - 1, tokens - min(waiter.tokens, largest)
            if requests < 0 or tokens < 0:
                return waiters[:position]
        return waiters

    def _give_up(self, now: float, again: float) -> None:
        """Nobody goes before the first in line: whoever cannot wait for so long need not wait at all."""
        again = again if math.isfinite(again) else 0.0
        self._resumes_at = now + again
        for waiter in self._line.all():
            if waiter.until < now + again:
                why = f"{self.provider}/{self.model} is throttled, resumes in {again:.0f} s"
                self._deny(waiter, Denied(why, again, terminal=False))

    def _deny(self, waiter: Waiter, denied: Denied) -> None:
        self._line.remove(waiter, served=False)
        if not waiter.answer.done():
            waiter.answer.set_result(denied)

    async def _show(self) -> None:
        now = self.clock()
        if self.teller is not None and not self._is_alone() and now >= self._shown_at + RENEWS_SECONDS:
            self._shown_at = now
            await self.teller.shared.show(self.states())

    def _is_alone(self) -> bool:
        return any(meter.lost_at is not None for meter in self._meters)

    def _workers(self) -> int:
        return max(1, self.known_workers(), self.teller.workers if self.teller else 1)


def _on_its_own(ways: Sequence[Way], now: float) -> bool:
    return any(meter.on_its_own(now) for way in ways for meter in way.meters)


def _fitting(waiter: Waiter, ways: Sequence[Way], now: float) -> int:
    """The call's tokens; at most what a window holds, so that one with a cautious estimate goes alone, not never."""
    most = [
        min((m.pace.limits(now).tokens_per_minute or math.inf for m in way.meters), default=math.inf) for way in ways
    ]
    return int(min(waiter.tokens, max(most, default=math.inf)))
