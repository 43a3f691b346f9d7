"""What a provider's client is given for one call: the key, time-outs, no retries of its own, an ear for its headers.

CrewAI takes its SDK client from one method right before each request. What that returns is exchanged for a copy, which
the SDKs of OpenAI and Anthropic make themselves and which shares the connections; the crew's own client stays as it is.
Azure's and Bedrock's clients have neither: their calls are counted and limited, with the crew's own credentials.
"""

from __future__ import annotations

import functools
import logging
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx

from crewtop.llm.attempt import Attempt, current
from crewtop.llm.outcomes import limit_headers

_LOG = logging.getLogger(__name__)
_GETTERS = ("_get_sync_client", "_get_async_client")
_PLACEHOLDER = "set-by-crewtop-for-each-call"

_copies: weakref.WeakKeyDictionary[Any, dict[tuple[str | None, float | None], Any]] = weakref.WeakKeyDictionary()
_heard: weakref.WeakSet[Any] = weakref.WeakSet()
_undressed: set[type[Any]] = set()


def dress(kind: type[Any]) -> None:
    """Let a class of CrewAI's models, if it has such clients, hand out dressed ones while an attempt is under way."""
    for name in _GETTERS:
        if name in kind.__dict__:
            setattr(kind, name, _dressing(kind.__dict__[name]))
    if kind.__dict__.get("llm_type") == "litellm" or kind.__name__ == "LLM":
        prepare = kind.__dict__.get("_prepare_completion_params")
        if prepare is not None:
            kind._prepare_completion_params = _preparing(prepare)


def _dressing(get: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(get)
    def get_dressed(llm: Any) -> Any:
        attempt = current.get()
        if attempt is None or attempt.llm is not llm:
            return get(llm)
        if attempt.secret and getattr(llm, "api_key", None) is None:
            llm.api_key = _PLACEHOLDER  # without any, no client can be made to be copied
        return _dressed(llm, get(llm), attempt)

    return get_dressed


def _preparing(prepare: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """LiteLLM has no client to be copied: key and time-out go with each call."""

    @functools.wraps(prepare)
    def prepare_dressed(llm: Any, *args: Any, **named: Any) -> dict[str, Any]:
        params = prepare(llm, *args, **named)
        attempt = current.get()
        if attempt is None or attempt.llm is not llm:
            return params
        given = {"api_key": attempt.secret} if attempt.secret else {}
        return {"timeout": attempt.terms["first_byte"]} | params | given | {"num_retries": 0, "max_retries": 0}

    return prepare_dressed


def _dressed(llm: Any, client: Any, attempt: Attempt) -> Any:
    own = getattr(llm, "timeout", None)
    copies = _copies.setdefault(client, {})
    if (attempt.secret, own) not in copies:
        copies[attempt.secret, own] = _copy(llm, client, attempt, own)
    return copies[attempt.secret, own]


def _copy(llm: Any, client: Any, attempt: Attempt, own_timeout: float | None) -> Any:
    if hasattr(client, "with_options"):
        options: dict[str, Any] = {"max_retries": 0}
        if attempt.secret:
            options["api_key"] = attempt.secret
        if own_timeout is None:
            options["timeout"] = httpx.Timeout(attempt.terms["first_byte"], connect=attempt.terms["connect"])
        copy = client.with_options(**options)
        _hear(copy._client)
        return copy
    if hasattr(llm, "_initialize_client"):
        return _googles(llm, attempt, own_timeout)
    if attempt.secret and type(llm) not in _undressed:
        _undressed.add(type(llm))
        _LOG.warning("%s takes no key for one call: the crew's own credentials are used", type(llm).__name__)
    return client


def _googles(llm: Any, attempt: Attempt, own_timeout: float | None) -> Any:
    """A client of Google's, made anew: it knows no other way.

    Its one time-out, in milliseconds, is for each read within a thread and for the whole call within an event loop.
    """
    given = dict(llm.client_params or {})
    options = given.get("http_options") or {}
    options = options if isinstance(options, dict) else options.model_dump(exclude_none=True)
    timeout = {"timeout": int(1000 * (own_timeout or attempt.terms["whole"]))}
    update: dict[str, Any] = {"client_params": given | {"http_options": timeout | options}}
    if attempt.secret:
        update["api_key"] = attempt.secret
    client = llm.model_copy(update=update)._initialize_client(llm.use_vertexai and not attempt.secret)
    if (inner := getattr(client._api_client, "_httpx_client", None)) is not None:
        _hear(inner)
    return client


def _hear(client: httpx.Client | httpx.AsyncClient) -> None:
    """Look at what this client receives, once, for all attempts that go through it."""
    if client in _heard:
        return
    _heard.add(client)
    if isinstance(client, httpx.AsyncClient):
        client.event_hooks["response"].append(_answered_later)
    else:
        client.event_hooks["response"].append(_answered)


def _answered(response: httpx.Response) -> None:
    if attempt := current.get():
        attempt.headers = limit_headers(response.headers)
        response.stream = _Timed(response.stream, response.request, attempt)  # type: ignore[arg-type]


async def _answered_later(response: httpx.Response) -> None:
    if attempt := current.get():
        attempt.headers = limit_headers(response.headers)
        response.stream = _TimedLater(response.stream, response.request, attempt)  # type: ignore[arg-type]


class _Timed(httpx.SyncByteStream):
    """An answer that is given up once the whole call has taken too long; looked at whenever some of it arrives."""

    def __init__(self, stream: httpx.SyncByteStream, request: httpx.Request, attempt: Attempt) -> None:
        self._stream = stream
        self._request = request
        self._attempt = attempt

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            _in_time(self._request, self._attempt)
            yield piece

    def close(self) -> None:
        self._stream.close()


class _TimedLater(httpx.AsyncByteStream):
    """The same within an event loop."""

    def __init__(self, stream: httpx.AsyncByteStream, request: httpx.Request, attempt: Attempt) -> None:
        self._stream = stream
        self._request = request
        self._attempt = attempt

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            _in_time(self._request, self._attempt)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _in_time(request: httpx.Request, attempt: Attempt) -> None:
    if time.monotonic() > attempt.deadline:
        raise httpx.ReadTimeout(f"the whole answer took more than {attempt.terms['whole']:g} s", request=request)
