"""What whoever runs the simulated provider orders in the midst of it: keys that die, storms of 429 that come and go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crewtop.demo.provider.chat import BadRequestError
from crewtop.demo.provider.completion import error_body

EVERY_MODEL = "*"
LONGEST_RETRY_AFTER_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not even looked at: the HTTP status, OpenAI's words for it, headers."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


class Orders:
    """Those that hold at the moment. Nobody pays here, so a key's first letters may also say what is wrong with it."""

    def __init__(self) -> None:
        self._revoked: set[str] = set()
        self._storms: dict[str, int] = {}

    def revoke(self, key: str) -> None:
        """Answer 401 to this key from now on."""
        self._revoked.add(key)

    def storm(self, model: str = EVERY_MODEL, retry_after: int = 1) -> None:
        """Answer 429 to every call to a model, or to all of them, until calm. retry_after: in whole seconds."""
        self._storms[model] = retry_after

    def calm(self, model: str = EVERY_MODEL) -> None:
        """End the storm that was ordered for this model."""
        self._storms.pop(model, None)

    def refusal(self, key: str, model: str) -> Refusal | None:
        """What a call with this key to this model meets, None where nothing stands against it."""
        if not key or key.startswith("revoked") or key in self._revoked:
            return Refusal(401, error_body("Incorrect API key provided", "invalid_request_error", "invalid_api_key"))
        if key.startswith("exhausted"):
            quota = "insufficient_quota"
            return Refusal(429, error_body("You exceeded your current quota", quota, quota))
        retry_after = self._storms.get(model, self._storms.get(EVERY_MODEL))
        if retry_after is None:
            return None
        body = error_body(f"Rate limit reached for {model}", "requests", "rate_limit_exceeded")
        return Refusal(429, body, {"retry-after": str(retry_after)})

    def obey(self, order: str, body: bytes) -> dict[str, Any]:
        """Carry out POST /__admin/<order> with a JSON object, and answer what holds now.

        revoke {"key": ...}; storm {"model": ..., "retry_after": seconds}; calm {"model": ...}; without a model it is
        for all of them. Raises BadRequestError where that cannot be done.
        """
        wanted = _object(body)
        model = str(wanted.get("model", EVERY_MODEL))
        match order, wanted:
            case "revoke", {"key": str(key)} if key:
                self.revoke(key)
            case "storm", _:
                self.storm(model, _seconds(wanted.get("retry_after", 1)))
            case "calm", _:
                self.calm(model)
            case _:
                raise BadRequestError(f'/__admin/{order}: use revoke with {{"key": ...}}, storm or calm')
        return {"revoked": len(self._revoked), "storms": dict(self._storms)}


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError as error:
        raise BadRequestError(f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadRequestError("the body is not a JSON object")
    return found


def _seconds(value: object) -> int:
    if isinstance(value, int) and 0 <= value <= LONGEST_RETRY_AFTER_SECONDS:
        return value
    raise BadRequestError(f"retry_after is {value!r}: whole seconds, from 0 to {LONGEST_RETRY_AFTER_SECONDS}")
