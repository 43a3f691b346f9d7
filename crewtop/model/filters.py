"""What an operator types to narrow the task list, as data: `status:failed crew:re* age>1h timeout`.

docs/filters.md tells the grammar to its users.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from crewtop.model.filter_words import (
    KEYS,
    FilterError,
    Pattern,
    Value,
    as_typed,
    split,
    split_values,
    unquoted,
)
from crewtop.model.task import TaskStatus

__all__ = [
    "SORTS", "TERM", "FilterError", "Pattern", "TaskFilter", "Term",
    "expand", "known_sort", "order_words", "parse", "words",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Term:
    """A key compared with values, of which any may hold: `!queue:a,b` or `age>1h`.

    key is one of filter_words.KEYS; sign is ':' for equal, else >, >=, < or <= with a single value.
    """

    key: str
    values: tuple[Value, ...]
    sign: str = ":"
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Conditions that all must hold; an empty tuple or None does not restrict.

    crews and queues are names, exact where they are a str; text is looked for, regardless of case, in the short error,
    the crew's name and the id; terms say what the other fields cannot.
    """

    statuses: tuple[TaskStatus, ...] = ()
    crews: tuple[str | Pattern, ...] = ()
    queues: tuple[str | Pattern, ...] = ()
    priority: int | None = None
    text: str | None = None
    terms: tuple[Term, ...] = ()

    @property
    def conditions(self) -> tuple[Term, ...]:
        """All that it asks for beside text, as terms."""
        named = (("status", self.statuses), ("crew", self.crews), ("queue", self.queues))
        fields = [Term(key, values) for key, values in named if values]
        if self.priority is not None:
            fields.append(Term("priority", (self.priority,)))
        return (*fields, *self.terms)


TERM = re.compile(r"(?P<no>[!-]?)(?P<key>[a-z]+)(?P<sign>>=|<=|[:=<>])(?P<value>.*)", re.DOTALL)
"""A word that compares; its value with its quotes."""

_FIELDS = {"status": "statuses", "crew": "crews", "queue": "queues"}
_TO_SEARCH = "put it in quotes to look for it as text"


def parse(text: str) -> TaskFilter:
    """Read a filter as typed. Words such as key:value restrict; the others are searched for.

    Terms on the same key add up to one that any of their values fulfils, where a task has but one such value.
    Raises FilterError for an unknown key, and for a value or a comparison that the key does not take.
    """
    terms: list[Term] = []
    found: list[str] = []
    for word in split(text):
        term = _term(word)
        if term is None:
            found.append(unquoted(word))
        else:
            _add(terms, term)
    return _filter(terms, " ".join(found) or None)


def words(task_filter: TaskFilter) -> str:
    """A filter as one would type it: parse(words(f)) == f for whatever parse answers."""
    parts = [_typed(term) for term in task_filter.conditions]
    if task_filter.text:
        parts += map(_searched, task_filter.text.split(" "))
    return " ".join(parts)


def expand(text: str, views: Mapping[str, str]) -> str:
    """A filter whose first word is @NAME, with the saved view of that name in its place; others as they are.

    Raises FilterError where there is no such view.
    """
    first, space, rest = text.lstrip().partition(" ")
    if not first.startswith("@"):
        return text
    name = first.removeprefix("@")
    if not views:
        raise FilterError(f"no view is saved: {first!r} needs one under [views] in crewtop.toml, or {_TO_SEARCH}")
    if name not in views:
        raise FilterError(f"view {first!r} is unknown: {_instead(name, views, '@')}, or {_TO_SEARCH}")
    return views[name] + space + rest


