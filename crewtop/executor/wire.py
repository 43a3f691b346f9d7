"""Messages between a worker and its zygote: JSON objects over a stream socket, each behind its length.

A stream with lengths, not SOCK_SEQPACKET: macOS has no such sockets, and there inputs of 1 MiB would not fit a packet.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

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
