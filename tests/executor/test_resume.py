"""A run begins after what an earlier run of its task completed, and cannot be told from one that was never cut off."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from crewtop.model.events import DoneStep, Resumed, StepEnded, StepStarted
from tests.executor.runs import Answer, Ended, Executor, answering, completion

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("executor")]

TOPIC = {"topic": "lamps"}


@asynccontextmanager
async def model() -> AsyncIterator[tuple[str, list[Any]]]:
    """A provider whose answers follow from the whole prompt; yields its address and the prompts so far."""
    prompts: list[Any] = []

    def answer(path: str, body: Any) -> Answer:
        prompts.append(body["messages"])
        return completion(json.dumps({"title": f"{zlib.crc32(json.dumps(body['messages']).encode())}"}), None)

    async with answering(answer) as url:
        yield url, prompts


def done(run: Ended, position: int) -> list[DoneStep]:
    """What a run that was cut off after a step leaves in the database."""
    steps = sorted(run.of(StepEnded), key=lambda step: step.position)
    return [
        DoneStep(run_id=run.run_id, position=step.position, output=step.output, receipt=step.receipt)
        for step in steps
        if step.position <= position
    ]


def began(run: Ended) -> list[int]:
    return [step.position for step in run.of(StepStarted)]


@pytest.mark.parametrize(
    ("crew", "completed"),
    [
        ("plain", 3), ("plain", 1), ("explicit", 3), ("parallel", 1), ("parallel", 2), ("parallel", 4),
        ("conditional", 1), ("conditional", 3), ("structured", 1), ("structured", 3), ("guarded", 3),
    ],
)  # fmt: skip
async def test_a_resumed_crew_asks_and_answers_as_an_undisturbed_one(
    executor: Executor, crew: str, completed: int
) -> None:
    async with model() as (url, prompts):
        whole = await executor.run(f"steps:{crew}", TOPIC, url)
        undisturbed = sorted(map(str, prompts))
        prompts.clear()
        rest = await executor.run(f"steps:{crew}", TOPIC, url, done=done(whole, completed))
    assert rest.result == whole.result
    assert began(rest) == [position for position in began(whole) if position > completed]
    assert {str(prompt) for prompt in prompts} < set(undisturbed)
    assert len(prompts) == len(undisturbed) - sum(step["position"] <= completed for step in done(whole, completed))
    [resumed] = rest.of(Resumed)
    assert (resumed.run_id, resumed.position) == (whole.run_id, completed)
    assert f"resumed after step {completed} of 5, which run {whole.run_id} completed" in rest.log


async def test_a_streaming_crew_is_resumed(executor: Executor) -> None:
    whole = await executor.run("steps:streaming", TOPIC)
    rest = await executor.run("steps:streaming", TOPIC, done=done(whole, 3))
    assert (rest.result, began(rest)) == (whole.result, [4, 5])


async def test_a_crew_whose_last_step_was_done_only_returns_its_result(executor: Executor) -> None:
    async with model() as (url, prompts):
        whole = await executor.run("steps:plain", TOPIC, url)
        prompts.clear()
        rest = await executor.run("steps:plain", TOPIC, url, done=done(whole, 5))
    assert (rest.result, prompts) == (whole.result, [])


async def test_a_resumed_run_that_is_cut_off_leaves_what_a_third_one_needs(executor: Executor) -> None:
    async with model() as (url, prompts):
        whole = await executor.run("steps:structured", TOPIC, url)
        second = await executor.run("steps:structured", TOPIC, url, done=done(whole, 2))
        prompts.clear()
        third = await executor.run("steps:structured", TOPIC, url, done=[*done(whole, 2), *done(second, 4)])
    assert third.result == whole.result
    assert len(prompts) == 1


async def test_a_file_that_a_step_left_is_in_the_new_runs_folder_too(executor: Executor, tmp_path: Path) -> None:
    async with model() as (url, _):
        whole = await executor.run("steps:structured", TOPIC, url)
        rest = await executor.run("steps:structured", TOPIC, url, done=done(whole, 3))
    left, again = (tmp_path / str(run.run_id) / "page.json" for run in (whole, rest))
    assert again.read_text() == left.read_text()


async def test_a_callback_is_not_called_again_for_a_step_that_was_done(executor: Executor) -> None:
    async with model() as (url, _):
        whole = await executor.run("steps:guarded", TOPIC, url)
        rest = await executor.run("steps:guarded", TOPIC, url, done=done(whole, 1))
    assert "told\n" in whole.log
    assert "told\n" not in rest.log


async def test_a_step_that_cannot_be_restored_as_it_was_is_done_again(executor: Executor) -> None:
    async with model() as (url, _):
        whole = await executor.run("steps:unrestorable", TOPIC, url)
        rest = await executor.run("steps:unrestorable", TOPIC, url, done=done(whole, 4))
    assert [step["receipt"] is not None for step in done(whole, 5)] == [True, False, True, True, True]
    assert began(rest) == [2, 3, 4, 5]
    assert rest.result == whole.result


@pytest.mark.parametrize(
    ("crew", "topic", "why"),
    [
        ("changed", "lamps", "the crew's step 2 is not the one that an earlier run completed"),
        ("shorter", "lamps", "the crew's step 3 is not the one that an earlier run completed"),
        ("plain", "desks", "the crew's step 1 is not the one that an earlier run completed"),
        ("planned", "lamps", "a crew that plans is not resumed: each plan changes its tasks"),
        ("led", "lamps", "a crew with the hierarchical process is not resumed"),
    ],
)
async def test_a_crew_that_is_another_one_now_starts_from_scratch_and_says_why(
    executor: Executor, crew: str, topic: str, why: str
) -> None:
    async with model() as (url, _):
        whole = await executor.run("steps:plain", TOPIC, url)
        again = await executor.run(f"steps:{crew}", {"topic": topic}, url, done=done(whole, 3))
    assert again.of(Resumed) == []
    assert f"from scratch: {why}" in again.log


async def test_a_flow_starts_from_scratch_and_says_so(executor: Executor) -> None:
    step = DoneStep(run_id=1, position=1, output="tea", receipt=None)
    run = await executor.run("shop:Greeting", {"name": "Bob"}, done=[step])
    assert began(run) == [1]
    assert "from scratch: a flow is not resumed" in run.log
