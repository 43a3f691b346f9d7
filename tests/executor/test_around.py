"""The layer around a crew's calls: each is asked for and settled, gets its key, and is tried again by us alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crewtop.demo.provider.behaviour import Behaviour
from crewtop.demo.provider.server import Provider, serve
from crewtop.model.allowance import Limits
from crewtop.model.events import CallAsked, CallEnded, CallSettled, CallStarted
from tests.executor.managed import worker
from tests.executor.runs import Answer, Ended, Executor, answering, completion

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("executor")]

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
KEYS = {"KEY_A": "sk-aaaaaaaaaaaaaaaaAAAA", "KEY_B": "sk-bbbbbbbbbbbbbbbbBBBB", "KEY_C": "sk-ccccccccccccccccCCCC"}


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return tuple(KEYS)


def ids(run: Ended, kind: type[Any]) -> list[str]:
    """The calls that events of a kind are about, in order."""
    told = {CallAsked: lambda e: e.ask["call_id"], CallSettled: lambda e: e.settled["call_id"]}
    return [told.get(kind, lambda e: e.call_id)(event) for event in run.of(kind)]


def in_turn(*answers: Answer) -> Callable[[str, Any], Answer]:
    """Answers one after the other, the last one for ever."""
    left = list(answers)
    return lambda path, body: left.pop(0) if len(left) > 1 else left[0]


def refusal(status: str, code: str, **headers: str) -> Answer:
    return Answer({"error": {"message": code, "code": code}}, status, headers)


GOOD = completion("I now know. Final Answer: Lamps.", USAGE)


@pytest.mark.parametrize("target", ["pair", "streamed", "with_tools", "in_parallel", "reasoning", "two_in_threads"])
async def test_every_call_is_asked_for_and_settled_with_what_it_used(
    executor: Executor, provider: Provider, target: str
) -> None:
    async with worker(executor) as managed:
        run = await managed.run(target)
    assert run.status == 0, run.failure.traceback
    used = {call.call_id: call.usage["total_tokens"] for call in run.of(CallEnded)}
    assert used
    assert set(ids(run, CallAsked)) == set(ids(run, CallStarted)) == set(used)
    assert {event.settled["call_id"]: event.settled["tokens"] for event in run.of(CallSettled)} == used
    assert all(event.ask["tokens"] >= used[event.ask["call_id"]] for event in run.of(CallAsked))
    assert len(provider.books.calls(str(run.run_id))) == len(used)


async def test_a_model_that_crews_share_is_counted_a_call_at_a_time(executor: Executor) -> None:
    """Case C30: CrewAI's own totals are those of the model's whole life, once for each agent that has it."""

    def answer(path: str, body: Any) -> Answer:
        return completion("I now know. Final Answer: Lamps.", {**USAGE, "total_tokens": 1_200, "prompt_tokens": 1_180})

    async with answering(answer) as address, worker(executor) as managed:
        run = await managed.run("shared_again_and_again", address)
    assert run.result == 2
    ended = run.of(CallEnded)
    assert len({call.call_id for call in ended}) == len(ended) == 8
    assert [call.usage["total_tokens"] for call in ended] == [1_200] * 8
    assert sorted(call.agent for call in run.of(CallStarted)) == ["Reader"] * 4 + ["Writer"] * 4
    assert [event.settled["tokens"] for event in run.of(CallSettled)] == [1_200] * 8


async def test_what_is_asked_names_crew_queue_step_and_model(executor: Executor) -> None:
    async with worker(executor) as managed:
        run = await managed.run("pair")
    asks = [event.ask for event in run.of(CallAsked)]
    assert {(ask["provider"], ask["model"], ask["crew"], ask["queue"], ask["priority"]) for ask in asks} == {
        ("openai", "gpt-4.1-mini", "billing", "default", 3)
    }
    assert sorted({ask["step"] for ask in asks}) == [1, 2]


async def test_the_key_that_the_worker_names_pays_for_the_call(executor: Executor, keys: tuple[str, ...]) -> None:
    sent: list[str] = []
    async with answering(in_turn(GOOD), sent) as address, worker(executor, keys) as managed:
        run = await managed.run("pair", address, **KEYS)
    assert run.status == 0, run.failure.traceback
    assert sent == [KEYS["KEY_A"], KEYS["KEY_B"]]


async def test_a_crew_without_any_key_of_its_own_gets_the_workers(executor: Executor, keys: tuple[str, ...]) -> None:
    sent: list[str] = []
    async with answering(in_turn(GOOD), sent) as address, worker(executor, keys) as managed:
        run = await managed.run("keyless", address, **KEYS)
    assert run.status == 0, run.failure.traceback
    assert sent == [KEYS["KEY_A"]]


@pytest.mark.parametrize(
    ("status", "code"), [("401 Unauthorized", "invalid_api_key"), ("429 Too Many Requests", "insufficient_quota")]
)
async def test_a_dead_key_costs_one_call_and_another_pays(
    executor: Executor, keys: tuple[str, ...], status: str, code: str
) -> None:
    sent: list[str] = []

    def answer(path: str, body: Any) -> Answer:
        return refusal(status, code) if sent[-1] == KEYS["KEY_A"] else GOOD

    async with answering(answer, sent) as address, worker(executor, keys) as managed:
        for _ in range(2):
            run = await managed.run("pair", address, **KEYS)
            assert run.status == 0, run.failure.traceback
        assert [state.status for state in managed.calls.key_states()] == ["retired", "ready", "ready"]
    assert sent.count(KEYS["KEY_A"]) == 1


async def test_when_every_key_is_dead_the_run_fails_for_good(executor: Executor, keys: tuple[str, ...]) -> None:
    sent: list[str] = []
    refused = in_turn(refusal("401 Unauthorized", "invalid_api_key"))
    async with answering(refused, sent) as address, worker(executor, keys) as managed:
        run = await managed.run("persistent", address, **KEYS)
    assert sorted(sent) == sorted(KEYS.values())
    assert run.failure.terminal
    assert "every key of openai is retired" in run.failure.error


async def test_a_key_that_is_not_there_is_passed_over(executor: Executor, keys: tuple[str, ...]) -> None:
    sent: list[str] = []
    async with answering(in_turn(GOOD), sent) as address, worker(executor, ("NO_SUCH", "KEY_B")) as managed:
        run = await managed.run("single", address, **KEYS)
    assert run.status == 0, run.failure.traceback
    assert sent == [KEYS["KEY_B"]]


async def test_a_429_with_one_key_goes_on_with_another_at_once(executor: Executor, keys: tuple[str, ...]) -> None:
    sent: list[str] = []

    def answer(path: str, body: Any) -> Answer:
        limit = refusal("429 Too Many Requests", "rate_limit_exceeded", **{"retry-after": "60"})
        return limit if sent[-1] == KEYS["KEY_A"] else GOOD

    async with answering(answer, sent) as address, worker(executor, keys) as managed:
        run = await managed.run("single", address, **KEYS)
        assert [state.status for state in managed.calls.key_states()] == ["resting", "ready", "ready"]
    assert run.status == 0, run.failure.traceback
    assert sent == [KEYS["KEY_A"], KEYS["KEY_B"]]


async def test_what_may_go_well_a_moment_later_is_tried_again(executor: Executor) -> None:
    wrong = refusal("500 Internal Server Error", "server_error")
    async with answering(in_turn(wrong, wrong, GOOD)) as address, worker(executor) as managed:
        run = await managed.run("single", address)
    assert run.status == 0, run.failure.traceback
    assert [call.outcome for call in run.of(CallEnded)] == ["error", "error", "ok"]


async def test_a_lasting_failure_is_tried_just_as_often_as_configured(executor: Executor) -> None:
    """CrewAI, the SDK and the agent would make 9 of it."""
    sent: list[str] = []
    wrong = in_turn(refusal("500 Internal Server Error", "server_error"))
    async with answering(wrong, sent) as address, worker(executor) as managed:
        run = await managed.run("persistent", address)
    assert len(sent) == 3
    assert run.failure.error_type == "openai.InternalServerError"
    assert (run.failure.terminal, run.failure.throttled) == (False, False)


async def test_a_429_that_lasts_longer_than_a_slot_waits_ends_the_run_at_once(executor: Executor) -> None:
    """CrewAI, the SDK and the agent would make 27 of it."""
    sent: list[str] = []
    limit = in_turn(refusal("429 Too Many Requests", "rate_limit_exceeded", **{"retry-after": "60"}))
    async with answering(limit, sent) as address, worker(executor) as managed:
        run = await managed.run("persistent", address)
    assert len(sent) == 1
    assert (run.failure.throttled, run.failure.retry_after, run.failure.terminal) == (True, 60.0, False)


async def test_a_short_429_is_waited_for(executor: Executor) -> None:
    limit = refusal("429 Too Many Requests", "rate_limit_exceeded", **{"retry-after": "0"})
    async with answering(in_turn(limit, GOOD)) as address, worker(executor) as managed:
        run = await managed.run("single", address)
    assert run.status == 0, run.failure.traceback
    assert [call.outcome for call in run.of(CallEnded)] == ["rate_limited", "ok"]


@pytest.mark.parametrize("answer", ["401 Unauthorized", "400 Bad Request"])
async def test_what_would_be_refused_again_goes_out_once(executor: Executor, answer: str) -> None:
    sent: list[str] = []
    async with answering(in_turn(refusal(answer, "content_filter")), sent) as address, worker(executor) as managed:
        run = await managed.run("persistent", address)
    assert len(sent) == 1
    assert run.failure.terminal


async def test_what_the_limits_do_not_let_out_in_time_is_throttled_and_never_sent(executor: Executor) -> None:
    sent: list[str] = []
    limits = {"openai/gpt-4.1-mini": Limits(requests_per_minute=1)}
    async with answering(in_turn(GOOD), sent) as address, worker(executor, limits=limits, patience=1.0) as managed:
        run = await managed.run("pair", address)
    assert len(sent) == 1
    assert run.failure.throttled
    assert run.failure.retry_after is not None
    assert 1.0 < run.failure.retry_after <= 65.0
    assert len(run.of(CallStarted)) == 1


async def test_an_answer_that_never_begins_is_given_up(executor: Executor) -> None:
    async with serve(Behaviour(rate_hang=1)) as provider, worker(executor) as managed:
        run = await managed.run("single", provider.url, first_byte=0.3, tries=2)
    assert [call.outcome for call in run.of(CallEnded)] == ["timeout", "timeout"]
    assert [event.settled["outcome"] for event in run.of(CallSettled)] == ["failed", "failed"]


async def test_an_answer_that_drips_is_given_up(executor: Executor) -> None:
    async with serve(Behaviour(rate_drip=1, drip_seconds=0.1)) as provider, worker(executor) as managed:
        run = await managed.run("single", provider.url, whole=0.5, tries=1)
    assert "the whole answer took more than 0.5 s" in run.failure.error
    assert [call.outcome for call in run.of(CallEnded)] == ["timeout"]


async def test_nothing_is_tried_again_beyond_the_runs_budget(executor: Executor) -> None:
    wrong = in_turn(refusal("500 Internal Server Error", "server_error"))
    async with answering(wrong) as address, worker(executor) as managed:
        run = await managed.run("single", address, seconds=0.0)
    assert [call.outcome for call in run.of(CallEnded)] == ["error"]


async def test_a_routed_call_goes_to_the_other_model_and_is_booked_there(executor: Executor) -> None:
    models: list[str] = []

    def answer(path: str, body: Any) -> Answer:
        models.append(body["model"])
        return GOOD

    routes = {"rules": [{"crew": "billing", "use": "openai/gpt-4.1-nano"}]}
    async with answering(answer) as address, worker(executor, routes=routes) as managed:
        run = await managed.run("single", address)
    assert models == ["gpt-4.1-nano"]
    assert [call.model for call in run.of(CallStarted)] == ["gpt-4.1-nano"]


async def test_a_model_left_to_the_worker_is_called_with_the_crews_settings(executor: Executor) -> None:
    bodies: list[Any] = []

    def answer(path: str, body: Any) -> Answer:
        bodies.append(body)
        return GOOD

    routes = {"rules": [{"tag": "draft", "use": "openai/gpt-4.1-nano"}]}
    async with answering(answer) as address, worker(executor, routes=routes) as managed:
        run = await managed.run("unsettled", address, base_urls={"openai": address}, OPENAI_API_KEY="sk-of-the-crew")
    assert run.status == 0, run.failure.traceback
    assert [(body["model"], body["temperature"]) for body in bodies] == [("gpt-4.1-nano", 0.5)]


async def test_a_model_left_to_nobody_says_what_to_do(executor: Executor) -> None:
    async with worker(executor) as managed:
        run = await managed.run("unsettled", OPENAI_API_KEY="sk-of-the-crew")
    assert run.failure.terminal
    assert "[llm.routes.models]" in run.failure.error
