"""Several keys for one provider: which one is next, which rest, which are done for.

The pool knows keys by the names of their environment variables or files. `Secrets` alone reads them, to take them out
of what goes into a log or the database; an executor reads the one that it needs for the one call that it is for.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    """One key of a provider. name: its variable or file; until: the second of the clock at which its rest ends."""

    provider: str
    name: str
    status: Literal["ready", "resting", "retired"] = "ready"
    until: float | None = None
    why: str | None = None


class KeyPool:
    """The keys of all providers, as one worker knows them. Pure but for its clock, which counts seconds."""

    def __init__(self, keys: Mapping[str, Sequence[str]], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._states = {
            (provider, name): KeyState(provider, name) for provider, names in keys.items() for name in names
        }
        self._used: dict[tuple[str, str], int] = dict.fromkeys(self._states, 0)
        self._turn = 0

    def has(self, provider: str) -> bool:
        """Whether keys are configured for it. Where none are, crews bring their own."""
        return any(state.provider == provider for state in self._states.values())

    def ready(self, provider: str) -> tuple[str, ...]:
        """The names of the keys that may be used now, the one that has rested longest first."""
        states = [state for state in self._of(provider) if state.status == "ready"]
        return tuple(state.name for state in sorted(states, key=lambda state: self._used[provider, state.name]))

    def choose(self, provider: str, headroom: Mapping[str, float]) -> str | None:
        """The name of the ready key with the most head-room, in whatever unit; among equals they take turns.

        A key without a figure is taken to have all of it. None: no key is ready.
        """
        names = self.ready(provider)
        if not names:
            return None
        chosen = max(names, key=lambda name: headroom.get(name, float("inf")))  # the first among equals
        self._turn += 1
        self._used[provider, chosen] = self._turn
        return chosen

    def rest_seconds(self, provider: str) -> float | None:
        """Until the next key is ready, 0 where one is; None where no key will be, or none is configured."""
        waits = [
            0.0 if state.until is None else max(0.0, state.until - self._clock()) for state in self._living(provider)
        ]
        return min(waits, default=None)

    def failed(self, provider: str, name: str, fault: Fault, retry_after: float | None = None) -> str | None:
        """Take note of a refusal. Answers a line for the operator where a key is done for, else None.

        Anything else than a 429, an empty account or a refused key says nothing about a key.
        """
        state = self._states.get((provider, name))
        if state is None or state.status == "retired":
            return None
        if fault is Fault.RATE_LIMIT:
            rest = REST_SECONDS if retry_after is None else min(retry_after, LONGEST_REST_SECONDS)
            until = max(self._clock() + rest, state.until or 0.0)
            self._states[provider, name] = replace(state, status="resting", until=until, why="rate limit")
            return None
        if fault not in (Fault.KEY, Fault.QUOTA):
            return None
        why = "refused by the provider" if fault is Fault.KEY else "nothing left to spend"
        self._states[provider, name] = replace(state, status="retired", until=None, why=why)
        left = len(self._living(provider))
        return f"key {name} of {provider} is retired: {why}; {left} left; mend it and restart the worker"

    def states(self) -> tuple[KeyState, ...]:
        """All keys, by provider, in the order of the configuration."""
        return tuple(state for provider in dict.fromkeys(p for p, _ in self._states) for state in self._of(provider))

    def _living(self, provider: str) -> list[KeyState]:
        return [state for state in self._of(provider) if state.status != "retired"]

    def _of(self, provider: str) -> list[KeyState]:
        """A provider's keys as they are at this moment: rests that are over have ended."""
        now = self._clock()
        for key, state in self._states.items():
            if state.until is not None and state.until <= now:
                self._states[key] = KeyState(state.provider, state.name)
        return [state for state in self._states.values() if state.provider == provider]
