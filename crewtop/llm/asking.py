"""What an executor asks its supervisor before a model call, what it is told, and what it tells afterwards.

Plain data, shared by both sides of the socket between them. No secret and no text of a prompt is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class PromptShape:
    """What routing may know of a prompt: counts and flags, never its words.

    input_tokens and output_tokens: estimates of what goes in and of what is expected back. characters: of all
    messages. hard, moderate and easy: words of the request that mark demanding work (prove, design, ...), work of some
    thought (summarise, compare, ...) and plain work (translate, list, ...). deep and brief: words of the expected
    answer for what has to be reasoned out (evidence, risks, ...) and for what is short and fixed (a number, a name,
    ...). words, joins and questions: of the request with the expected answer, joins being words that tie clauses
    together (and, if, but), questions those that ask for reasons (why, how). expected: words of the expected answer
    alone, 0 where none is stated. tools: how many are offered. language: a guess, "en", "vi" or "?" for anything else.
    """

    input_tokens: int
    output_tokens: int
    characters: int = 0
    hard: int = 0
    moderate: int = 0
    easy: int = 0
    deep: int = 0
    brief: int = 0
    words: int = 0
    expected: int = 0
    joins: int = 0
    questions: int = 0
    tools: int = 0
    json: bool = False
    language: str = "?"


@dataclass(frozen=True, slots=True)
class CallAsk:
    """A model call that wants to go out.

    call_id: the same through asking, settling and the ledger. tokens: an upper estimate, in and out together.
    priority: the task's, 0 (P0) to 4 (low). step: the step's number in its run, None outside of one. tag: what the
    crew's author called the model's work, if anything.
    """

    call_id: str
    provider: str
    model: str
    tokens: int
    crew: str
    queue: str
    priority: int
    step: int | None = None
    streaming: bool = False
    prompt: PromptShape | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Permit:
    """The call may go out now, to this model and with this key.

    key: the name of a key (of an environment variable or a file), never the secret; None where the crew brings its own.
    reason: why this model, where it is not the one asked for. waited: seconds that the call was held back.
    """

    call_id: str
    provider: str
    model: str
    key: str | None
    reason: str | None = None
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Denied:
    """The call may not go out. retry_after: seconds, None where unknown. terminal: asking again will not help."""

    reason: str
    retry_after: float | None
    terminal: bool


class Outcome(StrEnum):
    """How a call ended.

    ANSWERED in full; REFUSED by the provider with an HTTP status; FAILED on the way (time-out, broken connection), so
    that it may have been counted; UNSENT, so that it was not.
    """

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"
    UNSENT = "unsent"


class Fault(StrEnum):
    """What was wrong with a call that was not answered.

    RATE_LIMIT, QUOTA (nothing left to spend) and KEY (refused) are about the key; CONTENT (a filter), CONTEXT (too
    long) and REQUEST (anything else that it would refuse again) about the request; OVERLOADED, SERVER, TIMEOUT and
    CONNECTION about the provider and the way to it; BLOCKED: the crew's own code held it back; OTHER: nobody knows.
    """

    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    KEY = "key"
    CONTENT = "content"
    CONTEXT = "context"
    REQUEST = "request"
    OVERLOADED = "overloaded"
    SERVER = "server"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BLOCKED = "blocked"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Settled:
    """How a permitted call ended.

    tokens: in and out as the provider counted them, None where unknown. status: of HTTP, None without an answer.
    retry_after: seconds that the provider asked for. headers: its rate-limit headers, in lower case, and no others.
    fault: what was wrong, None where it was answered.
    """

    call_id: str
    outcome: Outcome
    tokens: int | None
    status: int | None = None
    retry_after: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    fault: Fault | None = None
