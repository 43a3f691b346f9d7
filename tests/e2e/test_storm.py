"""Case C20 with real workers and crews: a storm of 429s and a dead key cost no attempt, and nobody else's calls."""

from __future__ import annotations

from crewtop.demo.provider import serve
from crewtop.queue import Task
from tests.e2e.conftest import Site

KEYS = {"KEY_ONE": "sk-simulated-one-1111", "KEY_TWO": "sk-simulated-two-2222", "KEY_THREE": "sk-simulated-tri-3333"}
CONFIGURATION = """
[llm.providers.openai]
keys = ["KEY_ONE", "KEY_TWO", "KEY_THREE"]
[llm.limits.openai]
at_once = 20
[crews.desk]
target = "benchmarks.llm_crews:desk"
[crews.second]
target = "benchmarks.llm_crews:second"
"""
INPUTS = {"customer": "Ada", "order_id": "A-1004"}


async def test_a_storm_and_a_dead_key_spend_no_attempt_and_touch_no_other_provider(site: Site) -> None:
    path = site.folder / "crewtop.toml"
    path.write_text(path.read_text() + CONFIGURATION)
    async with serve() as first, serve() as second:

        async def answered() -> bool:
            return any(call.status == 200 for call in first.books.calls())

        async def refused() -> bool:
            return sum(call.status == 429 for call in first.books.calls()) >= 4

        site.worker(
            "--slots", "12", "--crews-per-process", "6",
            CREWTOP_DEMO_PROVIDER=first.url, SECOND_PROVIDER=second.url, **KEYS,
        )  # fmt: skip
        await site.queue.enqueue("desk", INPUTS, max_attempts=1)
        await site.until(answered)
        first.orders.revoke(KEYS["KEY_TWO"])
        first.orders.storm(retry_after=1)
        await site.queue.enqueue_many(Task("desk", INPUTS, max_attempts=1) for _ in range(8))
        await site.until(refused)
        beside = await site.queue.enqueue("second", INPUTS, max_attempts=1)
        await site.queue.result(beside, timeout=60)
        first.orders.calm()
        await site.until_ended()
        statuses = [call.status for call in first.books.calls()]
        others = [call.status for call in second.books.calls()]
    assert await site.sql("SELECT array_agg(DISTINCT status) FROM crewtop.tasks") == ["completed"]
    assert await site.sql("SELECT sum(failed_runs + crashed_runs + lost_runs) FROM crewtop.tasks") == 0
    assert others == [200] * len(others)
    assert 1 <= statuses.count(401) <= 9  # of what was out when it died, and never again
    assert await site.sql("SELECT count(*) FROM crewtop.llm_calls WHERE provider = 'deepseek' AND outcome <> 'ok'") == 0
    assert "key KEY_TWO of openai is retired: refused by the provider; 2 left" in site.logs()
