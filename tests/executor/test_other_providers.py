"""The layer around calls through the libraries of Anthropic, Google and LiteLLM, as far as they are installed.

Each provider is made up on the loopback, and answers as its API does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from crewtop.model.events import CallAsked, CallSettled
from tests.executor.managed import worker
from tests.executor.runs import Answer, Ended, Executor, answering, completion, silence

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
KEYS: dict[str, Any] = {"KEY_A": "sk-aaaaaaaaaaaaaaaaAAAA"}
CLAUDE = Answer(
    {
        "id": "m", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Lamps."}], "usage": {"input_tokens": 100, "output_tokens": 20},
    },
    headers={"anthropic-ratelimit-tokens-remaining": "77"},
)  # fmt: skip
GEMINI = Answer({
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Lamps."}]}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
})  # fmt: skip
GOOD = {"anthropic": CLAUDE, "gemini": GEMINI, "litellm": completion("Lamps.", USAGE)}
LIMITS = {
    "anthropic": Answer({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}),
    "gemini": Answer({"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}),
    "litellm": Answer({"error": {"message": "slow", "code": "rate_limit_exceeded"}}),
}


def installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def needs(library: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not installed(library), reason=f"{library} is not installed")


ANTHROPIC = pytest.param("anthropic", marks=needs("anthropic"))
GOOGLE = pytest.param("gemini", marks=needs("google.genai"))
LITELLM = pytest.param("litellm", marks=needs("litellm"))
pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("executor")]
every_provider = pytest.mark.parametrize("whom", [ANTHROPIC, GOOGLE, LITELLM])


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def settled(run: Ended) -> list[tuple[Any, ...]]:
    return [(e.settled["outcome"], e.settled["tokens"], e.settled["fault"]) for e in run.of(CallSettled)]


def in_turn(*answers: Answer) -> Callable[[str, Any], Answer]:
    left: Iterator[Answer] = iter(answers)
    return lambda path, body: next(left)


@every_provider
@pytest.mark.parametrize("target", ["called", "called_later"])
async def test_a_call_is_counted_and_the_worker_pays(executor: Executor, whom: str, target: str) -> None:
    sent: list[str] = []
    payer = "openai" if whom == "litellm" else whom
    async with answering(lambda *_: GOOD[whom], sent) as address, worker(executor, ("KEY_A",), provider=payer) as crew:
        run = await crew.run(f"providers:{target}", address, WHOM=whom, **KEYS)
    assert (run.result, sent) == ("Lamps.", [KEYS["KEY_A"]])
    assert settled(run) == [("answered", 120, None)]


@every_provider
async def test_without_a_key_of_its_own_it_goes_out_with_the_workers(executor: Executor, whom: str) -> None:
    sent: list[str] = []
    payer = "openai" if whom == "litellm" else whom
    async with answering(lambda *_: GOOD[whom], sent) as address, worker(executor, ("KEY_A",), provider=payer) as crew:
        run = await crew.run("providers:without_a_key", address, WHOM=whom, **KEYS)
    assert (run.result, sent) == ("Lamps.", [KEYS["KEY_A"]])


@every_provider
async def test_a_429_is_known_and_tried_again_by_us_alone(executor: Executor, whom: str) -> None:
    limit = Answer(LIMITS[whom].body, "429 Too Many Requests", {"retry-after": "0"})
    sent: list[str] = []
    async with answering(in_turn(limit, GOOD[whom]), sent) as address, worker(executor) as crew:
        run = await crew.run("providers:called", address, WHOM=whom)
    assert (run.result, len(sent)) == ("Lamps.", 2)
    assert settled(run) == [("refused", None, "rate_limit"), ("answered", 120, None)]


@every_provider
async def test_a_provider_that_never_answers_is_given_up_and_may_have_counted(executor: Executor, whom: str) -> None:
    async with silence() as address, worker(executor) as crew:
        run = await crew.run("providers:called", address, WHOM=whom, tries=1, first_byte=0.5, whole=1.0)
    assert settled(run) == [("failed", None, "timeout")]


@every_provider
async def test_a_provider_that_cannot_be_reached_has_counted_nothing(executor: Executor, whom: str) -> None:
    async with worker(executor) as crew:
        run = await crew.run("providers:called", "http://127.0.0.1:9/v1", WHOM=whom, tries=1)
    [(outcome, tokens, _)] = settled(run)
    assert (outcome in ("unsent", "refused"), tokens) == (True, None)


@pytest.mark.parametrize("whom", [ANTHROPIC, GOOGLE])
async def test_a_call_that_is_routed_elsewhere_is_made_by_that_providers_library(executor: Executor, whom: str) -> None:
    model = {"anthropic": "anthropic/claude-haiku-4-5", "gemini": "gemini/gemini-2.5-flash"}[whom]
    sent: list[str] = []
    routes = {"rules": [{"crew": "billing", "use": model}]}
    async with (
        answering(lambda *_: GOOD[whom], sent) as address,
        worker(executor, ("KEY_A",), routes, provider=whom) as crew,
    ):
        there = {whom: address.removesuffix("/v1")}
        run = await crew.run("providers:to_openai", address, base_urls=there, **KEYS)
    assert (run.result, sent) == ("Lamps.", [KEYS["KEY_A"]])


@needs("anthropic")
async def test_another_model_is_not_asked_for_more_than_it_can_write(executor: Executor) -> None:
    asked: list[tuple[str, int]] = []

    def answer(path: str, body: Any) -> Answer:
        asked.append((body["model"], body["max_tokens"]))
        return CLAUDE

    routes = {"rules": [{"crew": "billing", "use": "anthropic/claude-opus-4-1"}]}
    async with answering(answer) as address, worker(executor, routes=routes) as crew:
        run = await crew.run("providers:called", address, WHOM="anthropic")
    assert (run.result, asked) == ("Lamps.", [("claude-opus-4-1", 32_000)])
    [event] = run.of(CallAsked)
    assert event.ask["tokens"] < 2_000  # the most that it could write is not what it is reckoned to take
