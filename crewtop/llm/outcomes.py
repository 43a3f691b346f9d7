"""What an exception of a provider's library means: who is at fault, and whether trying again can help.

No library is imported for it: each keeps status and headers in another place, and all of them are looked into.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crewtop.llm.asking import Fault, Outcome

WORTH_RETRYING = frozenset({Fault.RATE_LIMIT, Fault.OVERLOADED, Fault.SERVER, Fault.TIMEOUT, Fault.CONNECTION})
"""The same call may be answered a moment later."""

ANOTHER_KEY_HELPS = frozenset({Fault.RATE_LIMIT, Fault.QUOTA, Fault.KEY})
"""The same call may be answered with another key."""

_MOST_TEXT = 8 * 1024
_BLOCKED = frozenset({"HookAborted", "LLMCallBlockedError"})
_NEVER_CONNECTED = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError", "gaierror"})
_CONNECTION = re.compile("Connect|Transport|ReadError|WriteError|ProtocolError|gaierror")
_RETRY_DELAY = re.compile(r"retryDelay\W{1,6}(\d+(?:\.\d+)?)s")
"""Google says it in the body: google.rpc.RetryInfo, where other providers have a header."""

_QUOTA = re.compile("insufficient_quota|credit balance|insufficient (?:balance|credits|funds)|billing|out of credits")
_CONTEXT = re.compile(
    "context_length_exceeded|maximum context length|context length exceeded|context window|prompt is too long"
    "|input is too long|too many tokens|input token count"
)
_CONTENT = re.compile("content_filter|content_policy|content management policy|safety system|moderation|flagged")


@dataclass(frozen=True, slots=True)
class Meaning:
    """Of a failed call: what was wrong, whether it went out, the HTTP status, the seconds asked for."""

    fault: Fault
    outcome: Outcome
    status: int | None = None
    retry_after: float | None = None


def meaning(error: BaseException) -> Meaning:
    """What the exception of a failed model call means."""
    links = list(chain(error))
    names = {base.__name__ for link in links for base in type(link).__mro__}
    if names & _BLOCKED:
        return Meaning(Fault.BLOCKED, Outcome.UNSENT)
    if any(isinstance(link, TimeoutError) or "Timeout" in type(link).__name__ for link in links):
        return Meaning(Fault.TIMEOUT, Outcome.UNSENT if names & _NEVER_CONNECTED else Outcome.FAILED)
    told = next((link for link in reversed(links) if status_of(link)), None)
    text = " ".join(map(_words, links)).lower()
    if told is not None:
        status = status_of(told) or 0
        return Meaning(_refusal(status, text), Outcome.REFUSED, status, retry_after_of(told))
    if "LLMContextLengthExceededError" in names:
        return Meaning(Fault.CONTEXT, Outcome.REFUSED, 400)
    outcome = Outcome.UNSENT if names & _NEVER_CONNECTED else Outcome.FAILED
    if any(isinstance(link, ConnectionError) for link in links) or any(map(_CONNECTION.search, names)):
        return Meaning(Fault.CONNECTION, outcome)
    return Meaning(Fault.OTHER, Outcome.FAILED)


def _words(error: BaseException) -> str:
    try:
        return str(error)[:_MOST_TEXT]
    except Exception:  # whatever a library's own exception does
        return ""


def _refusal(status: int, text: str) -> Fault:
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(text)):
        return Fault.QUOTA
    if status == 429:
        return Fault.RATE_LIMIT
    if status in (400, 403) and _CONTENT.search(text):
        return Fault.CONTENT
    if status in (401, 403):
        return Fault.KEY
    if status == 413 or (status in (400, 422) and _CONTEXT.search(text)):
        return Fault.CONTEXT
    if status in (503, 529):
        return Fault.OVERLOADED
    return Fault.SERVER if status >= 500 or status in (408, 409, 425) else Fault.REQUEST


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, then its causes, the innermost last.

    An implicit context is followed under CrewAI's own exceptions alone: elsewhere it is what was being handled, often
    something unrelated.
    """
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            link = link.exceptions[0]
        elif link.__cause__ is not None and link.__cause__ is not link:
            link = link.__cause__
        else:  # CrewAI raises some from themselves, which leaves the cause of a lost connection to the context
            hidden = (link.__cause__ is link and not status_of(link)) or type(link).__module__.startswith("crewai.")
            link = link.__context__ if hidden else None


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind an exception of a provider's library, each of which keeps it in another place."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore
        code: Any = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:  # OpenAI, Anthropic and Azure; httpx; Google and urllib
        code = (
            getattr(error, "status_code", None)
            or getattr(response, "status_code", None)
            or getattr(error, "code", None)
        )
    return code if isinstance(code, int) and 400 <= code <= 599 else None


def retry_after_of(error: BaseException | None) -> float | None:
    """The seconds that a refusal asks for: its Retry-After, which may also be a date (RFC 9110, section 10.2.3)."""
    headers = getattr(getattr(error, "response", error), "headers", None) or {}
    found = retry_after(headers)
    if found is None and error is not None and (delay := _RETRY_DELAY.search(_words(error))):
        return float(delay[1])
    return found


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that headers with names in lower case, or of httpx, ask for."""
    value = str(headers.get("retry-after", ""))
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def limit_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Those that tell of limits, in lower case."""
    return {
        lower: value
        for name, value in headers.items()
        if "ratelimit" in (lower := name.lower()) or lower in ("retry-after", "retry-after-ms")
    }
