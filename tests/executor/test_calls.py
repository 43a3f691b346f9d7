"""Every call to a model is seen, with what the provider counted for it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from crewtop.demo.provider.behaviour import Behaviour
from crewtop.demo.provider.server import Provider, serve
from crewtop.model.events import CallEnded, CallStarted, StepEnded, ToolUsed
from tests.executor.runs import Answer, Ended, Executor, answering, completion

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("executor")]

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def counted(usage: dict[str, Any]) -> tuple[int, ...]:
    """A usage as CrewAI passes it on, in the order of `books`."""
    names = ("prompt_tokens", "cached_prompt_tokens", "completion_tokens", "reasoning_tokens")
    return tuple(usage[name] for name in names)


def books(provider: Provider, run: Ended) -> list[tuple[int, ...]]:
    """What the provider counted for each answered call of a run."""
    return [
        (
            usage["prompt_tokens"],
            usage["prompt_tokens_details"]["cached_tokens"],
            usage["completion_tokens"],
            usage["completion_tokens_details"]["reasoning_tokens"],
        )
        for call in provider.books.calls(str(run.run_id))
        if call.usage and (usage := call.usage.as_openai())
    ]


@pytest.mark.parametrize(
    "target",
    ["shop:pair", "shop:streamed", "shop:with_tools", "shop:in_parallel", "shop:reasoning", "shop:two_in_threads"],
)
async def test_usage_equals_the_providers_books(executor: Executor, provider: Provider, target: str) -> None:
    run = await executor.run(target, {"topic": "lamps"})
    assert run.status == 0, run.failure.traceback
    ended = run.of(CallEnded)
    assert Counter(counted(call.usage) for call in ended) == Counter(books(provider, run))
    assert len({call.call_id for call in ended}) == len(ended)
    assert {call.outcome for call in ended} == {"ok"}


async def test_what_was_paid_before_a_failure_is_kept(executor: Executor, provider: Provider) -> None:
    run = await executor.run("shop:revoked_midway", {"topic": "lamps"})
    paid, refused = run.of(CallEnded)
    assert [counted(paid.usage)] == books(provider, run)
    assert (refused.outcome, refused.usage) == ("refused", None)
    assert [(step.position, step.error is None) for step in run.of(StepEnded)] == [(1, True), (2, False)]
    assert run.failure.error_type == "openai.AuthenticationError"
    assert run.failure.terminal
    assert not run.failure.throttled


async def test_calls_name_model_provider_agent_and_step(executor: Executor) -> None:
    run = await executor.run("shop:in_parallel", {"topic": "lamps"})
    assert sorted((call.position, call.agent, call.provider, call.model) for call in run.of(CallStarted)) == [
        (1, "First", "openai", "gpt-4.1-mini"),
        (2, "Second", "openai", "gpt-4.1-mini"),
        (3, "Third", "openai", "gpt-4.1-mini"),
    ]


async def test_a_planners_calls_are_counted_and_are_no_step(executor: Executor) -> None:
    requests = []

    def plan(path: str, body: Any) -> Answer:
        requests.append(body)
        plans = [{"task_number": n, "task": "-", "plan": "think"} for n in (1, 2)]
        return completion(json.dumps({"list_of_plans_per_task": plans}), USAGE)

    async with answering(plan) as provider:
        run = await executor.run("shop:planned", {"topic": "lamps"}, provider)
    assert run.status == 0, run.failure.traceback
    assert len(requests) == 3
    assert [call.position for call in run.of(CallStarted)] == [None, 1, 2]
    assert sum(call.usage["total_tokens"] for call in run.of(CallEnded)) == 120 * len(requests)
    assert [step.position for step in run.of(StepEnded)] == [1, 2]


@pytest.mark.parametrize("target", ["shop:single", "shop:streamed"])
async def test_usage_that_the_provider_omits_is_unknown(executor: Executor, target: str) -> None:
    async with serve(Behaviour(rate_no_usage=1)) as provider:
        run = await executor.run(target, {"topic": "lamps"}, provider.url)
    [call] = run.of(CallEnded)
    assert (call.outcome, call.usage) == ("ok", None)


async def test_a_call_that_crewai_repeats_on_another_api_is_two_calls(executor: Executor) -> None:
    def answer(path: str, body: Any) -> Answer:
        if path == "/v1/chat/completions":
            return Answer({"error": {"message": "This is not a chat model", "param": "model"}}, "404 Not Found")
        text = {"type": "output_text", "text": "Lamps.", "annotations": []}
        message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        response = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
        choices = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
        return Answer(response | choices | {"output": [message], "usage": usage})

    async with answering(answer) as provider:
        run = await executor.run("shop:single", {"topic": "lamps"}, provider)
    assert run.result == "Lamps."
    first, second = run.of(CallEnded)
    assert (first.outcome, second.outcome) == ("refused", "ok")
    assert second.usage["total_tokens"] == 120
    assert [call.call_id for call in run.of(CallStarted)] == [first.call_id, second.call_id]
    assert first.call_id != second.call_id


async def test_a_rate_limit_is_throttled_and_says_how_long(executor: Executor) -> None:
    async with serve(Behaviour(rate_429=1, retry_after_seconds=7)) as provider:
        run = await executor.run("shop:single", {"topic": "lamps"}, provider.url)
    assert run.failure.error_type == "openai.RateLimitError"
    assert (run.failure.throttled, run.failure.retry_after, run.failure.terminal) == (True, 7.0, False)
    assert {call.outcome for call in run.of(CallEnded)} == {"rate_limited"}
    assert len(run.of(CallEnded)) == len(provider.books.calls(str(run.run_id)))


async def test_a_server_error_is_neither_throttled_nor_terminal(executor: Executor) -> None:
    async with serve(Behaviour(rate_500=1)) as provider:
        run = await executor.run("shop:single", {"topic": "lamps"}, provider.url)
    assert run.failure.error_type == "openai.InternalServerError"
    assert (run.failure.throttled, run.failure.terminal) == (False, False)
    assert [(call.outcome, call.usage) for call in run.of(CallEnded)] == [("error", None)]


async def test_a_time_out_is_one(executor: Executor) -> None:
    async with serve(Behaviour(rate_hang=1)) as provider:
        run = await executor.run("shop:impatient", {"topic": "lamps"}, provider.url)
    assert "timed out" in run.failure.error
    assert [call.outcome for call in run.of(CallEnded)] == ["timeout"]


async def test_nobody_at_the_providers_address_is_an_error_with_its_cause_first(executor: Executor) -> None:
    run = await executor.run("shop:unreachable", {})
    first, *wrappers = run.failure.error.splitlines()
    assert first == "[Errno 111] Connection refused"
    assert "as openai.APIConnectionError: Connection error." in wrappers
    assert [call.outcome for call in run.of(CallEnded)] == ["error"]


async def test_a_full_context_window_that_ends_the_process_is_a_failure(executor: Executor) -> None:
    full = {"message": "This model's maximum context length is 8 tokens.", "code": "context_length_exceeded"}
    async with answering(lambda path, body: Answer({"error": full}, "400 Bad Request")) as provider:
        run = await executor.run("shop:unforgiving", {"topic": "lamps"}, provider)
    assert run.failure.error_type == "builtins.SystemExit"
    assert "Context length exceeded" in run.failure.error
    assert run.status == 1
    assert {call.outcome for call in run.of(CallEnded)} == {"refused"}


async def test_tools_are_seen_as_they_begin_and_end(executor: Executor) -> None:
    run = await executor.run("shop:with_tools", {"topic": "lamps"})
    assert [(tool.tool, tool.outcome, tool.error) for tool in run.of(ToolUsed)] == [
        ("stock", None, None),
        ("stock", "ok", None),
        ("flaky", None, None),
        ("flaky", "error", "out of paper"),
    ]
    began, ended, *others = [tool.use_id for tool in run.of(ToolUsed)]
    assert began == ended
    assert began not in others
    assert {tool.position for tool in run.of(ToolUsed)} == {1}
