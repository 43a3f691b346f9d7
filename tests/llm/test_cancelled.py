"""A run that is cancelled while its call waits for a permit: its place is free at once, and nothing stays reserved."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from crewtop.demo.provider import Fault, serve
from crewtop.live import keys
from crewtop.model.task import TaskStatus
from tests.e2e.conftest import Site, site
from tests.e2e.test_money import first_calls

__all__ = ["site"]

PRODUCT = {"customer": "Ada", "question": "mugs?"}
LIMITED = '[llm]\nwait_seconds = 300\n[llm.limits."openai/gpt-4o-mini"]\nat_once = 1\n'
MODEL = f"{keys.LIMIT}{{openai}}:gpt-4o-mini:"


@pytest.mark.parametrize("flags", [(), ("--crews-per-process", "4")], ids=["solo", "hosted"])
async def test_a_run_that_is_cancelled_while_its_call_waits_holds_nothing(
    site: Site, redis_url: str, flags: tuple[str, ...]
) -> None:
    path = site.folder / "crewtop.toml"
    path.write_text(path.read_text() + LIMITED)
    async with (
        serve(first_calls(Fault.HANG, None, rate_hang=0.5)) as provider,
        Redis.from_url(redis_url, decode_responses=True) as redis,
    ):

        async def waiting() -> Any:
            return await redis.hgetall(MODEL + "waiting")

        async def nobody_waits() -> bool:
            return not await waiting()

        site.worker("--slots", "3", *flags, CREWTOP_DEMO_PROVIDER=provider.url)
        out = await site.queue.enqueue("product", PRODUCT)
        await site.until("EXISTS (SELECT FROM crewtop.llm_calls WHERE outcome = 'started')")
        run = await site.sql("SELECT id FROM crewtop.runs WHERE task_id = $1", out)
        cancelled = await site.queue.enqueue("product", PRODUCT)
        await site.until(waiting)
        assert await site.queue.cancel(cancelled, "changed my mind")
        await site.until(nobody_waits)
        await site.until("status = 'cancelled' FROM crewtop.tasks WHERE id = $1", cancelled)
        (log,) = await redis.keys(MODEL + "*:log")
        assert await redis.zcard(log) == 1  # the other's, which is out
        assert len(provider.books.calls()) == 1
        assert await site.queue.status(out) is TaskStatus.RUNNING
        assert await site.sql("SELECT max(id) FROM crewtop.runs WHERE task_id = $1", out) == run
