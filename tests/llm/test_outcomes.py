"""What the exceptions of providers' libraries mean, made as the libraries make them."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from crewtop.llm.asking import Fault, Outcome
from crewtop.llm.outcomes import Meaning, limit_headers, meaning

REQUEST = httpx.Request("POST", "https://api.example/v1/chat/completions")


def refusal(status: int, message: str = "no", headers: dict[str, str] | None = None, **fields: Any) -> Exception:
    """As OpenAI's and Anthropic's libraries raise it, whose text holds the body."""
    body = {"error": {"message": message, **fields}}
    response = httpx.Response(status, json=body, headers=headers, request=REQUEST)
    client = openai.OpenAI(api_key="k", base_url="https://api.example/v1")
    return client._make_status_error_from_response(response)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (refusal(429, "Rate limit reached", code="rate_limit_exceeded"), Fault.RATE_LIMIT),
        (refusal(429, "You exceeded your current quota", code="insufficient_quota"), Fault.QUOTA),
        (refusal(402, "Insufficient Balance"), Fault.QUOTA),
        (refusal(400, "Your credit balance is too low to access the Anthropic API"), Fault.QUOTA),
        (refusal(401, "Incorrect API key provided", code="invalid_api_key"), Fault.KEY),
        (refusal(403, "Your organization may not use this"), Fault.KEY),
        (refusal(400, "The response was filtered", code="content_filter"), Fault.CONTENT),
        (refusal(400, "This model's maximum context length is 8192 tokens"), Fault.CONTEXT),
        (refusal(400, "prompt is too long: 210000 tokens > 200000 maximum"), Fault.CONTEXT),
        (refusal(413, "Request exceeds the maximum size"), Fault.CONTEXT),
        (refusal(400, "Unknown parameter: 'foo'"), Fault.REQUEST),
        (refusal(404, "The model does not exist"), Fault.REQUEST),
        (refusal(500), Fault.SERVER),
        (refusal(502), Fault.SERVER),
        (refusal(503), Fault.OVERLOADED),
        (refusal(529, "Overloaded"), Fault.OVERLOADED),
    ],
)
def test_a_refusal_is_told_by_status_and_words(error: Exception, fault: Fault) -> None:
    found = meaning(error)
    assert (found.fault, found.outcome) == (fault, Outcome.REFUSED)


def test_retry_after_is_read_from_the_header() -> None:
    found = meaning(refusal(429, "slow down", {"retry-after": "7"}))
    assert found == Meaning(Fault.RATE_LIMIT, Outcome.REFUSED, 429, 7.0)


def test_retry_after_is_read_from_googles_body() -> None:
    class ClientError(Exception):
        code = 429

    error = ClientError("429 RESOURCE_EXHAUSTED. {'details': [{'@type': 'RetryInfo', 'retryDelay': '22s'}]}")
    assert meaning(error) == Meaning(Fault.RATE_LIMIT, Outcome.REFUSED, 429, 22.0)


def test_what_crewai_wraps_is_found_below_it() -> None:
    error = ValueError("Model gpt-9 not found")
    error.__cause__ = refusal(404, "no such model")
    assert meaning(error) == Meaning(Fault.REQUEST, Outcome.REFUSED, 404)


def test_a_time_out_may_have_been_counted() -> None:
    assert meaning(openai.APITimeoutError(REQUEST)) == Meaning(Fault.TIMEOUT, Outcome.FAILED)
    assert meaning(httpx.ReadTimeout("slow")) == Meaning(Fault.TIMEOUT, Outcome.FAILED)


def test_what_never_reached_the_provider_was_not_sent() -> None:
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = httpx.ConnectError("refused")
    assert meaning(error) == Meaning(Fault.CONNECTION, Outcome.UNSENT)
    assert meaning(httpx.ConnectTimeout("slow")) == Meaning(Fault.TIMEOUT, Outcome.UNSENT)


def test_a_broken_connection_may_have_been_counted() -> None:
    assert meaning(httpx.RemoteProtocolError("cut")) == Meaning(Fault.CONNECTION, Outcome.FAILED)
    assert meaning(ConnectionResetError()) == Meaning(Fault.CONNECTION, Outcome.FAILED)


def test_what_the_crew_itself_held_back_was_not_sent() -> None:
    class HookAborted(Exception):
        pass

    assert meaning(HookAborted("too dear")) == Meaning(Fault.BLOCKED, Outcome.UNSENT)


def test_an_error_of_the_crews_own_tells_nothing() -> None:
    assert meaning(KeyError("order")) == Meaning(Fault.OTHER, Outcome.FAILED)


def test_only_headers_about_limits_are_kept() -> None:
    headers = httpx.Headers(
        {"X-RateLimit-Remaining-Requests": "9", "anthropic-ratelimit-tokens-reset": "x", "set-cookie": "s"}
    )
    assert limit_headers(headers) == {"x-ratelimit-remaining-requests": "9", "anthropic-ratelimit-tokens-reset": "x"}


def test_an_exception_that_was_raised_from_itself_keeps_its_cause() -> None:
    """CrewAI does so with those of Anthropic's and Google's libraries."""
    try:
        try:
            raise type("ConnectError", (Exception,), {})
        except Exception:
            raise type("APIConnectionError", (Exception,), {})  # noqa: B904
    except Exception as error:
        error.__cause__ = error
        found = meaning(error)
    assert (found.fault, found.outcome) == (Fault.CONNECTION, Outcome.UNSENT)


def test_a_time_out_that_a_library_gives_a_status_to_may_have_been_counted() -> None:
    """LiteLLM's says 408 of a provider that never answered."""
    found = meaning(type("Timeout", (Exception,), {"status_code": 408})())
    assert (found.fault, found.outcome, found.status) == (Fault.TIMEOUT, Outcome.FAILED, None)
