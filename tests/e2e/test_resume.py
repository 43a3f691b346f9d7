"""A completed step is never paid for twice: real crews that are cut off in the middle, and the provider's own books."""

from __future__ import annotations

import subprocess

import psutil
import pytest

from crewtop.demo.provider import Behaviour, Fault, Provider, serve
from crewtop.demo.provider.behaviour import Fates
from tests.e2e.conftest import Site

TOPIC = {"topic": "lamps"}
WHOLE = (None,) * 5


def meeting(*faults: Fault | None) -> Behaviour:
    """A behaviour whose first calls meet just these faults."""
    rates = {"rate_hang": 0.1} if Fault.HANG in faults else {"rate_500": 0.1}
    for seed in range(10_000):
        behaviour = Behaviour(seed=seed, **rates)
        fates = Fates(behaviour)
        if [fates.deal("gpt-4.1-mini").fault for _ in faults] == list(faults):
            return behaviour
    raise AssertionError("no seed deals that")


async def kill(site: Site, worker: subprocess.Popen[bytes], victim: str) -> subprocess.Popen[bytes]:
    """Kill -9 a worker, or the executor of its only run; answers the worker that goes on."""
    if victim == "worker":
        worker.kill()
        worker.wait()
        return site.worker()
    [zygote] = psutil.Process(worker.pid).children()
    for child in zygote.children():  # the run's, and the one that waits for the next run
        child.kill()
    return worker


async def calls_by_run(site: Site, provider: Provider) -> list[list[Fault | None]]:
    """What the provider has in its books, run by run."""
    runs = await site.sql("SELECT array_agg(id::text ORDER BY id) FROM crewtop.runs")
    return [[call.fault for call in provider.books.calls(run)] for run in runs]


async def kept(site: Site) -> list[str]:
    """The completed steps of each run, as 'run number: position from run number'."""
    rows: list[str] = await site.sql(
        """WITH n AS (SELECT id, row_number() OVER (ORDER BY id) AS number FROM crewtop.runs)
           SELECT array_agg(format('%s: %s%s', n.number, s.position, ' from ' || o.number) ORDER BY n.id, s.position)
           FROM crewtop.steps AS s JOIN n ON n.id = s.run_id LEFT JOIN n AS o ON o.id = s.resumed_from
           WHERE s.status = 'completed'"""
    )
    return rows


@pytest.mark.parametrize("victim", ["executor", "worker"])
async def test_a_crew_killed_in_step_4_makes_exactly_the_missing_calls(site: Site, victim: str) -> None:
    behaviour = meeting(None, None, None, Fault.HANG, None, None, *WHOLE)
    async with serve(behaviour) as provider:
        site.env["CREWTOP_DEMO_PROVIDER"] = provider.url
        worker = site.worker(whole=victim == "executor")
        task_id = await site.queue.enqueue("stages", TOPIC)
        await site.until("EXISTS (SELECT FROM crewtop.llm_calls WHERE step_position = 4 AND outcome = 'started')")
        await kill(site, worker, victim)
        result = await site.queue.result(task_id, timeout=60)
        assert await calls_by_run(site, provider) == [[None, None, None, Fault.HANG], [None, None]]
        paid = [call.usage for call in provider.books.calls() if call.usage]
        undisturbed = await site.queue.result(await site.queue.enqueue("stages", TOPIC), timeout=60)
    assert result == undisturbed
    assert await kept(site) == [
        "1: 1", "1: 2", "1: 3",
        "2: 1 from 1", "2: 2 from 1", "2: 3 from 1", "2: 4", "2: 5",
        "3: 1", "3: 2", "3: 3", "3: 4", "3: 5",
    ]  # fmt: skip
    bill = f"({sum(usage.prompt + usage.completion for usage in paid)},6,1)"
    await site.until("(tokens, calls, unpriced_calls)::text = $2 FROM crewtop.tasks WHERE id = $1", task_id, bill)
    _, out, _ = await site.crewtop("show", str(task_id))
    assert out.count("✓ kept") == 3


async def test_a_crew_that_failed_in_step_4_is_retried_from_there(site: Site) -> None:
    async with serve(meeting(None, None, None, Fault.SERVER_ERROR, None, None)) as provider:
        site.worker(CREWTOP_DEMO_PROVIDER=provider.url, CREWTOP_LLM__TRIES="1")
        await site.queue.result(await site.queue.enqueue("stages", TOPIC), timeout=60)
        assert await calls_by_run(site, provider) == [[None, None, None, Fault.SERVER_ERROR], [None, None]]
    assert await site.sql("SELECT log_tail LIKE '%resumed after step 3 of 5%' FROM crewtop.runs ORDER BY id DESC")


async def test_a_resumed_run_that_dies_too_is_resumed_with_all_that_is_done(site: Site) -> None:
    async with serve(meeting(None, None, Fault.HANG, None, None, Fault.HANG, None)) as provider:
        worker = site.worker(whole=True, CREWTOP_DEMO_PROVIDER=provider.url)
        task_id = await site.queue.enqueue("stages", TOPIC)
        for position in (3, 5):
            hung = "EXISTS (SELECT FROM crewtop.llm_calls WHERE step_position = $1 AND outcome = 'started')"
            await site.until(hung, position)
            await kill(site, worker, "executor")
        await site.queue.result(task_id, timeout=60)
        assert await calls_by_run(site, provider) == [
            [None, None, Fault.HANG], [None, None, Fault.HANG], [None],
        ]  # fmt: skip
    assert (await kept(site))[-5:] == ["3: 1 from 1", "3: 2 from 1", "3: 3 from 2", "3: 4 from 2", "3: 5"]
