"""The server: connections, endpoints, and the faults on the way to an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from crewtop.demo.provider.answers import Reply, reply_to
from crewtop.demo.provider.behaviour import Behaviour, Fate, Fates, Fault
from crewtop.demo.provider.books import Books, Call
from crewtop.demo.provider.chat import BadRequestError, Chat, parse_chat
from crewtop.demo.provider.completion import chunks, completion, error_body
from crewtop.demo.provider.limits import Meter, Meters, Refused, retry_headers
from crewtop.demo.provider.orders import Orders
from crewtop.demo.provider.usage import Usage, count_usage
from crewtop.demo.provider.wire import (
    Request,
    WireError,
    event_stream,
    json_response,
    read_request,
    response_head,
)

RUN_HEADER = "X-Crewtop-Run"
CLIENT_ID_HEADER = "X-Client-Request-Id"
"""OpenAI's, with which a client names a request for its own records."""
MODELS = ("gpt-4.1", "gpt-4.1-mini", "gpt-4o-mini", "o4-mini")
"""What GET /v1/models lists: the models of the shop's crews. A call may name any other as well."""
ADMIN = "/__admin/"
"""Where orders are taken, see Orders.obey. Only this machine can reach it, as all of the provider."""
_BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Provider:
    """A running provider. url: what a client takes as its base address. books: all calls so far. orders: to it."""

    url: str
    books: Books
    orders: Orders


