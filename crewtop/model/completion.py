"""What may come next where somebody types a filter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from crewtop.model.filter_words import JUDGEMENTS, KEYS, quoted, split, split_values, unquoted
from crewtop.model.filters import TERM
from crewtop.model.task import TaskStatus


@dataclass(frozen=True, slots=True)
class Names:
    """The names that are known where a filter is typed. views: those of [views]."""

    crews: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    statuses: tuple[str, ...] = tuple(TaskStatus)


class Completion(NamedTuple):
    """text takes the place of what stands from start to end; help says what it is, and may be empty."""

    text: str
    start: int
    end: int
    help: str


def complete(text: str, cursor: int, names: Names) -> list[Completion]:
    """What the word before the cursor may become: a key, a status, a name, a judgement or a view.

    What begins as typed comes first, then what contains it; what is complete already is left out. A cursor after a
    space, or in an empty filter, is offered every key.
    """
    typed = text[:cursor]
    words = split(typed)
    word = words[-1] if words and typed.endswith(words[-1]) else ""
    begin = cursor - len(word)
    if word.startswith("@") and not text[:begin].strip():
        return _matching(word[1:], [(name, "saved view") for name in names.views], begin + 1, cursor)
    term = TERM.fullmatch(word)
    if term is None:
        start = begin + word.startswith(("!", "-"))
        keys = [(f"{key}{known.signs[0]}", known.help) for key, known in KEYS.items()]
        return _matching(text[start:cursor], keys, start, cursor)
    values = split_values(term["value"])
    last = values[-1] if values and not word.endswith(",") else ""
    options = [(quoted(name), help_) for name, help_ in _values(term["key"], names)]
    return _matching(unquoted(last), options, cursor - len(last), cursor)


def _values(key: str, names: Names) -> list[tuple[str, str]]:
    match key:
        case "is":
            return list(JUDGEMENTS.items())
        case "status":
            known = names.statuses
        case "crew":
            known = names.crews
        case "queue":
            known = names.queues
        case "worker":
            known = names.workers
        case "schedule":
            known = names.schedules
        case "priority":
            known = ("0", "1", "2", "3", "4")
        case _:
            known = ()
    return [(name, "") for name in known]


def _matching(typed: str, options: Iterable[tuple[str, str]], start: int, end: int) -> list[Completion]:
    looked_for = typed.casefold()
    found = [
        Completion(text, start, end, help_)
        for text, help_ in options
        if looked_for in text.casefold() and text != typed
    ]
    return sorted(found, key=lambda completion: not unquoted(completion.text).casefold().startswith(looked_for))
