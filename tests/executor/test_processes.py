"""Who dies when, and that nothing else does.

Where a test needs a zygote of its own and no crew, it is one without CrewAI, which starts at once.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from crewtop.demo.provider.behaviour import Behaviour
from crewtop.demo.provider.server import Provider, serve
from crewtop.executor.client import Zygote, ZygoteError
from crewtop.model.events import CallEnded, CallStarted, Loaded
from tests.executor.conftest import TARGETS
from tests.executor.runs import Executor, Running, alive, eventually

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("executor")]

HERE = Path(__file__).parent
Start = Callable[..., AbstractAsyncContextManager[Executor]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start a zygote on a peculiar host (host/sitecustomize.py): one without CrewAI, unless another is named."""

    @asynccontextmanager
    async def started(host: str = "without_crewai", **env: str) -> AsyncIterator[Executor]:
        for name, value in ({"PYTHONPATH": str(HERE / "host"), "HOST": host} | env).items():
            monkeypatch.setenv(name, value)
        zygote = await Zygote.start(path=TARGETS, log=None)
        try:
            yield Executor(zygote, tmp_path)
        finally:
            await zygote.close()

    return started


def is_loaded(run: Running) -> bool:
    return any(isinstance(event, Loaded) for event in run.events)


async def printed_pid(run: Running) -> int:
    """The process id that a run prints."""
    await run.until(lambda run: re.search(rb"^child \d+\n", run.log, re.MULTILINE) is not None)
    return int(run.log.partition(b"child ")[2].split()[0])


async def test_a_hung_call_dies_unanswered_and_its_neighbour_does_not_notice(executor: Executor) -> None:
    async with serve(Behaviour(rate_hang=1)) as provider:
        hung = await executor.start("shop:single", {"topic": "lamps"}, provider.url)
        neighbour = await executor.start("jobs:sleep")
        await hung.until(lambda run: any(isinstance(event, CallStarted) for event in run.events))
        executor.zygote.kill(hung.process.key, signal.SIGKILL)
        ended = await hung.end()
    assert ended.status == -signal.SIGKILL
    assert len(ended.of(CallStarted)) == 1
    assert not ended.of(CallEnded)
    assert alive(neighbour.process.pid)
    executor.zygote.kill(neighbour.process.key, signal.SIGKILL)
    assert (await neighbour.end()).status == -signal.SIGKILL


async def test_sigterm_ends_a_run_at_once_and_nothing_more_is_reported(executor: Executor) -> None:
    run = await executor.start("jobs:sleep")
    await run.until(is_loaded)
    executor.zygote.kill(run.process.key, signal.SIGTERM)
    ended = await run.end()
    assert ended.status == -signal.SIGTERM
    assert [type(event) for event in ended.events] == [Loaded]


async def test_a_signal_that_comes_before_the_run_has_begun_is_not_lost(executor: Executor) -> None:
    run = await executor.start("jobs:sleep")
    executor.zygote.kill(run.process.key, signal.SIGTERM)
    assert (await run.end()).status == -signal.SIGTERM


async def test_a_run_that_is_deaf_to_sigterm_is_killed(executor: Executor) -> None:
    run = await executor.start("jobs:ignore_sigterm")
    await run.until(lambda run: run.log == b"deaf\n")
    executor.zygote.kill(run.process.key, signal.SIGTERM)
    executor.zygote.kill(run.process.key, signal.SIGKILL)
    assert (await run.end()).status == -signal.SIGKILL


async def test_a_tools_own_process_is_killed_with_the_run(executor: Executor) -> None:
    run = await executor.start("shop:with_stuck_tool", {"topic": "lamps"})
    child = await printed_pid(run)
    assert alive(child)
    executor.zygote.kill(run.process.key, signal.SIGTERM)
    assert (await run.end()).status == -signal.SIGTERM
    await eventually(lambda: not alive(child))


async def test_what_a_finished_run_left_behind_is_killed(executor: Executor) -> None:
    ended = await executor.run("jobs:leave_child_behind")
    assert ended.status == 0
    await eventually(lambda: not alive(ended.result))


async def test_a_process_that_escaped_and_prints_for_ever_is_cut_off(executor: Executor) -> None:
    ended = await executor.run("jobs:leave_shouting_child")
    assert ended.log.startswith("y\ny\n")
    await eventually(lambda: not alive(ended.result))  # nobody reads it any more


async def test_a_process_that_escaped_does_not_hold_up_the_reader(executor: Executor) -> None:
    ended = await executor.run("jobs:leave_escaped_child")
    assert alive(ended.result)
    os.kill(ended.result, signal.SIGKILL)


