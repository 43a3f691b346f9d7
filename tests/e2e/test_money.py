"""Real crews whose calls hang, are throttled or tell nothing: the slot comes back, and the bill stays honest."""

from __future__ import annotations

from datetime import timedelta

import psutil
import pytest

from crewtop.demo.provider import Behaviour, Fault, serve
from crewtop.demo.provider.behaviour import Fates
from crewtop.model.filters import TaskFilter
from crewtop.queue import TaskFailed
from crewtop.store import tasklist
from tests.e2e.conftest import Site

ORDER = {"order_id": "A-1017", "customer": "Bruno Keller", "question": "Where is it?"}


def first_calls(*faults: Fault | None, **rates: float) -> Behaviour:
    """A behaviour whose first calls meet just these faults."""
    for seed in range(10_000):
        behaviour = Behaviour(seed=seed, **rates)
        fates = Fates(behaviour)
        if [fates.deal("gpt-4.1-mini").fault for _ in faults] == list(faults):
            return behaviour
    raise AssertionError("no seed deals that")


async def test_a_hung_call_is_shown_killed_at_the_budget_and_its_cost_unknown(site: Site) -> None:
    """Cases C19 and C21: what was paid before it stays on the bill."""
    async with serve(first_calls(None, Fault.HANG, rate_hang=0.5)) as provider:
        site.worker(CREWTOP_DEMO_PROVIDER=provider.url)
        task_id = await site.queue.enqueue("order", ORDER, max_attempts=1, budget=timedelta(seconds=12))
        await site.until("EXISTS (SELECT FROM crewtop.llm_calls WHERE outcome = 'ok')")
        await site.until("activity LIKE 'LLM call to %' AND progress_at < now() - interval '1 s' FROM crewtop.runs")
        page = await tasklist.list_tasks(site.database, TaskFilter(), "newest", 1, no_progress_seconds=0.5)
        assert page.rows[0].stuck == "no progress in LLM call to gpt-4.1-mini"
        with pytest.raises(TaskFailed, match="over its budget of 12 s"):
            await site.queue.result(task_id, timeout=60)
        [paid, hung] = provider.books.calls()
    await site.until("count(*) = 1 FROM crewtop.llm_calls WHERE outcome = 'killed' AND cost IS NULL")
    assert paid.usage is not None
    row = await site.sql("SELECT (tokens, calls, unpriced_calls, cost > 0)::text FROM crewtop.tasks")
    assert row == f"({paid.usage.prompt + paid.usage.completion},2,1,t)"
    assert hung.fault is Fault.HANG
    _, out, _ = await site.crewtop("show", str(task_id))
    assert "1 call unreported" in out or "≥ $" in out


async def test_a_429_rests_as_long_as_the_provider_says_and_spends_no_attempt(site: Site) -> None:
    """Case C20."""
    async with serve(Behaviour(rate_429=1.0, retry_after_seconds=40)) as provider:
        site.worker(CREWTOP_DEMO_PROVIDER=provider.url)
        await site.queue.enqueue("product", {"customer": "Ada", "question": "mugs?"}, max_attempts=1)
        await site.until("EXISTS (SELECT FROM crewtop.tasks WHERE status = 'retry')")
    state = await site.sql(
        """SELECT (failed_runs, throttled_runs, run_at > now() + interval '20 s', cost, unpriced_calls)::text
           FROM crewtop.tasks"""
    )
    assert state == "(0,1,t,0,0)"
    assert await site.sql("SELECT bool_and(outcome = 'rate_limited') FROM crewtop.llm_calls")


async def test_missing_usage_is_unknown_and_the_sum_says_so(site: Site) -> None:
    async with serve(Behaviour(rate_no_usage=1.0)) as provider:
        site.worker(CREWTOP_DEMO_PROVIDER=provider.url)
        task_id = await site.queue.enqueue("product", {"customer": "Ada", "question": "mugs?"})
        await site.queue.result(task_id, timeout=60)
        calls = len(provider.books.calls())
    assert calls > 0
    row = await site.sql("SELECT (tokens, calls, unpriced_calls, cost)::text FROM crewtop.tasks")
    assert row == f"(0,{calls},{calls},0)"
    _, out, _ = await site.crewtop("tasks")
    assert " ? " in out


async def test_a_killed_worker_in_mid_call_leaves_a_bill_and_no_process(site: Site) -> None:
    async with serve(Behaviour(rate_hang=1.0)) as provider:
        worker = site.worker(whole=True, CREWTOP_DEMO_PROVIDER=provider.url)
        await site.queue.enqueue("product", {"customer": "Ada", "question": "mugs?"})
        await site.until("EXISTS (SELECT FROM crewtop.llm_calls WHERE outcome = 'started')")
        below = psutil.Process(worker.pid).children(recursive=True)
        worker.kill()
        worker.wait()
        _, alive = psutil.wait_procs(below, timeout=20)
        assert alive == []
        site.worker("--slots", "1", CREWTOP_DEMO_PROVIDER="http://127.0.0.1:9/v1")
        await site.until("EXISTS (SELECT FROM crewtop.llm_calls WHERE outcome = 'killed' AND cost IS NULL)")
        assert await site.sql("SELECT unpriced_calls >= 1 AND lost_runs = 1 FROM crewtop.tasks")
