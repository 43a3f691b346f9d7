"""Tasks through real workers: what is put in, what comes back, what a failure looks like."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from datetime import timedelta

import psutil
import pytest

from crewtop.model.task import TaskStatus
from crewtop.queue import TaskCancelled, TaskFailed
from tests.e2e.conftest import Site
from tests.store.helpers import counters_are_true, history_is_gapless


async def test_a_result_comes_back_to_the_producer(site: Site) -> None:
    site.worker()
    task_id = await site.queue.enqueue("echo", {"order_id": "A-1", "naïve": "\u00fc"})
    assert await site.queue.result(task_id, timeout=60) == {"order_id": "A-1", "naïve": "\u00fc"}
    assert await site.queue.status(task_id) is TaskStatus.COMPLETED


async def test_a_failure_is_retried_and_then_told(site: Site) -> None:
    site.worker()
    task_id = await site.queue.enqueue("fail", {"message": "out of cheese"}, max_attempts=2)
    with pytest.raises(TaskFailed, match="out of cheese"):
        await site.queue.result(task_id, timeout=60)
    assert await site.sql("SELECT count(*) FROM crewtop.runs WHERE outcome = 'failed'") == 2
    assert await site.sql("SELECT bool_and(traceback LIKE '%RuntimeError%') FROM crewtop.runs")
    await history_is_gapless(site.database)


async def test_hostile_text_is_stored_faithfully_and_fails_nothing(site: Site) -> None:
    """Cases C01, C03, C05: markup, NUL, half a surrogate, escape sequences, a megabyte on one line."""
    site.worker()
    text = "[/] [bold]x[@click=app.quit] \x1b]52;c;aGk=\x07 \u009b31m POZ\x00FB \ud800 ok\rFAILED"
    fine = await site.queue.enqueue("hostile", {"text": text, "size": 1_000_000})
    raised = await site.queue.enqueue("hostile", {"text": text, "raise": True}, max_attempts=1)
    result = await site.queue.result(fine, timeout=60)
    assert result["text"] == text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd") + "\ufffd\ufffd"
    assert len(result["big"]) == 1_000_000
    with pytest.raises(TaskFailed, match="POZ\ufffdFB"):
        await site.queue.result(raised, timeout=60)
    for task_id in (fine, raised):
        assert await site.sql("SELECT replaced FROM crewtop.runs WHERE task_id = $1", task_id) >= 2
    assert await site.sql("SELECT inputs_replaced FROM crewtop.tasks WHERE id = $1", fine) == 2
    for arguments in (["show", str(raised)], ["show", str(fine)], ["tasks"], ["snapshot"]):
        code, out, _ = await site.crewtop(*arguments)
        assert code == 0
        assert not any((ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 for c in out), arguments
        assert "[/]" in out or arguments in (["snapshot"],)
    assert "\x1b" not in site.logs()


async def test_a_process_that_dies_is_named_with_its_signal_and_quarantined(site: Site) -> None:
    site.worker()
    task_id = await site.queue.enqueue("die")
    with pytest.raises(TaskFailed, match=r"killed by signal 9 \(SIGKILL\)"):
        await site.queue.result(task_id, timeout=60)
    assert await site.sql("SELECT count(*) FROM crewtop.runs WHERE outcome = 'crashed'") == 3


async def test_a_result_over_the_limit_fails_at_once_with_the_next_step(site: Site) -> None:
    site.worker()
    task_id = await site.queue.enqueue("huge", {"size": 3_000_000})
    with pytest.raises(TaskFailed, match=r"over worker.max_result_bytes = 2000000: return a reference"):
        await site.queue.result(task_id, timeout=60)
    assert await site.sql("SELECT count(*) FROM crewtop.runs") == 1


async def test_a_run_over_its_budget_is_killed(site: Site) -> None:
    site.worker()
    task_id = await site.queue.enqueue(
        "gate", {"folder": str(site.folder)}, max_attempts=1, budget=timedelta(seconds=1)
    )
    with pytest.raises(TaskFailed, match="over its budget of 1 s"):
        await site.queue.result(task_id, timeout=60)
    [pid] = await site.until_started(site.folder)
    assert not psutil.pid_exists(pid)


async def test_cancel_kills_the_process_and_only_then_says_cancelled(site: Site) -> None:
    """Case C19: cancelling is shown until the process is gone."""
    site.worker()
    task_id = await site.queue.enqueue("gate", {"folder": str(site.folder)})
    await site.until_started(site.folder)
    assert await site.queue.cancel(task_id, "changed my mind")
    with pytest.raises(TaskCancelled):
        await site.queue.result(task_id, timeout=60)
    assert not await site.queue.cancel(task_id)
    await history_is_gapless(site.database)


async def test_nothing_that_a_crew_prints_reaches_the_workers_terminal(site: Site) -> None:
    """Case X1: all of it is in the run's log, and nothing can read the operator's keys."""
    worker = site.worker("--burst")
    task_id = await site.queue.enqueue("noisy")
    assert await site.queue.result(task_id, timeout=60) == "nothing to read"
    worker.wait(60)
    for way in ("by print", "by stderr", "by sys.__stdout__", "by os.write", "by a subprocess"):
        assert await site.sql("SELECT strpos(log_tail, $1) > 0 FROM crewtop.runs", way), way
        assert way not in site.logs()


async def test_a_crew_that_no_worker_knows_waits_and_is_named(site: Site) -> None:
    """Case C09: no endless claiming and giving back."""
    site.worker()
    task_id = await site.queue.enqueue("billing_v1", queue="bills")
    known = await site.queue.enqueue("echo", queue="bills")
    await site.queue.result(known, timeout=60)
    code, out, _ = await site.crewtop("snapshot", "--json")
    [queue] = [q for q in json.loads(out)["queues"] if q["name"] == "bills"]
    assert (code, queue["no_worker"], queue["ready"]) == (0, ["billing_v1"], 1)
    assert await site.sql("SELECT version FROM crewtop.tasks WHERE id = $1", task_id) == 1


async def test_a_burst_ends_when_nothing_is_left(site: Site) -> None:
    await site.queue.enqueue_many([])
    ids = [await site.queue.enqueue("echo", {"n": n}) for n in range(5)]
    worker = site.worker("--burst", "--slots", "2")
    assert await asyncio.to_thread(worker.wait, 60) == 0
    assert [await site.queue.status(task_id) for task_id in ids] == [TaskStatus.COMPLETED] * 5
    assert await site.sql("SELECT stopped_at IS NOT NULL FROM crewtop.workers")
    await counters_are_true(site.database)


async def test_sigterm_lets_short_runs_finish_and_gives_long_ones_back(site: Site) -> None:
    """Case C18."""
    short, long = site.folder / "short", site.folder / "long"
    short.mkdir()
    long.mkdir()
    worker = site.worker(CREWTOP_WORKER__GRACE_SECONDS="3")
    quick = await site.queue.enqueue("gate", {"folder": str(short)})
    slow = await site.queue.enqueue("gate", {"folder": str(long)})
    await site.until_started(short)
    await site.until_started(long)
    worker.terminate()
    await site.until("draining FROM crewtop.workers")
    waiting = await site.queue.enqueue("echo")
    (short / "open").touch()
    assert await asyncio.to_thread(worker.wait, 60) == 0
    assert await site.queue.status(quick) is TaskStatus.COMPLETED
    assert await site.queue.status(slow) is TaskStatus.PENDING
    assert await site.queue.status(waiting) is TaskStatus.PENDING
    assert await site.sql("SELECT failed_runs = 0 AND interrupted_runs = 1 FROM crewtop.tasks WHERE id = $1", slow)


async def test_a_second_sigterm_hurries(site: Site) -> None:
    worker = site.worker(CREWTOP_WORKER__GRACE_SECONDS="600")
    task_id = await site.queue.enqueue("gate", {"folder": str(site.folder)})
    await site.until_started(site.folder)
    worker.terminate()
    await site.until("draining FROM crewtop.workers")
    worker.terminate()
    assert await asyncio.to_thread(worker.wait, 60) == 0
    assert await site.queue.status(task_id) is TaskStatus.PENDING
    log = (site.folder / "worker-0.log").read_text()
    assert (log.count("event=draining"), log.count("event=hurrying")) == (1, 1)


async def test_without_crews_a_worker_says_what_to_write(site: Site) -> None:
    (site.folder / "crewtop.toml").write_text("")
    code, _, err = await site.crewtop("worker")
    assert code == 2
    assert err.startswith("crewtop: no crews are registered: add [crews]")
    assert err.count("\n") == 1


async def test_slots_follow_an_operators_order(site: Site) -> None:
    worker = site.worker("--slots", "1")
    await site.until("EXISTS (SELECT FROM crewtop.workers)")
    folder = site.folder
    for _ in range(3):
        await site.queue.enqueue("gate", {"folder": str(folder)})
    await site.until_started(folder, 1)
    await site.sql("UPDATE crewtop.workers SET desired_slots = 3")
    assert len(await site.until_started(folder, 3)) == 3
    (folder / "open").touch()
    await site.until_ended()
    assert isinstance(worker, subprocess.Popen)


async def test_a_worker_that_is_stopped_while_it_starts_ends_at_once(site: Site) -> None:
    """A terminal that is lost just after `crewtop --pool` must not leave a worker that is still importing CrewAI."""
    process = site.worker("--slots", "1")
    await site.until("EXISTS (SELECT FROM crewtop.workers)")
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, 20) == 0
    assert await site.sql("SELECT stopped_at IS NOT NULL FROM crewtop.workers")
