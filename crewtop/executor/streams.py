"""What arrives from a run's process, read by the worker's event loop with bounded memory."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

from crewtop.executor.wire import Lines
from crewtop.model.events import Event, from_line

PIECE_BYTES = 64 * 1024
_MOST_BYTES_AFTER_END = 4 * 1024 * 1024  # more than a pipe or a socket holds
_LOG = logging.getLogger(__name__)


async def ready(
    add: Callable[..., None], remove: Callable[[int], bool], descriptor: int, *futures: asyncio.Future[Any]
) -> None:
    """Wait until a descriptor can be read or written, or one of the futures is done."""
    usable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    add(descriptor, lambda: None if usable.done() else usable.set_result(None))
    try:
        await asyncio.wait([usable, *futures], return_when=asyncio.FIRST_COMPLETED)
    finally:
        remove(descriptor)


async def pieces(source: io.FileIO, ended: asyncio.Future[Any]) -> AsyncIterator[bytes]:
    """What arrives at a descriptor, until its end, or until the process has ended and all it had sent is read.

    The second matters where something that outlived the process still holds the other end, and perhaps still writes.
    """
    loop = asyncio.get_running_loop()
    left = _MOST_BYTES_AFTER_END
    with source:
        while left > 0:
            last = ended.done()
            try:
                piece = source.read(PIECE_BYTES)
            except ConnectionResetError:  # it died before it had read all that was sent to it
                return
            if piece:
                left -= len(piece) if last else 0
                yield piece
                await asyncio.sleep(0)  # a process that prints without pause must not hold up the loop
            elif piece is None and not last:  # nothing there yet
                await ready(loop.add_reader, loop.remove_reader, source.fileno(), ended)
            else:
                return


async def event_stream(told: AsyncIterator[bytes], run_id: int) -> AsyncIterator[Event]:
    """The events in lines; one that is none is logged and passed over."""
    async for line in told:
        try:
            yield from_line(line)
        except (ValueError, RecursionError) as error:
            _LOG.warning("run %d sent a line that is no event: %s", run_id, error)


async def cleaned(told: AsyncIterator[bytes], clean: Callable[[bytes], bytes]) -> AsyncIterator[bytes]:
    """Lines without what must not be told."""
    async for line in told:
        yield clean(line)


async def lines(arriving: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole lines of what arrives."""
    whole = Lines()
    async for piece in arriving:
        for line in whole.feed(piece):
            yield line
