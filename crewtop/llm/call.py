"""One call of a crew's to a model: what is asked for it, how often it goes out, and what its failures mean."""

from __future__ import annotations

import logging
import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from crewai.events import LLMCallCompletedEvent
from crewai.events.stream_context import add_stream_sink, reset_stream_sinks

from crewtop.llm.asking import CallAsk, Denied, Fault, Outcome, Permit, Settled
from crewtop.llm.attempt import Attempt, current
from crewtop.llm.complexity import shape
from crewtop.llm.fit import fit, window
from crewtop.llm.keys import KeyMissing, secret
from crewtop.llm.outcomes import ANOTHER_KEY_HELPS, WORTH_RETRYING, Meaning, meaning
from crewtop.llm.substitute import answer_limit, as_asked, provider_and_model, substitute
from crewtop.llm.tokens import at_most, count_prompt, counter
from crewtop.model.errors import TerminalError
from crewtop.model.events import Terms, Turn
from crewtop.model.pricing import tokens

_LOG = logging.getLogger(__name__)
OUTPUT_TOKENS = 1_024
"""What an answer is reckoned to take where the crew set no limit."""

MOST_KEYS = 32
"""So many keys may be refused before a call is given up, whatever the worker says."""

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 8.0
FINAL = "_crewtop_final"
"""Marks an exception: whoever catches it need not repeat what it ended."""


class Desk(Protocol):
    """Where the worker is asked and told."""

    def ask(self, ask: CallAsk) -> Future[Permit | Denied]:
        """Whether a call may go out: the answer may take as long as a limit lasts."""

    def answer(self, message: dict[str, Any]) -> None:
        """Hand on what the worker answered."""

    def forsake(self, asked: Future[Permit | Denied]) -> None:
        """Nobody waits for this answer any more."""

    def settle(self, settled: Settled) -> None:
        """How a permitted call ended."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The run that the running code belongs to. step: the position of a CrewAI task by its id, None for no step."""

    terms: Terms
    turn: Turn
    desk: Desk
    step: Callable[[str], int | None]


class ModelThrottled(Exception):
    """The worker lets no such call out in time. It reads like a provider's 429, and is treated like one."""

    status_code = 429

    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.headers = {} if retry_after is None else {"retry-after": f"{retry_after:.3f}"}


class ModelRefused(TerminalError):
    """No such call will ever be let out: no key is left, or there is no model for it."""


