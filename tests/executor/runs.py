"""Runs as the tests see them, and providers made up for one test."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crewtop.executor.client import Zygote
from crewtop.executor.processes import Process
from crewtop.model.events import Assignment, DoneStep, Event, Raised, Returned, Terms, Turn

_run_ids = itertools.count(1)


@dataclass(frozen=True)
class Ended:
    """A run that is over."""

    run_id: int
    status: int | None
    events: list[Event]
    log: str

    def of(self, *kinds: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def result(self) -> Any:
        last = self.events[-1]
        assert isinstance(last, Returned), last
        return json.loads(last.result)

    @property
    def failure(self) -> Raised:
        last = self.events[-1]
        assert isinstance(last, Raised), last
        return last


class Running:
    """A run that is being read."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.events: list[Event] = []
        self.log = b""
        self._news = asyncio.Event()
        self._readers = asyncio.gather(self._read_events(), self._read_log())

    async def until(self, condition: Callable[[Running], bool]) -> None:
        """Wait until what the run has said so far meets a condition."""
        async with asyncio.timeout(60):
            while not condition(self):
                self._news.clear()
                await self._news.wait()

    def abandon(self) -> None:
        """Stop reading, and close the worker's ends."""
        self._readers.cancel()

    async def end(self) -> Ended:
        """Wait until it is over."""
        async with asyncio.timeout(120):
            await self._readers
            status = await self.process.wait()
        return Ended(self.process.key, status, self.events, self.log.decode())

    async def _read_events(self) -> None:
        async for event in self.process.events:
            self.events.append(event)
            self._news.set()

    async def _read_log(self) -> None:
        async for piece in self.process.log:
            self.log += piece
            self._news.set()


class Executor:
    """Starts runs of the targets in `targets/`, each in a folder of its own."""

    def __init__(self, zygote: Zygote, folder: Path, provider: str = "") -> None:
        self.zygote = zygote
        self._folder = folder
        self.provider = provider

    async def start(self, target: str, inputs: Any = None, provider: str | None = None, **options: Any) -> Running:
        return Running(await self.process(target, inputs, provider, **options))

    async def process(
        self,
        target: str,
        inputs: Any = None,
        provider: str | None = None,
        done: Sequence[DoneStep] = (),
        terms: Terms | None = None,
        turn: Turn | None = None,
        **env: str,
    ) -> Process:
        run_id = next(_run_ids)
        folder = self._folder / str(run_id)
        folder.mkdir(mode=0o700, parents=True)
        environment = {"PROVIDER": provider or self.provider} | env
        text = json.dumps(inputs)
        return await self.zygote.run(
            Assignment(run_id, 1, "billing", target, text, str(folder), environment, list(done), terms, turn)
        )

    async def run(self, target: str, inputs: Any = None, provider: str | None = None, **options: Any) -> Ended:
        return await (await self.start(target, inputs, provider, **options)).end()


@dataclass(frozen=True)
class Answer:
    """What a made-up provider answers."""

    body: Any
    status: str = "200 OK"
    headers: Mapping[str, str] = field(default_factory=dict)


@asynccontextmanager
async def answering(answer: Callable[[str, Any], Answer], keys: list[str] | None = None) -> AsyncIterator[str]:
    """A provider that answers as a function of path and body says; yields its address.

    keys: gets the key that each request came with, before it is answered.
    """

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sent = (await reader.readuntil(b"\r\n\r\n")).decode()
        head = sent.lower()
        if keys is not None:
            key = re.search(r"\r\n(?:authorization: bearer|x-api-key:|x-goog-api-key:) (.*)\r\n", sent, re.I)
            keys.append(key[1] if key else "")
        length = head.partition("content-length: ")[2].partition("\r\n")[0]
        reply = answer(head.split()[1], json.loads(await reader.readexactly(int(length))))
        data = json.dumps(reply.body).encode()
        headers = {"content-length": str(len(data)), "content-type": "application/json", "connection": "close"}
        lines = [f"{name}: {value}" for name, value in (headers | dict(reply.headers)).items()]
        writer.write("\r\n".join([f"HTTP/1.1 {reply.status}", *lines, "", ""]).encode() + data)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


@asynccontextmanager
async def silence() -> AsyncIterator[str]:
    """A provider that takes requests and never answers; yields its address."""
    connections: list[asyncio.StreamWriter] = []

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        for writer in connections:
            writer.close()


def completion(content: str, usage: dict[str, Any] | None) -> Answer:
    """A chat completion."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Answer(body | ({"usage": usage} if usage else {}))


async def eventually(condition: Callable[[], bool]) -> None:
    """Poll until a condition outside of this process holds."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 (nobody in this process could set an event)
            await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process of that id exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
