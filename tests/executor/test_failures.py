"""What the last event of a failed run says."""

from __future__ import annotations

import email.utils
import time

import pytest

from crewtop.executor.failures import call_failure, cut_middle, raised


class ProviderError(Exception):
    """Looks like what a provider's library raises."""

    def __init__(self, message: str, status: int, **headers: str) -> None:
        super().__init__(message)
        self.status_code = status
        self.response = type("Response", (), {"headers": headers})()


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even that")


def caught(cause: BaseException, wrapper: Exception) -> BaseException:
    try:
        try:
            raise cause
        except BaseException as error:
            raise wrapper from error
    except Exception as error:
        return error


def test_the_cause_comes_before_what_wraps_it() -> None:
    event = raised(caught(KeyError("order"), ValueError("no such order")))
    assert event.error_type == "builtins.KeyError"
    assert event.error == "'order'\nas builtins.ValueError: no such order"
    assert event.traceback.index("KeyError") < event.traceback.index("ValueError")
    assert not event.terminal


def test_a_wrapper_that_repeats_its_cause_says_nothing() -> None:
    assert raised(caught(OSError("disk full"), RuntimeError("disk full"))).error == "disk full"


def test_what_was_only_being_handled_is_no_cause() -> None:
    error = ValueError("bad order")
    error.__context__ = KeyError("unrelated")
    assert raised(error).error_type == "builtins.ValueError"


def test_of_a_group_the_first_counts() -> None:
    assert raised(ExceptionGroup("tasks", [OSError("disk full"), ValueError()])).error_type == "builtins.OSError"


def test_an_error_that_is_its_own_cause() -> None:
    error = ValueError("loop")
    error.__cause__ = error
    assert raised(error).error == "loop"


def test_an_error_without_a_message_shows_its_type() -> None:
    assert raised(ValueError()).error == "ValueError()"


def test_an_error_whose_message_fails_is_still_reported() -> None:
    assert raised(UnspeakableError()).error == "(its message cannot be read: RuntimeError)"


@pytest.mark.parametrize(("code", "words"), [(0, "0"), (None, "0"), (3, "3")])
def test_exit_codes(code: int | None, words: str) -> None:
    assert raised(SystemExit(code)).error == f"the crew ended its process with exit code {words}"


def test_messages_and_tracebacks_are_cut_in_the_middle() -> None:
    event = raised(ValueError("a" * 50_000 + "z" * 50_000))
    assert len(event.error) < 9_000
    assert event.error.startswith("aaa")
    assert event.error.endswith("zzz")
    assert "[... 91,808 characters cut ...]" in event.error
    assert len(event.traceback) < 66_000


def test_text_that_fits_is_not_cut() -> None:
    assert cut_middle("abcd", 4) == "abcd"


def test_retry_after_in_seconds() -> None:
    event = raised(caught(ProviderError("slow down", 429, **{"retry-after": "2.5"}), ValueError("failed")))
    assert (event.throttled, event.retry_after, event.terminal) == (True, 2.5, False)


def test_retry_after_as_a_date() -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    event = raised(ProviderError("slow down", 429, **{"retry-after": date}))
    assert event.retry_after is not None
    assert 90 < event.retry_after <= 100


@pytest.mark.parametrize("header", ["", "soon", "nan", "inf", "Wed, 99 Foo 2031"])
def test_retry_after_that_says_nothing(header: str) -> None:
    event = raised(ProviderError("slow down", 429, **{"retry-after": header}))
    assert (event.throttled, event.retry_after) == (True, None)


def test_retry_after_in_the_past_is_now() -> None:
    assert raised(ProviderError("slow down", 429, **{"retry-after": "-3"})).retry_after == 0


@pytest.mark.parametrize(
    ("status", "message", "terminal", "throttled"),
    [
        (401, "bad key", True, False),
        (403, "not yours", True, False),
        (429, "slow down", False, True),
        (429, "insufficient_quota", True, False),
        (400, "bad request", False, False),
        (500, "boom", False, False),
    ],
)
def test_what_another_attempt_would_meet(status: int, message: str, terminal: bool, throttled: bool) -> None:
    event = raised(ProviderError(message, status))
    assert (event.terminal, event.throttled) == (terminal, throttled)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ProviderError("slow down", 429), "rate_limited"),
        (ProviderError("bad request", 400), "refused"),
        (ProviderError("boom", 503), "error"),
        (TimeoutError("timed out"), "timeout"),
        (caught(TimeoutError("timed out"), ConnectionError("failed")), "timeout"),
        (ConnectionError("reset"), "error"),
    ],
)
def test_outcomes_of_calls(error: BaseException, outcome: str) -> None:
    assert call_failure(error, "")[0] == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("OpenAI API call failed: Error code: 429 - {}", "rate_limited"),
        ("OpenAI API call failed: Error code: 401 - {}", "refused"),
        ("Error code: 502 - {}", "error"),
        ("something about 429 apples", "error"),
    ],
)
def test_outcomes_from_text_alone(text: str, outcome: str) -> None:
    assert call_failure(None, text) == (outcome, text)
