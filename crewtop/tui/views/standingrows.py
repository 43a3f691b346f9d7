"""The rows of what may be used and spent: limits, models that calls are kept from, keys and budgets."""

from __future__ import annotations

from typing import NamedTuple

from crewtop import words
from crewtop.model.allowance import AllowanceState
from crewtop.model.budgets import BudgetRow
from crewtop.model.durations import countdown
from crewtop.model.providers import (
    ALL_MODELS,
    OWN_KEY,
    THROTTLED_SECONDS,
    Circuit,
    KeyHealth,
    allowance_words,
    circuit_words,
    fullness,
    key_words,
)
from crewtop.tui.columns import Cell, Column
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import Role, Span, Spans, joined
from crewtop.tui.views.cells import amount, said

WELL = 2
"""The urgency of what is well: 0 is wrong, 1 is to be watched."""

BAR_CELLS = 8

FULL, TIGHT = 1.0, 0.9
"""Shares of a limit from which on its bar is that of something wrong, or to be watched."""

LIMIT_COLUMNS = (
    Column("LIMIT", 14, most=34, about="A model, and the provider that limits it"),
    Column("KEY", 10, 2, most=24, about="The key that is limited, by name; own: the crew brings it"),
    Column("USED", 14, about="Of the limit that is nearest to its end; or when the next call may go out"),
    Column("REQUESTS/m", 11, 3, right=True, about="Requests in the last minute, and how many may be"),
    Column("TOKENS/m", 11, 4, right=True, about="Tokens in the last minute, and how many may be"),
    Column("CALLS", 7, 5, right=True, about="Calls under way, and how many may be at once"),
    Column("WHY", 20, 6, most=44, about="Why less may be used, or nothing"),
)

CIRCUIT_COLUMNS = (
    Column("BREAKER", 22, most=44, about="A model that calls are kept from, since it does not answer"),
    Column("STATE", 12, about="open: no call goes out; half-open: one tries"),
    Column("AGAIN", 8, 1, right=True, about="When a call tries it"),
    Column("WHY", 20, 2, most=60, about="What its last calls came to"),
)

KEY_COLUMNS = (
    Column("KEY", 22, most=44, about="A key by the name of its variable or file, and its provider"),
    Column("STATE", 12, about="ready, cooling down after a 429, or retired: mend it and restart the workers"),
    Column("AGAIN", 8, 1, right=True, about="When it is used again"),
    Column("WHY", 20, 2, most=60, about="What the provider said, to how many of the workers that have it"),
)

BUDGET_COLUMNS = (
    Column("BUDGET", 12, most=34, about="Whose budget of the day it is"),
    Column("STATE", 12, about="ok, nearly spent, spent (it only warns), paused (nothing is claimed), or unwatched"),
    Column("SHARE", 14, 2, about="How much of it is spent"),
    Column("SPENT", 9, 1, right=True, most=11, about="What was spent since midnight UTC"),
    Column("LIMIT", 8, 1, right=True, most=11, about="What may be spent a day"),
    Column("BY MIDNIGHT", 11, 3, right=True, about="What will be spent if it goes on as the last hour"),
    Column("UNTIL", 20, 4, most=24, about="When it goes on by itself"),
)


class Entry(NamedTuple):
    """A row. key: no other row has it; urgency: 0 is wrong, 1 to be watched, 2 well; told: all of it, safe to show;
    name: what is copied.
    """

    key: str
    urgency: int
    name: str
    told: str
    cells: list[Cell]


def limit_entry(state: AllowanceState, manner: Manner) -> Entry:
    """An allowance, in the order of LIMIT_COLUMNS."""
    model = "all models" if state.model == ALL_MODELS else state.model
    key = "own" if state.key == OWN_KEY else state.key
    held = (state.resumes_in or 0.0) >= THROTTLED_SECONDS
    stands = allowance_words(state) or "all is well"
    return Entry(
        f"limit {state.provider}/{state.model} {state.key}",
        1 if held else 2,
        f"{state.provider}/{state.model} {state.key}",
        safe(f"{state.provider}/{model} ({key}): {stands}"),
        [
            _model(model, state.provider),
            data(key, "muted"),
            Span(f"resumes {countdown(state.resumes_in or 0.0)}", "watch", True)
            if held
            else filled(fullness(state), manner),
            _used(state.requests_used, state.requests_per_minute),
            _used(state.tokens_used, state.tokens_per_minute),
            _used(state.in_flight, state.at_once),
            data(state.reason or "", "watch" if held else "muted"),
        ],
    )


