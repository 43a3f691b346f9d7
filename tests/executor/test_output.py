"""Whatever a crew prints lands in its run's log, and nothing of a worker's is within its reach."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.executor.runs import Executor

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("executor")]


async def test_every_way_of_printing_lands_in_the_log(executor: Executor) -> None:
    run = await executor.run("jobs:noise")
    for line in (
        "printed",
        "printed early",
        "to __stdout__",
        "lone \\ud800 surrogate",
        "written to 1",
        "written to 2",
        "from a subprocess",
    ):
        assert line in run.log.splitlines()
    assert "INFO shop: logged" in run.log
    assert "UserWarning: warned" in run.log


async def test_what_was_printed_before_a_crash_is_there(executor: Executor) -> None:
    run = await executor.run("jobs:crash")
    assert run.status == -signal.SIGABRT
    assert run.log.startswith("about to crash\nFatal Python error: Aborted\n")
    assert "in crash" in run.log


async def test_a_failure_leaves_its_traceback_in_the_log(executor: Executor) -> None:
    run = await executor.run("jobs:fail", "no such order")
    assert "ValueError: no such order" in run.log


async def test_a_mebibyte_of_output_passes(executor: Executor) -> None:
    run = await executor.run("jobs:print_much", 1_000_000)
    assert run.log == "x" * 1_000_000 + "\n"
    assert run.result == "y" * 1_000_000


async def test_nobody_reads_the_operators_keys(executor: Executor) -> None:
    assert (await executor.run("jobs:read_stdin")).result == ""


@pytest.mark.parametrize("target", ["jobs:ask", "shop:with_human"])
async def test_a_crew_that_asks_for_human_input_is_told_so(executor: Executor, target: str) -> None:
    run = await executor.run(target, {"topic": "lamps"})
    assert run.failure.error == "this crew asks for human input, which a worker cannot give"
    assert run.failure.terminal


async def test_surroundings_of_a_run(executor: Executor, tmp_path: Path) -> None:
    run = await executor.run("jobs:surroundings", CHOSEN="by the worker")
    seen = run.result
    environment = seen["env"]
    assert environment["CHOSEN"] == "by the worker"
    assert environment["CREWTOP_RUN_ID"] == str(run.run_id)
    assert environment["CREWTOP_TASK_ID"] == "1"
    assert environment["CREWTOP_CREW"] == "billing"
    folder = str(tmp_path / str(run.run_id))
    assert seen["folder"] == folder
    assert environment["CREWAI_STORAGE_DIR"].startswith(folder)
    assert seen["session"]


async def test_no_secret_of_the_worker_is_visible(executor: Executor) -> None:
    seen = (await executor.run("jobs:surroundings")).result
    for name in ("REDIS_URL", "CREWTOP_POSTGRES", "CREWTOP_REDIS"):
        assert name not in seen["env"]
    assert "secret" not in seen["initial_env"]


async def test_no_descriptor_of_the_zygote_is_inherited(executor: Executor) -> None:
    seen = (await executor.run("jobs:surroundings")).result
    kinds = [name.partition(":")[0] for name in seen["descriptors"]]
    assert kinds == ["/dev/null", "pipe", "pipe", "socket"]


async def test_zygote_has_one_thread(executor: Executor) -> None:
    assert executor.zygote.mode == "fork"
    assert len((await executor.run("jobs:surroundings")).result["zygote_threads"]) == 1