class Call:
    """One call of a crew's, however often it goes out."""

    def __init__(self, run: Caller, llm: Any, messages: Any, tools: Sequence[Any] | None, task: Any) -> None:
        self._run = run
        self._llm = llm
        self._messages = messages
        self._task_id = str(task.id) if task is not None else None
        self._failures = 0
        self._keys = 0
        provider, self._model = provider_and_model(llm)
        self._provider = provider or "?"
        self._output = answer_limit(llm) or OUTPUT_TOKENS
        self._tools = _tokens_of(tools)
        listed = _as_messages(messages)
        self._tokens = self._output + self._tools + count_prompt(listed, counter(self._model))
        self._shape = shape(listed, len(tools or ()), json=getattr(llm, "response_format", None) is not None)

    def ask(self) -> CallAsk:
        """What to ask before it goes out, each time anew."""
        turn = self._run.turn
        return CallAsk(
            call_id=str(uuid.uuid4()),
            provider=self._provider,
            model=self._model,
            tokens=self._tokens,
            crew=turn["crew"],
            queue=turn["queue"],
            priority=turn["priority"],
            step=self._run.step(self._task_id) if self._task_id else None,
            streaming=bool(self._llm._effective_stream()),
            prompt=self._shape,
            tag=getattr(self._llm, "tag", None),
        )

    def let_out(self, answer: Permit | Denied) -> Attempt | None:
        """The attempt that was permitted; None where it has to be asked again. Raises what a denial means to a crew."""
        if isinstance(answer, Denied):
            raise _final(_denial(f"{self._provider}/{self._model}", answer))
        try:
            value = secret(answer.key) if answer.key else None
        except KeyMissing as error:
            self._run.desk.settle(Settled(answer.call_id, Outcome.UNSENT, None, fault=Fault.KEY))
            self._keys += 1
            if self._keys >= MOST_KEYS:
                raise _final(ModelRefused(str(error))) from None
            return None
        terms = self._run.terms
        try:
            llm = substitute(self._llm, answer.provider, answer.model, terms["base_urls"], value)
        except Exception as error:
            self._run.desk.settle(Settled(answer.call_id, Outcome.UNSENT, None, fault=Fault.OTHER))
            raise _final(ModelRefused(f"{answer.provider}/{answer.model} cannot be called: {error}")) from error
        return Attempt(answer.call_id, llm, terms, time.monotonic() + terms["whole"], answer.key, value)

    def fitted(self, attempt: Attempt) -> Any:
        """The messages as they fit into the window of the model that takes them."""
        if isinstance(self._messages, str):
            return self._messages
        provider, model = provider_and_model(attempt.llm)
        size = window(provider or "?", model, attempt.terms["windows"])
        if size is None or self._tokens <= size:
            return self._messages
        found = fit(self._messages, size, min(self._output + self._tools, size // 2), counter(model))
        attempt.cut = found.reason
        return found.messages

    @contextmanager
    def under_way(self, attempt: Attempt) -> Iterator[None]:
        """Let what happens meanwhile belong to the attempt, and count what it uses."""

        def hear(_: Any, event: Any) -> None:
            if type(event) is not LLMCallCompletedEvent or current.get() is not attempt:
                return  # nothing of ours, or of a call that a tool makes meanwhile and that is counted by itself
            if (used := tokens(event.usage)) is not None:
                attempt.tokens = (attempt.tokens or 0) + used.total

        token, sinks = current.set(attempt), add_stream_sink(hear)
        try:
            with as_asked(self._llm, attempt.llm):
                yield
        finally:
            reset_stream_sinks(sinks)
            current.reset(token)

    def answered(self, attempt: Attempt) -> None:
        """It went well."""
        self._run.desk.settle(Settled(attempt.call_id, Outcome.ANSWERED, attempt.tokens, 200, headers=attempt.headers))

    def failed(self, attempt: Attempt, error: BaseException) -> float | None:
        """It went wrong: answers the seconds after which to try again, None where there is no use in it."""
        met = meaning(error)
        self._run.desk.settle(
            Settled(
                attempt.call_id, met.outcome, attempt.tokens, met.status, met.retry_after, attempt.headers, met.fault
            )
        )
        if not isinstance(error, Exception):
            return None
        pause = self._pause(met, attempt)
        if pause is None or time.monotonic() + pause >= self._run.turn["ends_at"]:
            if met.fault not in (Fault.CONTEXT, Fault.BLOCKED, Fault.OTHER):  # which the crew itself may yet mend
                _final(error)
            return None
        _LOG.info("%s/%s: %s; tried again in %.1f s", self._provider, self._model, met.fault, pause)
        return pause

    def _pause(self, met: Meaning, attempt: Attempt) -> float | None:
        if attempt.key and met.fault in ANOTHER_KEY_HELPS:
            self._keys += 1
            return 0.0 if self._keys < MOST_KEYS else None  # the worker says when, and with which
        self._failures += 1
        if met.fault not in WORTH_RETRYING or self._failures >= attempt.terms["tries"]:
            return None
        longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0**self._failures)
        pause = random.uniform(longest / 4, longest) + (met.retry_after or 0.0)
        return pause if pause <= max(attempt.terms["wait"], LONGEST_PAUSE_SECONDS) else None


def _tokens_of(tools: Sequence[Any] | None) -> int:
    return count_prompt((), at_most, tools) if tools else 0


def _as_messages(messages: Any) -> Sequence[Any]:
    return [{"content": messages}] if isinstance(messages, str) else messages


def _denial(model: str, answer: Denied) -> Exception:
    words = f"no call to {model} is let out: {answer.reason}"
    return ModelRefused(words) if answer.terminal else ModelThrottled(words, answer.retry_after)


def _final(error: Exception) -> Exception:
    """Mark an exception: nobody is to repeat the step that it ends."""
    with suppress(AttributeError, TypeError):  # some take no attributes
        setattr(error, FINAL, True)
    return error
