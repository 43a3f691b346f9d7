"""The shop's real crews against a provider that fails now and then: its books and our ledger agree to the token."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal

import pytest

from crewtop.demo.provider import Behaviour, serve
from crewtop.demo.traffic import tasks
from crewtop.queue import Task
from tests.e2e.conftest import Site
from tests.store.helpers import counters_are_true, history_is_gapless, one

# US dollars a million tokens: uncached input, cached input, output. OpenAI's list prices as of November 2026.
LIST = {
    "gpt-4.1": ("2.00", "0.50", "8.00"),
    "gpt-4.1-mini": ("0.40", "0.10", "1.60"),
    "gpt-4o-mini": ("0.15", "0.075", "0.60"),
    "o4-mini": ("1.10", "0.275", "4.40"),
}


def by_hand(model: str, prompt: int, cached: int, completion: int) -> Decimal:
    uncached_rate, cached_rate, out_rate = (Decimal(rate) for rate in LIST[model])
    return ((prompt - cached) * uncached_rate + cached * cached_rate + completion * out_rate) / 1_000_000


@pytest.mark.xdist_group("heavy")
async def test_two_hundred_tasks_end_and_every_token_and_cent_is_accounted_for(site: Site) -> None:
    behaviour = Behaviour(latency_seconds=0.3, rate_429=0.025, rate_500=0.025, rate_no_usage=0.01, seed=7)
    async with serve(behaviour) as provider:
        wanted = Counter({"order": 50, "returns": 50, "product": 50, "briefing": 50})
        batch = []
        for task in tasks(seed=3):
            if wanted[task.crew] > 0:
                wanted[task.crew] -= 1
                batch.append(Task(task.crew, task.inputs, task.queue, task.priority))
            if not any(wanted.values()):
                break
        await site.queue.enqueue_many(batch)
        for _ in range(2):
            # One try a call, so that what the provider refuses fails runs: their money is to be accounted for too.
            site.worker("--slots", "6", CREWTOP_DEMO_PROVIDER=provider.url, CREWTOP_LLM__TRIES="1")
        await site.until("NOT EXISTS (SELECT FROM crewtop.tasks WHERE finished_at IS NULL)", patience=300)

        statuses = await one(site.database, "SELECT array_agg(DISTINCT status ORDER BY status) FROM crewtop.tasks")
        assert set(statuses) <= {"completed", "failed"}
        assert await one(site.database, "SELECT count(*) FROM crewtop.tasks WHERE status = 'completed'") >= 190

        tokens: dict[int, int] = defaultdict(int)
        cost: dict[int, Decimal] = defaultdict(Decimal)
        unreported: Counter[int] = Counter()
        for call in provider.books.calls():
            assert call.run is not None
            run_id = int(call.run)
            if call.usage is None:
                continue
            if not call.usage_reported:
                unreported[run_id] += 1
                continue
            tokens[run_id] += call.usage.prompt + call.usage.completion
            cost[run_id] += by_hand(call.model, call.usage.prompt, call.usage.cached, call.usage.completion)

    async with site.database.connection() as connection:
        ledger = await connection.fetch(
            """SELECT r.id, r.outcome,
                      coalesce(sum(c.input_tokens + c.cache_read_tokens + c.cache_write_tokens + c.output_tokens), 0)
                          AS tokens,
                      coalesce(sum(c.cost), 0) AS cost,
                      count(c.call_id) FILTER (WHERE c.outcome = 'ok' AND c.input_tokens IS NULL) AS unreported
               FROM crewtop.runs AS r LEFT JOIN crewtop.llm_calls AS c ON c.run_id = r.id GROUP BY r.id, r.outcome"""
        )
    assert {row["id"]: row["tokens"] for row in ledger} == {row["id"]: tokens[row["id"]] for row in ledger}
    assert {row["id"]: row["cost"] for row in ledger} == {row["id"]: cost[row["id"]] for row in ledger}
    assert {row["id"]: row["unreported"] for row in ledger} == {row["id"]: unreported[row["id"]] for row in ledger}
    assert sum(tokens.values()) == sum(row["tokens"] for row in ledger) > 0
    assert any(row["outcome"] in ("failed", "throttled") for row in ledger), "no run failed: nothing was tested"

    # The task's own sums, the rollup's and the ledger's are one and the same.
    sums = """SELECT (SELECT sum(cost) FROM crewtop.llm_calls), (SELECT sum(cost) FROM crewtop.tasks),
                     (SELECT sum(cost) FROM crewtop.model_stats)"""
    async with site.database.connection() as connection:
        assert len(set(await connection.fetchrow(sums) or ())) == 1
    await counters_are_true(site.database)
    await history_is_gapless(site.database)
