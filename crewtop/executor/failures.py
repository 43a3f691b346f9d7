"""What went wrong, in words for an operator: causes before wrappers, and what another attempt would meet."""

from __future__ import annotations

import email.utils
import math
import re
import time
import traceback
from collections.abc import Iterator
from typing import Any

from crewtop.model.events import Raised

_MOST_MESSAGE = 8 * 1024
_MOST_TRACEBACK = 64 * 1024
_STATUS_IN_TEXT = re.compile(r"\b(?:Error code:|HTTP|status(?: code)?:?) (\d{3})\b")


class TerminalError(Exception):
    """A failure that another attempt would meet again. Its message is made for operators."""


def raised(error: BaseException) -> Raised:
    """The last event of a run that ended with this exception."""
    links = list(_chain(error))
    refusal = next((link for link in reversed(links) if _status(link) in (401, 403, 429)), None)
    throttled = refusal is not None and _status(refusal) == 429 and "insufficient_quota" not in _text(refusal)
    asks_human = any(isinstance(link, EOFError) and "reading a line" in _text(link) for link in links)
    message = "this crew asks for human input, which a worker cannot give" if asks_human else _message(links)
    ours = isinstance(error, TerminalError)  # it says what to mend; a traceback of ours would not help anybody
    return Raised(
        at=time.monotonic(),
        error_type=_type_name(error if ours else links[-1]),
        error=cut_middle(message, _MOST_MESSAGE),
        traceback=cut_middle("".join(traceback.format_exception(error)), _MOST_TRACEBACK),
        terminal=ours or asks_human or (refusal is not None and not throttled),
        throttled=throttled,
        retry_after=_retry_after(refusal) if throttled else None,
    )


def call_failure(error: BaseException | None, text: str) -> tuple[str, str]:
    """How a failed call to a model ended, and its message: (rate_limited | refused | timeout | error, message).

    error is the exception where one is at hand, text what CrewAI says about it.
    """
    links = list(_chain(error)) if error else []
    message = f"{_type_name(links[-1])}: {_message(links)}" if links else text
    return _call_outcome(links, text), cut_middle(message, _MOST_MESSAGE)


def cut_middle(text: str, most: int) -> str:
    """Text of at most about `most` characters; what is cut from its middle is counted in its place."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters cut ...]\n{text[-half:]}"


def comes_from_network(error: BaseException) -> bool:
    """Whether an exception tells of a connection or a provider's answer, and not of the code that met it."""
    return any(isinstance(link, (ConnectionError, TimeoutError)) or _status(link) for link in _chain(error))


def _call_outcome(links: list[BaseException], text: str) -> str:
    if any(type(link).__name__ in ("HookAborted", "LLMCallBlockedError") for link in links):
        return "refused"  # by a hook of the crew's own: it never left the process
    if any(isinstance(link, TimeoutError) or "Timeout" in type(link).__name__ for link in links):
        return "timeout"
    status = next((code for link in links if (code := _status(link))), None)
    if status is None and not links and (match := _STATUS_IN_TEXT.search(text)):
        status = int(match[1])
    if status == 429:
        return "rate_limited"
    return "refused" if status and 400 <= status < 500 else "error"


def _chain(error: BaseException) -> Iterator[BaseException]:
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
        elif link.__cause__ is not None:
            link = link.__cause__
        else:
            link = link.__context__ if type(link).__module__.startswith("crewai.") else None


def _message(links: list[BaseException]) -> str:
    """The innermost message first, then each wrapper that says something else."""
    if isinstance(links[0], TerminalError):
        return _text(links[0])
    lines = [_text(links[-1])]
    for link in reversed(links[:-1]):
        text = _text(link)
        if text and not any(text in line for line in lines):
            lines.append(f"as {_type_name(link)}: {text}")
    return "\n".join(lines)


def _text(error: BaseException) -> str:
    if isinstance(error, SystemExit) and not isinstance(error.code, str):
        return f"the crew ended its process with exit code {error.code or 0}"
    try:
        return str(error) or repr(error)
    except Exception as fault:
        return f"(its message cannot be read: {type(fault).__name__})"


def _type_name(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"


def _status(error: BaseException) -> int | None:
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


def _retry_after(error: BaseException | None) -> float | None:
    """The Retry-After header in seconds, which may also be a date (RFC 9110, section 10.2.3)."""
    headers = getattr(getattr(error, "response", error), "headers", None) or {}
    value = str(headers.get("retry-after", ""))
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
