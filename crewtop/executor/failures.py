"""What went wrong, in words for an operator: causes before wrappers, and what another attempt would meet."""

from __future__ import annotations

import re
import time
import traceback

from crewtop.llm.asking import Fault
from crewtop.llm.outcomes import chain, meaning, status_of
from crewtop.model.errors import TerminalError
from crewtop.model.events import Raised

_MOST_MESSAGE = 8 * 1024
_MOST_TRACEBACK = 64 * 1024
_TERMINAL = frozenset({Fault.KEY, Fault.QUOTA, Fault.CONTENT, Fault.CONTEXT})
_STATUS_IN_TEXT = re.compile(r"\b(?:Error code:|HTTP|status(?: code)?:?) (\d{3})\b")


def raised(error: BaseException) -> Raised:
    """The last event of a run that ended with this exception."""
    links = list(chain(error))
    met = meaning(error)
    throttled = met.fault in (Fault.RATE_LIMIT, Fault.OVERLOADED)
    asks_human = any(isinstance(link, EOFError) and "reading a line" in _text(link) for link in links)
    message = "this crew asks for human input, which a worker cannot give" if asks_human else _message(links)
    ours = isinstance(error, TerminalError)  # it says what to mend; a traceback of ours would not help anybody
    return Raised(
        at=time.monotonic(),
        error_type=_type_name(error if ours else links[-1]),
        error=cut_middle(message, _MOST_MESSAGE),
        traceback=cut_middle("".join(traceback.format_exception(error)), _MOST_TRACEBACK),
        terminal=ours or asks_human or met.fault in _TERMINAL,
        throttled=throttled,
        retry_after=met.retry_after if throttled else None,
    )


def call_failure(error: BaseException | None, text: str) -> tuple[str, str]:
    """How a failed call to a model ended, and its message: (rate_limited | refused | timeout | error, message).

    error is the exception where one is at hand, text what CrewAI says about it.
    """
    links = list(chain(error)) if error else []
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
    return any(isinstance(link, (ConnectionError, TimeoutError)) or status_of(link) for link in chain(error))


def _call_outcome(links: list[BaseException], text: str) -> str:
    if any(type(link).__name__ in ("HookAborted", "LLMCallBlockedError") for link in links):
        return "refused"  # by a hook of the crew's own: it never left the process
    if any(isinstance(link, TimeoutError) or "Timeout" in type(link).__name__ for link in links):
        return "timeout"
    status = next((code for link in links if (code := status_of(link))), None)
    if status is None and not links and (match := _STATUS_IN_TEXT.search(text)):
        status = int(match[1])
    if status == 429:
        return "rate_limited"
    return "refused" if status and 400 <= status < 500 else "error"


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
