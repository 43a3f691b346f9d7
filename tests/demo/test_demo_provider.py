"""The simulated provider as its clients see it, through OpenAI's own client and over a bare socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI

from crewtop.demo.provider import Behaviour, Provider, serve

QUESTION: list[Any] = [{"role": "user", "content": "Customer: Ada Okafor\nOrder id: A-1004\nWhere is it?"}]
LOOK_UP = {"name": "look_up_order", "parameters": {"required": ["order_id"]}}
CHECK = {"name": "check_inventory", "parameters": {"required": ["sku"]}}
TOOLS = [{"type": "function", "function": function} for function in (LOOK_UP, CHECK)]


@asynccontextmanager
async def shop_provider(key: str = "simulated", **behaviour: Any) -> AsyncIterator[tuple[Provider, AsyncOpenAI]]:
    async with (
        serve(Behaviour(**behaviour)) as provider,
        AsyncOpenAI(
            base_url=provider.url,
            api_key=key,
            max_retries=0,
            default_headers={"X-Crewtop-Run": "run-1"},
        ) as client,
    ):
        yield provider, client


async def ask(client: AsyncOpenAI, **settings: Any) -> Any:
    return await client.chat.completions.create(**{"model": "gpt-4.1-mini", "messages": QUESTION, **settings})


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds: a connection's end takes a few turns of the loop to arrive."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_an_answer_is_marked_as_simulated_and_repeatable() -> None:
    async with shop_provider() as (_, client):
        first, second = await ask(client), await ask(client)

    assert first.choices[0].message.content.startswith("(simulated) Hello Ada Okafor.")
    assert first.choices[0].message.content == second.choices[0].message.content
    assert first.choices[0].finish_reason == "stop"


async def test_the_books_hold_each_call_as_the_client_was_told() -> None:
    async with shop_provider() as (provider, client):
        answer = await ask(client)
        (call,) = provider.books.calls("run-1")

    assert (call.run, call.model, call.status) == ("run-1", "gpt-4.1-mini", 200)
    assert call.response_id == answer.id
    assert call.usage
    assert call.usage.as_openai() == answer.usage.to_dict()
    assert call.usage_reported


async def test_the_books_are_served_whole_and_by_run() -> None:
    async with shop_provider() as (provider, client):
        await ask(client)
        await ask(client, extra_headers={"X-Crewtop-Run": "run-2"})
        async with httpx.AsyncClient(base_url=provider.url.removesuffix("/v1")) as web:
            everything = (await web.get("/__books")).json()
            second = (await web.get("/__books", params={"run": "run-2"})).json()

    assert [call["run"] for call in everything["calls"]] == ["run-1", "run-2"]
    assert everything["dropped"] == 0
    assert second["calls"] == everything["calls"][1:]
    assert second["calls"][0]["usage"]["prompt_tokens"] > 0


async def test_tools_are_called_with_arguments_from_the_conversation_until_the_answer() -> None:
    messages: list[dict[str, Any]] = list(QUESTION)
    results = iter(["Order A-1004 is late.\nSku: LAMP-01", "Brass desk lamp: 14 in stock."])
    asked = []
    async with shop_provider() as (_, client):
        while calls := (answer := await ask(client, messages=messages, tools=TOOLS)).choices[0].message.tool_calls:
            asked.append((calls[0].function.name, json.loads(calls[0].function.arguments)))
            messages.append(answer.choices[0].message.model_dump(exclude_none=True))
            messages.append({"role": "tool", "tool_call_id": calls[0].id, "content": next(results)})

    assert asked == [("look_up_order", {"order_id": "A-1004"}), ("check_inventory", {"sku": "LAMP-01"})]
    assert answer.choices[0].message.content == (
        "(simulated) Hello Ada Okafor. Order A-1004 is late. Brass desk lamp: 14 in stock."
    )
    assert answer.usage.prompt_tokens_details.cached_tokens > 0


async def test_a_tools_error_ends_the_calls_and_is_explained() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look_up_order", "arguments": "{}"}}
    failed = [
        *QUESTION,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Error executing tool: no order A-1004."},
    ]
    take_back = {"type": "function", "function": {**LOOK_UP, "name": "process_return"}}
    async with shop_provider() as (_, client):
        answer = await ask(client, messages=failed, tools=[*TOOLS, take_back])

    assert answer.choices[0].message.content.endswith("I could not do this for you. no order A-1004.")


async def test_no_tool_is_called_without_its_arguments() -> None:
    async with shop_provider() as (_, client):
        answer = await ask(client, messages=[{"role": "user", "content": "Hello"}], tools=TOOLS)

    assert answer.choices[0].message.tool_calls is None


async def test_a_stream_adds_up_to_the_plain_answer_and_ends_with_its_usage() -> None:
    async with shop_provider() as (provider, client):
        plain = await ask(client)
        stream = await ask(client, stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]
        streamed = provider.books.calls()[1]

    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == plain.choices[0].message.content
    assert chunks[-1].usage.model_dump() == plain.usage.model_dump()
    assert streamed.streamed
    assert streamed.usage_reported


async def test_a_stream_without_the_wish_for_usage_reports_none_but_the_books_do() -> None:
    async with shop_provider() as (provider, client):
        chunks = [chunk async for chunk in await ask(client, stream=True)]
        (call,) = provider.books.calls()

    assert all(chunk.usage is None for chunk in chunks)
    assert call.usage
    assert not call.usage_reported


async def test_a_stream_carries_tool_calls() -> None:
    async with shop_provider() as (_, client):
        chunks = [chunk async for chunk in await ask(client, stream=True, tools=TOOLS)]

    (called,) = [chunk.choices[0].delta.tool_calls for chunk in chunks if chunk.choices[0].delta.tool_calls]
    assert called[0].function.name == "look_up_order"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("stream", [False, True])
async def test_usage_can_be_missing_although_the_answer_was_counted(stream: bool) -> None:
    options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    async with shop_provider(rate_no_usage=1.0) as (provider, client):
        answer = await ask(client, **options)
        seen = [chunk.usage async for chunk in answer] if stream else [answer.usage]
        (call,) = provider.books.calls()

    assert set(seen) == {None}
    assert call.usage
    assert not call.usage_reported


async def test_a_rate_limit_says_when_to_come_back() -> None:
    async with shop_provider(rate_429=1.0, retry_after_seconds=30) as (provider, client):
        with pytest.raises(openai.RateLimitError) as caught:
            await ask(client)
        (call,) = provider.books.calls()

    assert caught.value.response.headers["retry-after"] == "30"
    assert caught.value.code == "rate_limit_exceeded"
    assert (call.status, call.usage) == (429, None)


async def test_a_server_error_costs_nothing() -> None:
    async with shop_provider(rate_500=1.0) as (provider, client):
        with pytest.raises(openai.InternalServerError, match="simulated"):
            await ask(client)
        (call,) = provider.books.calls()

    assert (call.status, call.usage) == (500, None)


@pytest.mark.parametrize(
    ("key", "error", "code"),
    [
        ("revoked-7", openai.AuthenticationError, "invalid_api_key"),
        ("exhausted-7", openai.RateLimitError, "insufficient_quota"),
    ],
)
async def test_a_keys_first_letters_decide_that_it_is_refused(
    key: str, error: type[openai.APIStatusError], code: str
) -> None:
    async with shop_provider(key=key) as (provider, client):
        with pytest.raises(error) as caught:
            await ask(client)
        (call,) = provider.books.calls()

    assert caught.value.code == code
    assert "retry-after" not in caught.value.response.headers
    assert call.status == caught.value.status_code


async def test_a_hung_call_stays_open_until_its_client_leaves() -> None:
    async with shop_provider(rate_hang=1.0) as (provider, client):
        asking = asyncio.create_task(ask(client))
        await until(provider.books.calls)
        (call,) = provider.books.calls()
        assert call.seconds is None
        asking.cancel()
        await until(lambda: call.seconds is not None)

    assert (call.status, call.usage) == (None, None)


async def test_a_dripping_call_sends_bytes_for_ever_but_no_answer() -> None:
    async with shop_provider(rate_drip=1.0, drip_seconds=0.01) as (provider, client):
        async with client.chat.completions.with_streaming_response.create(
            model="gpt-4.1-mini", messages=QUESTION
        ) as response:
            dripped = b""
            async for part in response.iter_bytes():
                dripped += part
                if len(dripped) >= 3:
                    break
        (call,) = provider.books.calls()
        await until(lambda: call.seconds is not None)

    assert dripped.strip() == b""
    assert (call.status, call.usage) == (200, None)


async def test_a_client_that_leaves_while_the_model_thinks_is_not_charged() -> None:
    async with shop_provider(latency_seconds=0.2) as (provider, client):
        asking = asyncio.create_task(ask(client))
        await until(provider.books.calls)
        asking.cancel()
        (call,) = provider.books.calls()
        await until(lambda: call.seconds is not None)

    assert (call.status, call.usage) == (None, None)


async def test_the_end_of_the_provider_cuts_off_whoever_still_waits() -> None:
    async with AsyncOpenAI(base_url="http://unused", api_key="simulated", max_retries=0) as client:
        async with serve(Behaviour(rate_hang=1.0)) as provider:
            asking = asyncio.create_task(ask(client.with_options(base_url=provider.url)))
            await until(provider.books.calls)

        with pytest.raises(openai.APIConnectionError):
            await asking


async def test_models_are_listed_as_simulated() -> None:
    async with shop_provider() as (_, client):
        models = [model async for model in client.models.list()]

    assert "gpt-4.1-mini" in [model.id for model in models]
    assert {model.owned_by for model in models} == {"simulated"}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"messages": [{"role": "user"}]}', "'model' must be"),
        (b'{"model": "m", "messages": []}', "'messages' must be"),
        (b'{"model": "m", "messages": [{"role": "user", "tool_calls": [1]}]}', "'messages' must be"),
        (b'{"model": "m", "messages": [{"role": "user"}], "tools": [{}]}', "'tools' must be"),
    ],
)
async def test_a_bad_request_is_refused_with_the_reason_and_not_booked(body: bytes, complaint: str) -> None:
    async with serve() as provider, httpx.AsyncClient() as web:
        response = await web.post(f"{provider.url}/chat/completions", content=body)
        lost = await web.get(f"{provider.url}/nowhere")

    assert response.status_code == 400
    assert complaint in response.json()["error"]["message"]
    assert lost.status_code == 404
    assert provider.books.calls() == []


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\ncontent-length: many\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", b"411"),
        (b"POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nx: " + b"x" * 100_000, b"431"),
    ],
)
async def test_what_is_no_request_is_refused_and_the_connection_closed(sent: bytes, status: bytes) -> None:
    async with serve() as provider:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(provider.url).port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 " + status)


async def test_five_hundred_clients_at_once_are_all_answered() -> None:
    async with serve(Behaviour(latency_seconds=0.05)) as provider:
        port = httpx.URL(provider.url).port
        answers = await asyncio.gather(*(call_over_a_new_connection(port, f"run-{n}") for n in range(500)))

    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 200 OK"}
    assert {call.run for call in provider.books.calls()} == {f"run-{n}" for n in range(500)}


async def call_over_a_new_connection(port: int | None, run: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"model": "gpt-4.1", "messages": QUESTION}).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer simulated\r\nconnection: close\r\n"
        f"x-crewtop-run: {run}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    return answer
