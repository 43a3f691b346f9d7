"""Orders to the simulated provider in the midst of a run: keys die, storms come and go, and the books tell of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from crewtop.demo.provider import CLIENT_ID_HEADER, serve
from crewtop.demo.provider.server import Provider


@asynccontextmanager
async def provided() -> AsyncIterator[tuple[Provider, httpx.AsyncClient]]:
    async with serve() as provider, httpx.AsyncClient(base_url=provider.url.removesuffix("/v1")) as web:
        yield provider, web


async def ask(web: httpx.AsyncClient, key: str = "sk-one", model: str = "gpt-4.1", **headers: str) -> httpx.Response:
    body = {"model": model, "messages": [{"role": "user", "content": "Topic: lamps"}]}
    return await web.post("/v1/chat/completions", json=body, headers={"authorization": f"Bearer {key}", **headers})


async def test_a_revoked_key_is_refused_from_then_on_and_others_are_not() -> None:
    async with provided() as (_, web):
        before = await ask(web)
        ordered = await web.post("/__admin/revoke", json={"key": "sk-one"})
        after, other = await ask(web), await ask(web, "sk-two")
    assert [before.status_code, ordered.status_code, after.status_code, other.status_code] == [200, 200, 401, 200]
    assert after.json()["error"]["code"] == "invalid_api_key"


async def test_a_storm_refuses_one_model_with_every_key_until_it_is_calm() -> None:
    async with provided() as (provider, web):
        await web.post("/__admin/storm", json={"model": "gpt-4.1", "retry_after": 7})
        stormy = [await ask(web), await ask(web, "sk-two")]
        beside = await ask(web, model="o4-mini")
        await web.post("/__admin/calm", json={"model": "gpt-4.1"})
        calm = await ask(web)
        calls = provider.books.calls()
    assert [response.status_code for response in (*stormy, beside, calm)] == [429, 429, 200, 200]
    assert stormy[0].headers["retry-after"] == "7"
    assert [call.usage is not None for call in calls] == [False, False, True, True]


async def test_a_storm_without_a_model_is_over_all_of_them() -> None:
    async with provided() as (provider, web):
        provider.orders.storm()
        refused = [(await ask(web, model=model)).status_code for model in ("gpt-4.1", "o4-mini")]
        provider.orders.calm()
        assert (await ask(web)).status_code == 200
    assert refused == [429, 429]


@pytest.mark.parametrize(
    ("order", "body", "complaint"),
    [
        ("revoke", {}, "/__admin/revoke: use revoke with"),
        ("burn", {}, "/__admin/burn: use revoke with"),
        ("storm", {"retry_after": -1}, "retry_after is -1: whole seconds, from 0 to 86400"),
        ("storm", [], "the body is not a JSON object"),
    ],
)
async def test_an_order_that_cannot_be_carried_out_says_why(order: str, body: Any, complaint: str) -> None:
    async with provided() as (_, web):
        answer = await web.post(f"/__admin/{order}", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(complaint)


async def test_the_books_keep_the_clients_own_name_for_a_call_and_when_it_came() -> None:
    async with provided() as (_, web):
        await ask(web, **{CLIENT_ID_HEADER: "call-1"})
        await ask(web)
        [first, second] = (await web.get("/__books")).json()["calls"]
    assert (first["client_id"], second["client_id"]) == ("call-1", None)
    assert 0 < first["arrived"] <= second["arrived"]
