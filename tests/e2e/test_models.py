"""Real workers let real crews' calls out: dead keys, limits, models left as they are, and secrets that stay secret."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from crewtop.demo.provider import Fault, serve
from crewtop.queue import TaskFailed
from tests.e2e.conftest import Site
from tests.e2e.test_money import first_calls
from tests.executor.runs import Answer, answering, completion

RETURN = {"order_id": "A-1017", "customer": "Ada", "reason": "chipped"}
PRODUCT = {"customer": "Ada", "question": "mugs?"}
DEAD, GOOD = "sk-dead-aaaaaaaaaaaaaaaaDEAD", "sk-good-bbbbbbbbbbbbbbbbGOOD"
KEYS = '[llm.providers.openai]\nkeys = ["KEY_DEAD", "KEY_GOOD"]\n'
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def configure(site: Site, text: str) -> None:
    path = site.folder / "crewtop.toml"
    path.write_text(path.read_text() + text)


async def everything_stored(site: Site, redis_url: str) -> str:
    """All rows of all tables, all that Redis holds, and all that was logged."""
    tables = await site.sql("SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = 'crewtop'")
    rows = [await site.sql(f"SELECT string_agg(t::text, E'\\n') FROM crewtop.{table} AS t") for table in tables]
    async with Redis.from_url(redis_url) as client:
        keys = await client.keys("*")
        dumps = [await client.dump(key) for key in keys]
        streams = [await client.xrange(key) for key in keys if await client.type(key) == b"stream"]
    logs = [path.read_text("utf-8", "replace") for path in site.folder.glob("*.log")]
    return "\n".join([str(row) for row in rows] + [str(dump) for dump in dumps] + [str(streams)] + logs)


async def test_a_dead_key_costs_no_attempt_and_no_key_is_ever_told(site: Site, redis_url: str) -> None:
    """Cases C20 and X5: the provider repeats the key in its refusal, and a crew prints, returns and raises it."""
    configure(site, KEYS + '[crews.blabs]\ntarget = "tests.e2e.crews:blabs"\n')
    sent: list[str] = []

    def answer(path: str, body: Any) -> Answer:
        if sent[-1] == DEAD:
            error = {"message": f"Incorrect API key provided: {DEAD}", "code": "invalid_api_key"}
            return Answer({"error": error}, "401 Unauthorized")
        return completion("Final Answer: Mugs.", USAGE)

    async with answering(answer, sent) as address:
        site.worker("--slots", "2", CREWTOP_DEMO_PROVIDER=address, KEY_DEAD=DEAD, KEY_GOOD=GOOD)
        blabbing = await site.queue.enqueue("blabs", {"how": "return"})
        raising = await site.queue.enqueue("blabs", {"how": "raise"}, max_attempts=1)
        orders = [await site.queue.enqueue("returns", RETURN) for _ in range(3)]
        await site.until_ended()
        for order in orders:
            await site.queue.result(order, timeout=5)
    assert sent.count(DEAD) == 1
    assert await site.sql("SELECT sum(failed_runs + throttled_runs) FROM crewtop.tasks WHERE crew = 'returns'") == 0
    assert await site.sql("SELECT array_agg(DISTINCT key_tail) FROM crewtop.llm_calls WHERE outcome = 'ok'") == ["GOOD"]
    stored = await everything_stored(site, redis_url)
    assert DEAD not in stored
    assert GOOD not in stored
    assert stored.count("key KEY_DEAD of openai is retired: refused by the provider; 1 left") == 1
    assert await site.queue.result(blabbing, timeout=5) == ["…GOOD"]
    assert "…GOOD" in await site.sql("SELECT error FROM crewtop.runs WHERE task_id = $1", raising)


async def test_what_a_limit_does_not_let_out_in_time_goes_back_and_spends_nothing(site: Site) -> None:
    configure(site, '[llm]\nwait_seconds = 1\n[llm.limits."openai/gpt-4o-mini"]\nrequests_per_minute = 1\n')
    async with serve() as provider:
        site.worker("--slots", "2", CREWTOP_DEMO_PROVIDER=provider.url)
        for _ in range(2):
            await site.queue.enqueue("product", PRODUCT, max_attempts=1)
        await site.until("EXISTS (SELECT FROM crewtop.tasks WHERE status = 'retry')")
        row = await site.sql(
            "SELECT (failed_runs, throttled_runs, run_at > now() + interval '20 s')::text FROM crewtop.tasks "
            "WHERE status = 'retry' LIMIT 1"
        )
        assert row == "(0,1,t)"
        assert len(provider.books.calls()) == 1
    assert await site.sql("SELECT count(*) FROM crewtop.llm_calls WHERE outcome <> 'ok'") == 0


async def test_every_call_says_what_was_reckoned_for_it_and_why_this_model(site: Site) -> None:
    configure(site, '[[llm.routes.rules]]\ncrew = "prod*"\nuse = "openai/gpt-4.1-nano"\n')
    async with serve() as provider:
        site.worker("--crews-per-process", "4", CREWTOP_DEMO_PROVIDER=provider.url)
        tasks = [await site.queue.enqueue("product", PRODUCT) for _ in range(3)]
        for task in tasks:
            await site.queue.result(task, timeout=60)
        calls = provider.books.calls()
    assert {call.model for call in calls} == {"gpt-4.1-nano"}
    assert await site.sql(
        """SELECT bool_and(model = 'gpt-4.1-nano' AND estimated_tokens >= tokens AND waited_seconds < 5
                           AND route::jsonb ->> 'reason' = 'rule 1 names it'
                           AND route::jsonb ->> 'asked' = 'openai/gpt-4o-mini')
           FROM (SELECT *, input_tokens + output_tokens AS tokens FROM crewtop.llm_calls) AS c"""
    )


async def test_a_crews_models_are_left_as_they_are_where_it_says_so(site: Site) -> None:
    path = site.folder / "crewtop.toml"
    left = 'product = {target = "crewtop.demo.crews:product", llm = "as is"}'
    path.write_text(path.read_text().replace('product = "crewtop.demo.crews:product"', left))
    configure(site, '[[llm.routes.rules]]\nuse = "openai/gpt-4.1-nano"\n' + KEYS)
    async with serve() as provider:
        site.worker(CREWTOP_DEMO_PROVIDER=provider.url, KEY_DEAD="revoked-key", KEY_GOOD="revoked-too")
        await site.queue.result(await site.queue.enqueue("product", PRODUCT), timeout=60)
        calls = provider.books.calls()
    assert {call.model for call in calls} == {"gpt-4o-mini"}
    assert await site.sql("SELECT bool_and(route IS NULL AND key_tail IS NULL AND cost > 0) FROM crewtop.llm_calls")


async def test_a_run_that_is_killed_in_mid_call_gives_back_what_its_call_held(site: Site) -> None:
    configure(site, '[llm]\nwait_seconds = 60\n[llm.limits."openai/gpt-4o-mini"]\nat_once = 1\n')
    async with serve(first_calls(Fault.HANG, None, None, rate_hang=0.5)) as provider:
        site.worker("--slots", "2", CREWTOP_DEMO_PROVIDER=provider.url)
        hung = await site.queue.enqueue("product", PRODUCT, max_attempts=1, budget=timedelta(seconds=8))
        await site.until("EXISTS (SELECT FROM crewtop.llm_calls WHERE outcome = 'started')")
        waits = await site.queue.enqueue("product", PRODUCT)
        with pytest.raises(TaskFailed, match="over its budget"):
            await site.queue.result(hung, timeout=120)
        await site.queue.result(waits, timeout=120)
    assert await site.sql("SELECT sum(failed_runs + throttled_runs) FROM crewtop.tasks WHERE id = $1", waits) == 0
