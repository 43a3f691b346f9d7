"""What a provider allows of one model with one key, and what of it is used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What may go out: in any minute, and at once. None where there is no limit or none is known."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    at_once: int | None = None


@dataclass(frozen=True, slots=True)
class AllowanceState:
    """One allowance at one instant.

    model, key: '*' where it covers all of them; the key is a name, never a secret. resumes_in: seconds until a call
    may go out again, None where one may now. reason: why none may, or why fewer may than allowed.
    """

    provider: str
    model: str
    key: str
    requests_per_minute: int | None
    requests_used: int
    tokens_per_minute: int | None
    tokens_used: int
    at_once: int | None
    in_flight: int
    resumes_in: float | None = None
    reason: str | None = None