@asynccontextmanager
async def serve(behaviour: Behaviour | None = None, port: int = 0) -> AsyncIterator[Provider]:
    """Run a provider on 127.0.0.1 in this event loop for as long as the block lasts.

    port: 0 takes a free one. Yields the Provider; at the end of the block its clients are cut off, even
    unanswered ones. Raises OSError if the port is taken.
    """
    behaviour = behaviour or Behaviour()
    house = _House(behaviour, Fates(behaviour), Books(), Meters(behaviour), Orders())
    connections: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_Connection(reader, writer, house).run())
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", port, backlog=_BACKLOG)
    try:
        yield Provider(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", house.books, house.orders)
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()


@dataclass(frozen=True, slots=True)
class _House:
    """What all connections share."""

    behaviour: Behaviour
    fates: Fates
    books: Books
    meters: Meters
    orders: Orders


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a call will be answered with, and what is left of its key's limits."""

    reply: Reply
    usage: Usage
    meter: Meter


@dataclass(frozen=True, slots=True)
class _Connection:
    """One client's connection. Each method that answers returns whether the connection lives on."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    house: _House

    async def run(self) -> None:
        """Answer requests until the client leaves or a fault ends the connection."""
        try:
            while (request := await read_request(self.reader)) and await self._answer(request):
                if request.headers.get("connection", "").lower() == "close":
                    return
        except WireError as error:
            await self._send(json_response(error.status, error_body(str(error), "invalid_request_error")))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.writer.close()

    async def _answer(self, request: Request) -> bool:
        match request.method, request.path:
            case "POST", "/v1/chat/completions":
                return await self._chat(request)
            case "GET", "/v1/models":
                listed = [{"id": name, "object": "model", "owned_by": "simulated"} for name in MODELS]
                return await self._send(json_response(200, {"object": "list", "data": listed}))
            case "GET", "/__books":
                return await self._send(json_response(200, self.house.books.as_json(request.query.get("run"))))
            case "POST", path if path.startswith(ADMIN):
                return await self._obey(path.removeprefix(ADMIN), request.body)
        message = f"there is no {request.method} {request.path}"
        return await self._send(json_response(404, error_body(message, "invalid_request_error")))

    async def _obey(self, order: str, body: bytes) -> bool:
        try:
            return await self._send(json_response(200, self.house.orders.obey(order, body)))
        except BadRequestError as error:
            return await self._send(json_response(400, error_body(str(error), "invalid_request_error")))

    async def _chat(self, request: Request) -> bool:
        try:
            chat = parse_chat(request.body)
        except BadRequestError as error:
            return await self._send(json_response(400, error_body(str(error), "invalid_request_error")))
        key = request.headers.get("authorization", "").removeprefix("Bearer").strip()
        refusal = self.house.orders.refusal(key, chat.model)
        fate = Fate(None, 0.0) if refusal else self.house.fates.deal(chat.model)
        call = self.house.books.enter(
            run=request.headers.get(RUN_HEADER.lower()),
            client_id=request.headers.get(CLIENT_ID_HEADER.lower()),
            key=key,
            model=chat.model,
            streamed=chat.stream,
            fault=fate.fault,
        )
        clock = asyncio.get_running_loop().time
        arrived = clock()
        try:
            if refusal:
                return await self._refuse(call, refusal.status, refusal.body, refusal.headers)
            return await self._admit(chat, call, key, fate.latency_seconds)
        finally:
            call.seconds = clock() - arrived

    async def _admit(self, chat: Chat, call: Call, key: str, latency_seconds: float) -> bool:
        reply = reply_to(chat)
        answer = _Answer(reply, count_usage(chat, reply), self.house.meters.of(key, chat.model))
        now = asyncio.get_running_loop().time()
        refused = answer.meter.admit(now, answer.usage.prompt + answer.usage.completion)
        if refused:
            return await self._refuse(call, 429, _over(refused, chat.model), _limits(answer, refused))
        try:
            return await self._meet(chat, call, answer, latency_seconds)
        finally:
            answer.meter.close()

    async def _meet(self, chat: Chat, call: Call, answer: _Answer, latency_seconds: float) -> bool:
        if call.fault is Fault.RATE_LIMIT:
            body = error_body(f"Rate limit reached for {chat.model}", "requests", "rate_limit_exceeded")
            headers = {"retry-after": str(self.house.behaviour.retry_after_seconds)}
            return await self._refuse(call, 429, body, headers)
        await asyncio.sleep(latency_seconds)
        if self.reader.at_eof() or self.writer.is_closing():
            return False
        if call.fault is Fault.SERVER_ERROR:
            return await self._refuse(call, 500, error_body("The server had an error", "server_error"))
        if call.fault is Fault.HANG:
            return await self._hang()
        if call.fault is Fault.DRIP:
            return await self._drip(call)
        return await self._complete(chat, call, answer)

    async def _refuse(
        self, call: Call, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> bool:
        call.status = status
        return await self._send(json_response(status, body, headers))

    async def _hang(self) -> bool:
        while await self.reader.read(1024):
            pass
        return False

    async def _drip(self, call: Call) -> bool:
        call.status = 200
        await self._send(response_head(200, {"content-type": "application/json", "content-length": "1000000"}))
        while not self.reader.at_eof():
            await self._send(b" ")
            with suppress(TimeoutError):
                async with asyncio.timeout(self.house.behaviour.drip_seconds):
                    await self.reader.read(1)
        return False

    async def _complete(self, chat: Chat, call: Call, answer: _Answer) -> bool:
        reply = answer.reply
        call.status = 200
        call.usage = answer.usage
        call.usage_reported = call.fault is not Fault.NO_USAGE and (chat.include_usage or not chat.stream)
        call.tool = reply.tool_call.name if reply.tool_call else None
        if chat.stream:
            return await self._send(event_stream(chunks(call, reply), _limits(answer)))
        return await self._send(json_response(200, completion(call, reply), _limits(answer)))

    async def _send(self, data: bytes) -> bool:
        self.writer.write(data)
        await self.writer.drain()
        return True


def _limits(answer: _Answer, refused: Refused | None = None) -> dict[str, str]:
    left = answer.meter.headers(asyncio.get_running_loop().time())
    return {**left, **retry_headers(refused.retry_after)} if refused else left


def _over(refused: Refused, model: str) -> dict[str, Any]:
    kind = "tokens" if refused.kind == "tokens" else "requests"
    return error_body(f"Rate limit reached for {model} on {refused.kind} per min", kind, "rate_limit_exceeded")
