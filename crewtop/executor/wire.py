"""Messages between a worker, its zygote and its hosts.

With the zygote: JSON objects over a stream socket, each behind its length.

A stream with lengths, not SOCK_SEQPACKET: macOS has no such sockets, and there inputs of 1 MiB would not fit a packet.

With a host: lines of JSON. To it {"runs": [[run id, crew, inputs as JSON text, done steps, turn or null], ...]},
{"cancel": run id} and {"run": run id, "answer": ...}; from it what host_reporter says.

With the process of one run: to it lines {"answer": {"permit" or "denied": fields, "call_id": ...}} alone, which answer
what it asked for by an event.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crewtop.llm.asking import Denied, Permit
from crewtop.model.events import Terms, fields_of

_LENGTH = struct.Struct("!I")


def packed(message: dict[str, Any]) -> bytes:
    """A message as it goes over the socket."""
    body = json.dumps(message).encode("ascii")
    return _LENGTH.pack(len(body)) + body


class Unpacker:
    """Puts messages together from the pieces in which a socket delivers them."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """Take what the socket gave; yield the messages that it completes."""
        self._buffer += piece
        while len(self._buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield json.loads(body)


MOST_LINE_BYTES = 256 * 1024 * 1024  # a result of 100 MiB, escaped


class Lines:
    """Puts lines together from the pieces in which a socket delivers them."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Take what the socket gave; yield whole lines, and of one that is too long a word that is no message."""
        *ends, tail = piece.split(b"\n")
        for end in ends:
            yield b"".join([*self._rest, end])
            self._rest, self._size = [], 0
        self._size += len(tail)
        if self._size > MOST_LINE_BYTES:
            self._rest, tail = [], b"(too long)"
        self._rest.append(tail)


def answer(call_id: str, answered: Permit | Denied) -> dict[str, Any]:
    """What a call that asked to go out is answered."""
    return {"call_id": call_id, "permit" if isinstance(answered, Permit) else "denied": fields_of(answered)}


def answered(message: dict[str, Any]) -> Permit | Denied:
    """The same, read."""
    return Permit(**message["permit"]) if "permit" in message else Denied(**message["denied"])


@dataclass(frozen=True, slots=True)
class Hosting:
    """What a host is started with. host_id is negative, to be no run's; slots: runs at once; folder: its own working
    folder; env is added to the environment; targets: each crew's 'module:attribute'; terms: of calls to models, for
    runs that are assigned with a turn.
    """

    host_id: int
    slots: int
    folder: str
    env: dict[str, str]
    targets: dict[str, str]
    terms: Terms | None = None