async def test_hanging_threads_are_not_waited_for(executor: Executor) -> None:
    assert (await executor.run("jobs:leave_thread_hanging")).result == "done"


async def test_lines_that_are_no_events_are_passed_over(executor: Executor, caplog: pytest.LogCaptureFixture) -> None:
    run = await executor.run("jobs:write_garbage")
    assert run.result == "done"
    assert caplog.text.count(f"run {run.run_id} sent a line that is no event: ") == 3


async def test_a_run_that_nobody_listens_to_ends(executor: Executor) -> None:
    run = await executor.start("jobs:sleep")
    await run.until(is_loaded)
    run.abandon()
    assert await run.process.wait() == -signal.SIGKILL


async def test_killing_a_run_that_is_over_does_nothing(executor: Executor) -> None:
    ended = await executor.run("jobs:echo", 1)
    executor.zygote.kill(ended.run_id, signal.SIGKILL)
    assert (await executor.run("jobs:echo", 2)).result == 2


async def test_when_the_worker_is_killed_its_runs_and_their_tools_die(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(HERE / "host"), "HOST": "without_crewai"}
    command = [sys.executable, str(HERE / "worker_to_kill.py"), str(TARGETS), str(tmp_path)]
    worker = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, env=environment)
    assert worker.stdout
    pids = [int(word) for word in (await worker.stdout.readline()).split()]
    assert len(pids) == 3
    assert all(map(alive, pids))
    worker.kill()
    await worker.wait()
    await eventually(lambda: not any(map(alive, pids)))


async def test_when_the_zygote_is_killed_its_runs_and_their_tools_die(start: Start) -> None:
    async with start() as executor:
        run = await executor.start("jobs:sleep_with_child")
        child = await printed_pid(run)
        os.kill(executor.zygote.pid, signal.SIGKILL)
        async with asyncio.timeout(60):
            await executor.zygote.closed.wait()
        assert (await run.end()).status is None
        await eventually(lambda: not alive(run.process.pid) and not alive(child))
        with pytest.raises(ZygoteError, match="the zygote has died"):
            await executor.start("jobs:echo")


async def test_closing_ends_the_runs(start: Start) -> None:
    async with start() as executor:
        run = await executor.start("jobs:sleep_with_child")
        child = await printed_pid(run)
    assert (await run.end()).status is None
    await eventually(lambda: not any(map(alive, (executor.zygote.pid, run.process.pid, child))))


async def test_signals_for_the_worker_do_not_end_the_zygote(start: Start) -> None:
    async with start() as executor:
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(executor.zygote.pid, number)
        assert (await executor.run("jobs:echo", 1)).result == 1


async def test_without_crewai_plain_functions_run_and_crews_say_what_is_missing(start: Start) -> None:
    async with start() as executor:
        assert (executor.zygote.crewai, executor.zygote.mode) == (None, "fork")
        assert (await executor.run("jobs:echo_later", 1)).result == 1
        run = await executor.run("shop:single", {"topic": "lamps"})
        assert "No module named 'crewai'" in run.failure.error


async def test_where_a_thread_forbids_forking_each_run_is_a_fresh_process(start: Start) -> None:
    async with start("without_crewai with_a_thread") as executor:
        assert executor.zygote.mode == "spawn"
        run = await executor.run("jobs:surroundings", {"a": "\u0001" * 1_000_000}, CHOSEN="by the worker")
        assert run.result["env"]["CHOSEN"] == "by the worker"
        assert run.result["session"]
        hung = await executor.start("jobs:sleep_with_child")
        child = await printed_pid(hung)
        executor.zygote.kill(hung.process.key, signal.SIGKILL)
        assert (await hung.end()).status == -signal.SIGKILL
        await eventually(lambda: not alive(child))


async def test_a_crew_in_a_fresh_process_reports_the_same(start: Start, provider: Provider) -> None:
    async with start("with_a_thread") as executor:
        run = await executor.run("shop:single", {"topic": "lamps"}, provider.url)
    assert run.result.startswith("(simulated)")
    [call], [booked] = run.of(CallEnded), provider.books.calls(str(run.run_id))
    assert booked.usage
    assert call.usage["total_tokens"] == booked.usage.as_openai()["total_tokens"]


async def test_home_that_cannot_be_written_is_replaced(start: Start) -> None:
    async with start(HOME="/proc/nowhere") as executor:
        home = (await executor.run("jobs:surroundings")).result["env"]["HOME"]
        assert os.access(home, os.W_OK)
    assert not os.path.exists(home)


async def test_a_zygote_that_cannot_start_says_why_on_one_line(start: Start) -> None:
    with pytest.raises(ZygoteError, match="crewai cannot be imported: RuntimeError: half installed"):
        async with start("broken_crewai"):
            pass
