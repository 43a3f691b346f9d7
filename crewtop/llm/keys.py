"""Several keys for one provider: which one is next, which rest, which are done for.

The pool knows keys by the names of their environment variables or files. `Secrets` alone reads them, to take them out
of what goes into a log or the database; an executor reads the one that it needs for the one call that it is for.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from crewtop.llm.asking import Fault
from crewtop.model.errors import CrewtopError

REST_SECONDS = 5.0
"""For a 429 that does not say how long."""

LONGEST_REST_SECONDS = 3_600.0
"""Some providers send a time of day where seconds are meant."""

LAST_CHARACTERS = 4
_SHORTEST_SECRET = 8
_CHECK_SECONDS = 1.0


class KeyMissing(CrewtopError):
    """A key that is configured and not there."""


def secret(name: str) -> str:
    """The key in the environment variable `name`, or in the file of that path where it has a slash in it.

    Raises KeyMissing, which names the key and never what is in it.
    """
    if "/" not in name:
        if value := os.environ.get(name, "").strip():
            return value
        raise KeyMissing(f"key {name}: the environment has no such variable, or an empty one: set it for the worker")
    try:
        value = Path(name).expanduser().read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise KeyMissing(f"key {name}: the file cannot be read: {reason}") from None
    if not value:
        raise KeyMissing(f"key {name}: the file is empty")
    return value


def last_characters(value: str) -> str:
    """All of a key that may be shown: its last four characters, fewer of a short one, none of a very short one."""
    return f"…{value[-LAST_CHARACTERS:]}" if len(value) >= 4 * LAST_CHARACTERS else "…"


class Secrets:
    """What must not be told, found and taken out. names: of keys.

    Files are looked at again when they have changed, and what was once a key stays one: an answer that is on its way
    may still hold it.
    """

    def __init__(self, names: Iterable[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._names = tuple(names)
        self._clock = clock
        self._checked = -_CHECK_SECONDS
        self._texts: dict[str, str] = {}
        self._bytes: dict[bytes, bytes] = {}

    def text(self, text: str) -> str:
        """The text with each key as its last characters."""
        self._look()
        for value, shown in self._texts.items():
            if value in text:
                text = text.replace(value, shown)
        return text

    def line(self, line: bytes) -> bytes:
        """A line of JSON, or of ASCII, with each key as its last characters."""
        self._look()
        for value, shown in self._bytes.items():
            if value in line:
                line = line.replace(value, shown)
        return line

    def _look(self) -> None:
        now = self._clock()
        if not self._names or now - self._checked < _CHECK_SECONDS:
            return
        self._checked = now
        for name in self._names:
            try:
                value = secret(name)
            except KeyMissing:
                continue
            if len(value) >= _SHORTEST_SECRET and value not in self._texts:
                shown = last_characters(value)
                self._texts[value] = shown
                self._texts = dict(sorted(self._texts.items(), key=_longest_first))
                self._bytes = {_in_json(value): _in_json(shown) for value, shown in self._texts.items()}


def _longest_first(entry: tuple[str, str]) -> int:
    """One key may be the beginning of another, whose rest would else be left."""
    return -len(entry[0])


def _in_json(text: str) -> bytes:
    return json.dumps(text)[1:-1].encode("ascii")


@dataclass(frozen=True, slots=True)
class KeyState:
    """One key of a provider. name: its variable or file; until: the second of the clock at which its last rest ends."""

    provider: str
    name: str
    status: Literal["ready", "resting", "retired"] = "ready"
    until: float | None = None
    why: str | None = None


class KeyPool:
    """The keys of all providers, as one worker knows them. Pure but for its clock, which counts seconds.

    A 429 lets a key rest for the model that it came from, since providers count models apart; a key that is refused, or
    whose account is empty, is done for.
    """

    def __init__(self, keys: Mapping[str, Sequence[str]], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._keys = {provider: tuple(dict.fromkeys(names)) for provider, names in keys.items() if names}
        self._retired: dict[tuple[str, str], str] = {}
        self._rests: dict[tuple[str, str], dict[str, float]] = {}

    def has(self, provider: str) -> bool:
        """Whether keys are configured for it. Where none are, crews bring their own."""
        return provider in self._keys

    def spent(self, provider: str) -> bool:
        """Whether every key of it that is configured is retired."""
        return self.has(provider) and not self._living(provider)

    def ready(self, provider: str, model: str) -> tuple[str, ...]:
        """The names of the keys that may be used for this model now, in the order of the configuration."""
        return tuple(name for name in self._living(provider) if self._wait(provider, name, model) == 0.0)

    def rest_seconds(self, provider: str, model: str) -> float | None:
        """Until the next key is ready for this model, 0 where one is; None where no key will be, or none is there."""
        return min((self._wait(provider, name, model) for name in self._living(provider)), default=None)

    def failed(
        self, provider: str, name: str, model: str, fault: Fault, retry_after: float | None = None
    ) -> str | None:
        """Take note of a refusal. Answers a line for the operator where a key is done for, else None.

        Anything else than a 429, an empty account or a refused key says nothing about a key.
        """
        if name not in self._living(provider):
            return None
        if fault is Fault.RATE_LIMIT:
            rest = REST_SECONDS if retry_after is None else min(retry_after, LONGEST_REST_SECONDS)
            rests = self._rests.setdefault((provider, name), {})
            rests[model] = max(self._clock() + rest, rests.get(model, 0.0))
            return None
        if fault not in (Fault.KEY, Fault.QUOTA):
            return None
        why = self._retired[provider, name] = _WHY[fault]
        left = len(self._living(provider))
        return f"key {name} of {provider} is retired: {why}; {left} left; mend it and restart the worker"

    def states(self) -> tuple[KeyState, ...]:
        """All keys, by provider, in the order of the configuration."""
        return tuple(self._state(provider, name) for provider, names in self._keys.items() for name in names)

    def _state(self, provider: str, name: str) -> KeyState:
        if why := self._retired.get((provider, name)):
            return KeyState(provider, name, "retired", None, why)
        now = self._clock()
        rests = {model: until for model, until in self._rests.get((provider, name), {}).items() if until > now}
        if not rests:
            return KeyState(provider, name)
        which = min(rests) if len(rests) == 1 else f"{len(rests)} models"
        return KeyState(provider, name, "resting", max(rests.values()), f"rate limit of {which}")

    def _living(self, provider: str) -> list[str]:
        return [name for name in self._keys.get(provider, ()) if (provider, name) not in self._retired]

    def _wait(self, provider: str, name: str, model: str) -> float:
        return max(0.0, self._rests.get((provider, name), {}).get(model, 0.0) - self._clock())


_WHY = {Fault.KEY: "refused by the provider", Fault.QUOTA: "nothing left to spend"}