def _term(word: str) -> Term | None:
    """The term that a word is, or None for one to search for."""
    match = TERM.fullmatch(word)
    if match is None:
        return None
    key, typed = match["key"], match["value"]
    sign = ":" if match["sign"] == "=" else match["sign"]
    if key not in KEYS:
        if not typed or typed.startswith("//"):
            return None
        raise FilterError(f"filter key {key!r} is unknown: {_instead(key, KEYS)}, or {_TO_SEARCH}")
    if sign not in KEYS[key].signs:
        allowed = " or ".join(f"{key}{allowed}" for allowed in KEYS[key].signs)
        raise FilterError(f"filter {word!r} compares with {sign!r}: use {allowed}, or {_TO_SEARCH}")
    values = split_values(typed)
    if not values:
        raise FilterError(f"filter {word!r} has no value: {key} takes {KEYS[key].help}")
    if sign != ":" and len(values) > 1:
        raise FilterError(f"filter {word!r} compares with {len(values)} values: use one")
    return Term(key, tuple(KEYS[key].read(value) for value in values), sign, bool(match["no"]))


def _add(terms: list[Term], term: Term) -> None:
    if KEYS[term.key].unites and _is_plain(term):
        for place, other in enumerate(terms):
            if other.key == term.key and _is_plain(other):
                terms[place] = replace(other, values=other.values + term.values)
                return
    terms.append(term)


def _is_plain(term: Term) -> bool:
    return term.sign == ":" and not term.negated


def _filter(terms: Iterable[Term], text: str | None) -> TaskFilter:
    fields: dict[str, Any] = {}
    rest: list[Term] = []
    for term in terms:
        if _is_plain(term) and term.key in _FIELDS:
            fields[_FIELDS[term.key]] = term.values
        elif _is_plain(term) and term.key == "priority" and len(term.values) == 1:
            fields["priority"] = term.values[0]
        else:
            rest.append(term)
    return TaskFilter(text=text, terms=tuple(rest), **fields)


def _typed(term: Term) -> str:
    values = ",".join(as_typed(term.key, value) for value in term.values)
    return f"{'!' if term.negated else ''}{term.key}{term.sign}{values}"


def _searched(word: str) -> str:
    if not word or word.startswith("@") or TERM.fullmatch(word) or re.search(r'[\s"]', word):
        return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return word


def _instead(name: str, known: Iterable[str], mark: str = "") -> str:
    names = list(known)
    if meant := get_close_matches(name, names, 1, 0.6):
        return f"did you mean {mark}{meant[0]}"
    return f"use one of {', '.join(mark + name for name in names)}"


SORTS: dict[str, str] = {
    "newest": "newest first",
    "oldest": "oldest first",
    "cost": "dearest first",
    "tokens": "most tokens first",
    "priority": "claim order: priority, then due time",
    "id": "lowest id first",
    "crew": "by crew",
    "queue": "by queue",
    "status": "by status",
    "age": "longest ago first",
    "attempts": "most attempts first",
    "due": "due soonest first",
    "finished": "ended latest first",
    "worker": "by worker",
}
"""The orders that a task list can have, with their words. A leading '-' turns one around."""

_REVERSED = {
    "newest": SORTS["oldest"],
    "oldest": SORTS["newest"],
    "cost": "cheapest first",
    "tokens": "fewest tokens first",
    "priority": "claim order, last one first",
    "id": "highest id first",
    "crew": "by crew, Z to A",
    "queue": "by queue, Z to A",
    "status": "by status, Z to A",
    "age": "newest first",
    "attempts": "fewest attempts first",
    "due": "due latest first",
    "finished": "ended earliest first",
    "worker": "by worker, Z to A",
}


def known_sort(sort: str) -> str:
    """The order as it is. Raises FilterError, with the list, for one that does not exist."""
    if sort.removeprefix("-") in SORTS:
        return sort
    raise FilterError(f"sort {sort!r} is unknown: use {', '.join(SORTS)}, with a leading - to turn it around")


def order_words(sort: str) -> str:
    """An order in words: a key of SORTS, or one with a leading '-'."""
    return _REVERSED[sort.removeprefix("-")] if sort.startswith("-") else SORTS[sort]
