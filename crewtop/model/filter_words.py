"""The words that a filter is made of: keys and the values that they take, quotes, wildcards, durations, dollars."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from crewtop.model.durations import UNITS, seconds_of
from crewtop.model.errors import CrewtopError
from crewtop.model.task import TaskStatus


class FilterError(CrewtopError):
    """The filter does not parse; the message says what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A name with anything between its parts, nothing included: `re*` is Pattern(("re", ""))."""

    parts: tuple[str, ...]


Value = str | Pattern | int | Decimal
"""What a key is compared with. An age is an int, in seconds; a cost is a Decimal, in US dollars."""


class Key(NamedTuple):
    """A key of the grammar.

    help: what it restricts; read: a value as typed, quotes included; signs: what may stand between the two (':' and
    '=' say the same); unites: whether a task has but one such value, so that a second term adds to the first one.
    """

    help: str
    read: Callable[[str], Value]
    signs: tuple[str, ...] = (":",)
    unites: bool = True


JUDGEMENTS = {
    "stuck": "running, but without a lease, over budget or without progress",
    "cancelling": "running, and to be cancelled",
    "scheduled": "pending, and due later",
    "unpriced": "with LLM calls whose cost is unknown",
}
"""What `is:` takes, with what each means."""

_QUOTED = r'"(?:[^"\\]|\\.)*"?'
_WORD = re.compile(rf'(?:{_QUOTED}|[^\s"])+', re.DOTALL)
_BETWEEN_COMMAS = re.compile(rf'(?:{_QUOTED}|[^,"])+', re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"?', re.DOTALL)
_STRING_OR_STAR = re.compile(rf"{_QUOTED}|(\*)", re.DOTALL)
_NEEDS_QUOTES = re.compile(r'[\s",*]')

_LARGEST = 2**63 - 1
_LONGEST = 5_200 * UNITS["w"]


def split(text: str) -> list[str]:
    """The words of a filter as typed. Quotes keep spaces together; one that is not closed reaches to the end."""
    return _WORD.findall(text)


def split_values(text: str) -> list[str]:
    """The values between the commas that stand outside of quotes, as typed."""
    return _BETWEEN_COMMAS.findall(text)


def unquoted(typed: str) -> str:
    r"""What a word says without its quotes, in which \" is a quote and \\ a backslash."""
    return _STRING.sub(lambda match: re.sub(r'\\(["\\])', r"\1", match[1]), typed)


def quoted(text: str) -> str:
    """The text as one would type it as a value that is meant literally."""
    if text and not _NEEDS_QUOTES.search(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def as_typed(key: str, value: Value) -> str:
    """A value as one would type it after a key."""
    match value:
        case Pattern(parts):
            return "*".join(quoted(part) if part else "" for part in parts)
        case str():
            return quoted(value)
        case Decimal():
            return f"{value:f}"
        case _ if key == "age":
            unit = next(unit for unit, seconds in UNITS.items() if value % seconds == 0)
            return f"{value // UNITS[unit]}{unit}"
    return str(value)


def _name(typed: str) -> Value:
    parts, start = [], 0
    for match in _STRING_OR_STAR.finditer(typed):
        if match[1]:
            parts.append(unquoted(typed[start : match.start()]))
            start = match.end()
    parts.append(unquoted(typed[start:]))
    return parts[0] if len(parts) == 1 else Pattern(tuple(parts))


def _status(typed: str) -> TaskStatus:
    name = unquoted(typed)
    try:
        return TaskStatus(name)
    except ValueError:
        raise FilterError(f"status {name!r} is unknown: use one of {', '.join(TaskStatus)}") from None


def _priority(typed: str) -> int:
    digit = typed.removeprefix("P").removeprefix("p")
    if digit in ("0", "1", "2", "3", "4"):
        return int(digit)
    raise FilterError(f"priority {unquoted(typed)!r} is out of range: use 0 to 4")


def _judgement(typed: str) -> str:
    if typed in JUDGEMENTS:
        return typed
    raise FilterError(f"is {unquoted(typed)!r} is unknown: use one of {', '.join(JUDGEMENTS)}")


def _failure(typed: str) -> str:
    if re.fullmatch(r"[0-9a-f]{8}", typed):
        return typed
    raise FilterError(
        f"failure {unquoted(typed)!r} is none: use its eight hexadecimal digits, such as failure:3fa92c01"
    )


def _whole(what: str, lowest: int, highest: int) -> Callable[[str], int]:
    def read(typed: str) -> int:
        if re.fullmatch(r"[0-9]{1,19}", typed) and lowest <= int(typed) <= highest:
            return int(typed)
        raise FilterError(f"{what} {unquoted(typed)!r} is out of range: use a whole number from {lowest} to {highest}")

    return read


def _dollars(typed: str) -> Decimal:
    if re.fullmatch(r"\$?[0-9]{1,12}(\.[0-9]{1,12})?", typed):
        return Decimal(typed.removeprefix("$"))
    raise FilterError(f"cost {unquoted(typed)!r} is no amount: use dollars from 0 up, such as cost>0.5")


def _seconds(typed: str) -> int:
    if (seconds := seconds_of(typed)) is not None and seconds <= _LONGEST:
        return seconds
    raise FilterError(f"age {unquoted(typed)!r} is no duration: use 0s to 5200w, such as 90s, 5m, 2h, 3d, 1w")


_ORDERED = (":", ">", ">=", "<", "<=")

KEYS: dict[str, Key] = {
    "status": Key("waiting, pending, running, retry, completed, failed, cancelled", _status),
    "crew": Key("a crew's name; * stands for anything", _name),
    "queue": Key("a queue's name; * stands for anything", _name),
    "is": Key("stuck, cancelling, scheduled, unpriced", _judgement, unites=False),
    "error": Key("words in the short error", unquoted, unites=False),
    "failure": Key("failed and resting tasks of one group of failures", _failure),
    "age": Key("time since it was enqueued: 90s, 5m, 2h, 3d, 1w", _seconds, _ORDERED[1:]),
    "cost": Key("US dollars so far: 0.5 or $0.5", _dollars, _ORDERED),
    "tokens": Key("tokens so far", _whole("tokens", 0, _LARGEST), _ORDERED),
    "attempts": Key("attempts begun", _whole("attempts", 0, 1_000), _ORDERED),
    "priority": Key("0 to 4", _priority, _ORDERED),
    "worker": Key("a worker's id; * stands for anything", _name),
    "schedule": Key("a schedule's name; * stands for anything", _name),
    "key": Key("a unique key; * stands for anything", _name),
    "parent": Key("the id of the task that it was fanned out from", _whole("parent", 1, _LARGEST)),
    "id": Key("a task's id", _whole("id", 1, _LARGEST), _ORDERED),
}
"""The keys of the grammar, the ones most used first."""
