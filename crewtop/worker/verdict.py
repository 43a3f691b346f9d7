"""How a run ended, judged from its last event, its exit status and why it was killed. Pure: no clock, no I/O."""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass
from typing import NamedTuple

from crewtop.model.events import Raised, Returned
from crewtop.model.task import Claim, Finish, RunOutcome
from crewtop.text import storable, storable_json

RESULT_PREVIEW_CHARACTERS = 1_000
RETRY_AFTER_LIMIT_SECONDS = 3_600.0
"""A provider that asks for longer is asked again after this: some send a time of day where seconds are meant."""


class Ending(NamedTuple):
    """The facts. last: the final event, if one came; exit_status: negative is a signal, None if nobody saw it end;
    killed_for: why this worker killed it, with its words; seconds: run time; log_tail: the end of its output;
    throttled_by: the provider that said 429.
    """

    last: Returned | Raised | None
    exit_status: int | None
    killed_for: RunOutcome | None
    why: str | None
    seconds: float
    log_tail: str | None
    throttled_by: str | None = None


@dataclass(frozen=True, slots=True)
class Backoff:
    """base_seconds doubles with every retry up to limit_seconds; jitter is +- 50 %."""

    base_seconds: float
    limit_seconds: float

    def delay(self, retries: int) -> float:
        """Seconds to rest before the next run of a task that has been retried so often."""
        return min(self.limit_seconds, self.base_seconds * 2.0 ** min(retries, 30)) * random.uniform(0.5, 1.5)


def verdict(claim: Claim, ending: Ending, backoff: Backoff, max_result_bytes: int) -> Finish:
    """What to record of a run that ended. A result that came before a kill wins over it."""
    last = ending.last
    if isinstance(last, Returned):
        return _returned(claim, ending, last, max_result_bytes)
    if ending.killed_for is not None:
        return _finish(claim, ending, ending.killed_for, error=ending.why, delay=backoff.delay(claim.retries))
    if isinstance(last, Raised):
        return _raised(claim, ending, last, backoff)
    return _finish(
        claim,
        ending,
        RunOutcome.INTERRUPTED if ending.exit_status is None else RunOutcome.CRASHED,
        error=died(ending.exit_status),
        delay=backoff.delay(claim.retries),
    )


def died(exit_status: int | None) -> str:
    """In words: how a process ended that reported nothing."""
    if exit_status is None:
        return "its executor vanished"
    if exit_status >= 0:
        return f"its process exited with status {exit_status} and no result"
    name = signal.Signals(-exit_status).name if -exit_status in {int(s) for s in signal.Signals} else "unknown"
    likely = ", as when memory runs out" if exit_status == -signal.SIGKILL else ""
    return f"its process was killed by signal {-exit_status} ({name}){likely}"


def _returned(claim: Claim, ending: Ending, last: Returned, max_result_bytes: int) -> Finish:
    size = len(last.result) if last.result.isascii() else len(last.result.encode("utf-8", "surrogatepass"))
    if size > max_result_bytes:
        # Another attempt would pay again for the same thing.
        error = (
            f"the result of {size} bytes is over worker.max_result_bytes = {max_result_bytes}: return a reference; "
            f"it began {last.result[:RESULT_PREVIEW_CHARACTERS]!r}"
        )
        return _finish(claim, ending, RunOutcome.FAILED, error_type="ResultTooLarge", error=error, terminal=True)
    result, replaced = storable_json(last.result)
    tail = storable(ending.log_tail)[0] if ending.log_tail else None
    # Written out, since most runs end here, and thousands of them in a second.
    return Finish(
        claim.run_id, claim.task_id, RunOutcome.COMPLETED, ending.seconds, result, None, None, None, replaced, tail
    )


def _raised(claim: Claim, ending: Ending, last: Raised, backoff: Backoff) -> Finish:
    error, lost = storable(last.error)
    traceback, lost_too = storable(last.traceback)
    delay = backoff.delay(claim.retries)
    if last.throttled and last.retry_after is not None:
        asked = min(last.retry_after, RETRY_AFTER_LIMIT_SECONDS)
        delay = asked + random.uniform(0.0, max(1.0, asked * 0.25))
    return _finish(
        claim,
        ending,
        RunOutcome.THROTTLED if last.throttled else RunOutcome.FAILED,
        error_type=storable(last.error_type)[0],
        error=error,
        traceback=traceback,
        replaced=lost + lost_too,
        delay=delay,
        terminal=last.terminal,
    )


def _finish(
    claim: Claim,
    ending: Ending,
    outcome: RunOutcome,
    *,
    result: str | None = None,
    error_type: str | None = None,
    error: str | None = None,
    traceback: str | None = None,
    replaced: int = 0,
    delay: float = 0.0,
    terminal: bool = False,
) -> Finish:
    return Finish(
        run_id=claim.run_id,
        task_id=claim.task_id,
        outcome=outcome,
        seconds=ending.seconds,
        result=result,
        error_type=error_type,
        error=error,
        traceback=traceback,
        replaced=replaced,
        log_tail=storable(ending.log_tail)[0] if ending.log_tail else None,
        delay_seconds=delay,
        terminal=terminal,
        throttled_by=ending.throttled_by if outcome is RunOutcome.THROTTLED else None,
    )