def circuit_entry(circuit: Circuit) -> Entry:
    """A circuit, in the order of CIRCUIT_COLUMNS."""
    tried = circuit.status == "half-open" or not circuit.resumes_in
    some = f", in {circuit.workers:,} workers" if circuit.workers > 1 else ""
    return Entry(
        f"breaker {circuit.provider}/{circuit.model}",
        0,
        f"{circuit.provider}/{circuit.model}",
        safe(f"{circuit.provider}/{circuit.model} {circuit_words(circuit)}"),
        [
            _model(circuit.model, circuit.provider),
            Span(circuit.status, "wrong" if circuit.status == "open" else "watch", True),
            Span("now" if tried else countdown(circuit.resumes_in), "watch"),
            data(f"{circuit.why.replace('_', ' ')}, {circuit.failures:,} in a row{some}", "muted"),
        ],
    )


def key_entry(key: KeyHealth) -> Entry:
    """A key, in the order of KEY_COLUMNS."""
    urgency, role = _KEYS[key.status]
    some = f", in {key.workers:,} of {key.of:,} workers" if key.workers < key.of else ""
    return Entry(
        f"key {key.provider} {key.name}",
        urgency,
        key.name,
        safe(f"{key.name} of {key.provider}: {key_words(key)}"),
        [
            joined(data(key.name, "text", True), data(f" {key.provider}", "muted")),
            Span("cooling down" if key.status == "resting" else key.status, role, urgency < 2),
            said(words.NOTHING if key.resumes_in is None else countdown(key.resumes_in), "watch"),
            data(f"{key.why}{some}" if key.why else "", "muted"),
        ],
    )


_KEYS: dict[str, tuple[int, Role]] = {"retired": (0, "wrong"), "resting": (1, "watch"), "ready": (2, "muted")}


def budget_entry(row: BudgetRow, manner: Manner) -> Entry:
    """A budget, in the order of BUDGET_COLUMNS."""
    urgency = {"held": 0, "ok": 2}.get(row.state, 1)
    role: Role = ("wrong", "watch", "muted")[urgency]
    until = "" if row.resumes_at is None else f"{row.resumes_at:%Y-%m-%d %H:%M}Z"
    return Entry(
        f"budget {row.scope} {row.name}",
        urgency,
        row.what,
        safe(f"{row.what}, {row.stands}: {row.amounts} today{f', until {until} or until it is raised' * bool(until)}"),
        [
            data(row.what, "text", True),
            Span(row.stands, role, urgency < 2),
            filled(row.share, manner),
            amount(row.amount, manner),
            Span(words.dollars(row.limit), "muted"),
            said(words.NOTHING if row.coming is None else manner.money(row.coming), "money"),
            Span(until, "muted"),
        ],
    )


def filled(share: float | None, manner: Manner) -> Spans:
    """A share as a bar and a number; nothing to say where there is no limit."""
    if share is None:
        return (Span("no limit", "faint"),)
    full = min(BAR_CELLS, int(share * BAR_CELLS))
    role: Role = "wrong" if share >= FULL else "watch" if share >= TIGHT else "moving"
    return joined(
        Span(manner.glyph("■") * full, role),
        Span(manner.glyph("·") * (BAR_CELLS - full), "faint"),
        Span(f" {words.share(share):>4}", role if share >= TIGHT else "text"),
    )


def _model(model: str, provider: str) -> Spans:
    return joined(data(model, "text", True), data(f" {provider}", "muted"))


def _used(number: int, limit: int | None) -> Span:
    return Span(words.used(number, limit), "text" if number else "faint")
