"""A run, whatever process it is in: what it has told, why it is to end, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from crewtop.model.events import CallAsked, CallSettled, Event, Raised, Returned, Turn
from crewtop.model.stuck import CALLABLE
from crewtop.model.task import Claim, Finish, RunOutcome
from crewtop.worker.calls import RunsCalls
from crewtop.worker.output import LiveLog, Output
from crewtop.worker.story import Entry, Story
from crewtop.worker.verdict import Ending, verdict
from crewtop.worker.work import Work

Kept = Coroutine[Any, Any, None]


class Run:
    """A claimed task on its way through an executor. unstarted: it went back because no process could be started.

    Thousands of them may begin and end in a second: what few runs need is made when it is needed.
    """

    __slots__ = (
        "_live_log",
        "_output",
        "_story",
        "_trace",
        "_work",
        "calls",
        "claim",
        "killed_for",
        "last",
        "started",
        "unstarted",
        "why",
    )

    def __init__(self, claim: Claim, work: Work, live_log: LiveLog) -> None:
        self.claim = claim
        self.started = time.monotonic()
        self.last: Returned | Raised | None = None
        self.killed_for: RunOutcome | None = None
        self.why: str | None = None
        self.unstarted = False
        self.calls: RunsCalls | None = None
        self._work = work
        self._live_log = live_log
        self._story: Story | None = None
        self._output: Output | None = None
        self._trace = work.traces.run(claim, self.started) if work.traces is not None else None

    def kill(self, outcome: RunOutcome, why: str) -> None:
        """End it before its time; the first reason counts."""
        if self.killed_for is None:
            self.killed_for, self.why = outcome, why
            self._stop()

    def cannot_start(self, error: Exception) -> None:
        """Hand it back for this host's fault, which is not the task's."""
        self.unstarted = True
        self.kill(RunOutcome.RETURNED, f"not started: {error}")

    def _stop(self) -> None:
        """Whatever ends it where it runs."""
        raise NotImplementedError

    @property
    def unanswered(self) -> bool:
        """Whether a call to a model never ended, so that its cost is unknown."""
        return (self._story is not None and self._story.unanswered) or (self.calls is not None and self.calls.cut)

    def tell(self, event: Event) -> list[Entry]:
        """Take note of an event; answers what it adds to the record."""
        if self._trace is not None:
            self._trace.tell(event)
        if isinstance(event, Returned | Raised):
            self.last = event
            return []
        return self._told().tell(event)

    async def call(
        self, event: CallAsked | CallSettled, reply: Callable[[dict[str, Any]], None], kept: Callable[[int], Kept]
    ) -> None:
        """A call to a model asks to go out, to which reply answers, or is over. kept: Recorder.kept."""
        if self._work.calls is None:
            return
        if self.calls is None:
            story = self._told()
            self.calls = RunsCalls(story.let_out, partial(kept, self.claim.run_id), story.asked)
        if isinstance(event, CallAsked):
            self._work.calls.asked(self.calls, event.ask, reply)
        else:
            await self._work.calls.settled(self.calls, event.settled)

    def over(self, report: Finish) -> None:
        """It has ended, and this is recorded of it. To be called within the loop, unlike judged."""
        self._calls_over()
        if self._trace is not None:
            self._trace.ended(report)

    def _calls_over(self) -> None:
        """What its calls still held is given back."""
        if self.calls is not None and self._work.calls is not None:
            self._work.calls.over(self.calls)

    def _told(self) -> Story:
        if self._story is None:
            self._story = Story(self.claim, self._work.rates)
        return self._story

    def turn(self) -> Turn | None:
        """What its calls to models are judged by; None: they are left as the crew makes them."""
        if self._work.terms(self.claim.crew) is None:
            return None
        ends_at = self.started + self._work.budget_seconds(self.claim)
        return Turn(crew=self.claim.crew, queue=self.claim.queue, priority=self.claim.priority, ends_at=ends_at)

    def write(self, text: str) -> None:
        """Take a piece of what it prints."""
        if self._output is None:
            self._output = Output(self.claim.run_id, self._live_log)
        self._output.write(text)

    def watch(self, now: float) -> None:
        """Kill it if, at that monotonic second, it is over its budget or has not moved for too long."""
        budget = self._work.budget_seconds(self.claim)
        if now - self.started > budget:
            self.kill(RunOutcome.OVER_BUDGET, f"over its budget of {budget:g} s")
        limit = self._work.settings.no_progress_seconds
        if limit is None:
            return
        moved, doing = (self._story.moved, self._story.doing) if self._story else (self.started, "loading the crew")
        if now - moved > limit and doing != CALLABLE:
            self.kill(RunOutcome.STALLED, f"no progress for {limit:g} s in {doing}")

    def judged(self, exit_status: int | None) -> Finish:
        """What to record of it, now that it is over."""
        ending = Ending(
            self.last,
            exit_status,
            self.killed_for,
            self.why,
            time.monotonic() - self.started,
            self._output.tail() if self._output else None,
            self._throttled_by(),
        )
        return verdict(self.claim, ending, self._work.backoff(self.claim.crew), self._work.settings.max_result_bytes)

    def _throttled_by(self) -> str | None:
        """The provider whose limit ended it, if one did: what it answered, or what this worker knew without asking."""
        told = self._story.throttled_by if self._story else None
        return told or (self.calls.denied_by if self.calls else None)
