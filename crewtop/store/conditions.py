"""A filter as the condition of a statement: fixed pieces of SQL, and what was typed as numbered parameters only.

A piece is there only if it is asked for, so that the rest costs nothing and PostgreSQL sees which partial index fits.
The statements name the tasks t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crewtop.model.errors import Refused
from crewtop.model.filters import Pattern, TaskFilter, Term
from crewtop.model.stuck import CALLABLE
from crewtop.text import masked, storable

ATTEMPT = "(t.failed_runs + (t.status IN ('running', 'completed'))::integer)"
"""Attempts begun, as TaskRow.attempt says: those spent, and the one that runs or that worked."""

_COLUMNS = {
    "status": ("t.status", "text"),
    "crew": ("t.crew", "text"),
    "queue": ("t.queue", "text"),
    "worker": ("t.worker_id", "text"),
    "schedule": ("t.schedule", "text"),
    "key": ("t.key", "text"),
    "failure": ("t.failure", "text"),
    "parent": ("t.parent_id", "bigint"),
    "id": ("t.id", "bigint"),
    "tokens": ("t.tokens", "bigint"),
    "cost": ("t.cost", "numeric"),
    "attempts": (ATTEMPT, "integer"),
    "priority": ("t.priority", "smallint"),
}

_JUDGEMENTS = {
    # As model.stuck.stuck_reason: {callable} tells of no progress while it lasts.
    "stuck": "t.status = 'running' AND (t.lease_expires_at < now() OR EXISTS (SELECT FROM crewtop.runs AS s"
    " WHERE s.task_id = t.id AND s.id = t.run_id AND (now() - s.claimed_at > make_interval(secs => t.budget_seconds)"
    " OR now() - s.progress_at > make_interval(secs => {limit}) AND s.activity IS DISTINCT FROM {callable})))",
    "cancelling": "t.status = 'running' AND t.cancel_requested_at IS NOT NULL",
    "scheduled": "t.status = 'pending' AND t.run_at > now()",
    "unpriced": "t.unpriced_calls > 0",
}

_TEXT = "strpos(lower(concat_ws(' ', t.crew, t.error, t.id)), lower({text})) > 0"
_ERROR = "strpos(lower(t.error), lower({text})) > 0"
_SIGNS = {">": ">", ">=": ">=", "<": "<", "<=": "<="}
_OLDER = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


class Condition(NamedTuple):
    """SQL for a statement's /* where */ mark, and the parameters that it names."""

    sql: str
    arguments: tuple[object, ...]


def condition(task_filter: TaskFilter, first: int, no_progress_seconds: float) -> Condition:
    """A filter's condition on t, with parameters numbered from first on.

    no_progress_seconds: from when on a run without an event is stuck. Raises Refused for a text that would be masked
    where it is shown: finding it would tell what the mask hides.
    """
    parameters = _Parameters(first, no_progress_seconds)
    pieces = [_piece(term, parameters) for term in task_filter.conditions]
    if task_filter.text:
        pieces.append(_TEXT.format(text=parameters.text(task_filter.text)))
    return Condition(" AND ".join(f"({piece})" for piece in pieces) or "true", tuple(parameters.values))


class _Parameters:
    """Values on their way into a statement; each is named by its number and type."""

    def __init__(self, first: int, no_progress_seconds: float) -> None:
        self.values: list[object] = []
        self.no_progress_seconds = no_progress_seconds
        self._first = first

    def add(self, value: object, type_: str) -> str:
        self.values.append(value)
        return f"${self._first + len(self.values) - 1}::{type_}"

    def text(self, value: str) -> str:
        return self.add(_searchable(value), "text")


def _piece(term: Term, parameters: _Parameters) -> str:
    match term.key:
        case "is":
            sql = _any_of([_judged(str(value), parameters) for value in term.values])
        case "error":
            sql = _any_of([_ERROR.format(text=parameters.text(str(value))) for value in term.values])
        case "age":
            seconds = parameters.add(term.values[0], "float8")
            sql = f"t.created_at {_OLDER[term.sign]} now() - make_interval(secs => {seconds})"
        case "failure":  # groups are of what failed or rests, and so is their index
            sql = f"{_equal(term, parameters)} AND t.status IN ('failed', 'retry')"
        case _ if term.sign != ":":
            column, type_ = _COLUMNS[term.key]
            sql = f"{column} {_SIGNS[term.sign]} {parameters.add(term.values[0], type_)}"
        case _:
            sql = _equal(term, parameters)
    # What is not known, such as the worker of a task that nobody has claimed, is not what is ruled out.
    return f"({sql}) IS NOT TRUE" if term.negated else sql


def _equal(term: Term, parameters: _Parameters) -> str:
    column, type_ = _COLUMNS[term.key]
    exact = [
        _searchable(value) if isinstance(value, str) else value
        for value in term.values
        if not isinstance(value, Pattern)
    ]
    pieces = [
        f"{column} LIKE {parameters.add(_like(value), 'text')}" for value in term.values if isinstance(value, Pattern)
    ]
    if len(exact) == 1:
        pieces.append(f"{column} = {parameters.add(exact[0], type_)}")
    elif exact:
        pieces.append(f"{column} = ANY ({parameters.add(exact, type_ + '[]')})")
    return _any_of(pieces)


def _judged(name: str, parameters: _Parameters) -> str:
    sql = _JUDGEMENTS[name]
    if name != "stuck":
        return sql
    limit = parameters.add(parameters.no_progress_seconds, "float8")
    return sql.format(limit=limit, callable=parameters.add(CALLABLE, "text"))


def _any_of(pieces: Sequence[str]) -> str:
    return pieces[0] if len(pieces) == 1 else " OR ".join(f"({piece})" for piece in pieces)


def _like(pattern: Pattern) -> str:
    literal = (
        _searchable(part).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for part in pattern.parts
    )
    return "%".join(literal)


def _searchable(text: str) -> str:
    if masked(text) != text:
        raise Refused("masked text cannot be searched for: leave the secret out, and look for what stands around it")
    return storable(text)[0]
