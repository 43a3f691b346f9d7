"""Fan-out and fan-in through real workers: results arrive by name, alone and beside others."""

from __future__ import annotations

import pytest

from crewtop.admission import Task
from tests.e2e.conftest import Site


@pytest.mark.parametrize("flags", [(), ("--crews-per-process", "8")], ids=["alone", "shared"])
async def test_the_last_task_gets_the_results_of_the_others(site: Site, flags: tuple[str, ...]) -> None:
    site.worker("--slots", "8", *flags)
    parts = [Task("echo", {"n": n}) for n in range(3)]
    fan = await site.queue.fan_out([*parts, Task("fail", max_attempts=1)], then=Task("join"), on_failure="continue")
    result = await site.queue.result(fan.then, timeout=60)
    failed = fan.ids[-1]
    assert result["fail"] == {"task_id": failed, "status": "failed", "missing": "it has no result"}
    assert [result[name]["n"] for name in ("echo", "echo-2", "echo-3")] == [0, 1, 2]
