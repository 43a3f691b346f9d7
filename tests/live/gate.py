"""A door before a real Redis that can be shut, and behind which nobody answers."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit


class Gate:
    """Passes bytes on to a Redis at a socket. url: where to reach it through the gate."""

    def __init__(self, url: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gate-")
        self._behind, self._before = urlsplit(url).path, Path(self._folder.name) / "redis.sock"
        self.url = f"unix://{self._before}?{urlsplit(url).query}"
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()
        self._answers = True

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
        self._folder.cleanup()

    async def open(self) -> None:
        """Let everything pass."""
        await self.close()
        self._answers = True
        self._server = await asyncio.start_unix_server(self._enter, self._before)

    async def hold(self) -> None:
        """Let everybody in, and answer nobody."""
        await self.open()
        self._answers = False

    async def close(self) -> None:
        """Cut everybody off, and let nobody in."""
        if self._server is not None:
            self._server.close()
        for task in self._passing:
            task.cancel()
        if self._passing:
            await asyncio.wait(self._passing)
        self._before.unlink(missing_ok=True)

    async def _enter(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self._pass(reader, writer)
        finally:
            self._passing.discard(task)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._answers:
            await asyncio.Event().wait()
        there, back = await asyncio.open_unix_connection(self._behind)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(reader, back))
                group.create_task(_copy(there, writer))
        finally:
            back.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
        await target.drain()
    target.close()
