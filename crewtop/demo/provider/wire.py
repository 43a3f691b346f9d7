"""HTTP/1.1 as far as an OpenAI client speaks it: requests in, JSON or server-sent events out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

MOST_BODY_BYTES = 16 * 1024 * 1024


class WireError(Exception):
    """The bytes are no request that this server reads; its connection has to be closed."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """One request: path and query apart, header names in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read the next request of a connection; None once the client has closed it.

    Raises WireError on malformed or oversized input, and IncompleteReadError if the client leaves within a
    request.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    except asyncio.LimitOverrunError:
        raise WireError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the header is too long") from None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    try:
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        length = int(headers.get("content-length", "0"))
    except ValueError:
        raise WireError(HTTPStatus.BAD_REQUEST, f"not an HTTP request: {first[:80]!r}") from None
    if "transfer-encoding" in headers or length < 0:
        raise WireError(HTTPStatus.LENGTH_REQUIRED, "a request needs a Content-Length")
    if length > MOST_BODY_BYTES:
        raise WireError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is above {MOST_BODY_BYTES} bytes")
    body = await reader.readexactly(length)
    url = urlsplit(target)
    return Request(method, url.path, dict(parse_qsl(url.query)), headers, body)


def response_head(status: int, headers: Mapping[str, str]) -> bytes:
    """The bytes of a status line and headers, up to and including the empty line."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{k}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def json_response(status: int, value: Any, headers: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a whole response with a JSON body."""
    body = json.dumps(value).encode()
    sizes = {"content-type": "application/json", "content-length": str(len(body))}
    return response_head(status, {**sizes, **(headers or {})}) + body


def event_stream(events: Iterable[Any], headers: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a whole response that streams JSON events and ends as OpenAI's do, with [DONE]."""
    kinds = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
    head = response_head(200, {**kinds, **(headers or {})})
    payloads = [json.dumps(event) for event in events] + ["[DONE]"]
    lines = [f"data: {payload}\n\n".encode() for payload in payloads]
    return head + b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in lines) + b"0\r\n\r\n"
