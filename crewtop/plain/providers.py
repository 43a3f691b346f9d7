"""Providers and money in plain text: limits, models that do not answer, keys, and budgets."""

from __future__ import annotations

from crewtop import words
from crewtop.model.allowance import AllowanceState
from crewtop.model.budgets import BudgetRow
from crewtop.model.providers import (
    ALL_MODELS,
    OWN_KEY,
    Providers,
    allowance_words,
    circuit_words,
    fullness,
    key_words,
)
from crewtop.model.snapshot import Snapshot
from crewtop.plain.paper import Column, Paper


def provider_sections(snapshot: Snapshot, paper: Paper) -> list[list[str]]:
    """A table of each kind of which there is anything."""
    of = snapshot.providers or Providers()
    aside = f", as told {words.duration(of.age)} ago" if of.age else ""
    more = [f"and {words.count(of.omitted)} more that workers leave out"] if of.omitted else []
    found = [
        _limits(of, aside, paper) if of.allowances else [],
        _circuits(of, aside, paper) if of.circuits else [],
        [*_keys(of, aside, paper), *more] if of.keys else more,
        _budgets(snapshot.budgets, paper) if snapshot.budgets else [],
    ]
    return [section for section in found if section]


def _limits(of: Providers, aside: str, paper: Paper) -> list[str]:
    rows = of.allowances
    return paper.table(
        [
            Column(f"LIMIT{aside}", [paper.safe(_whose(row)) for row in rows], stretch=True),
            Column("KEY", [paper.safe("own" if row.key == OWN_KEY else row.key) for row in rows], drop=2, stretch=True),
            Column("USED", [words.share(fullness(row)) for row in rows], right=True, drop=1),
            Column("REQUESTS/m", [words.used(row.requests_used, row.requests_per_minute) for row in rows], right=True),
            Column("TOKENS/m", [words.used(row.tokens_used, row.tokens_per_minute) for row in rows], right=True),
            Column("AT ONCE", [words.used(row.in_flight, row.at_once) for row in rows], right=True),
            Column("STATE", [paper.safe(allowance_words(row) or words.NOTHING) for row in rows], stretch=True),
        ]
    )


def _whose(row: AllowanceState) -> str:
    return f"{row.provider}/{'all models' if row.model == ALL_MODELS else row.model}"


def _circuits(of: Providers, aside: str, paper: Paper) -> list[str]:
    return paper.table(
        [
            Column(f"BREAKER{aside}", [paper.safe(f"{row.provider}/{row.model}") for row in of.circuits], stretch=True),
            Column("STATE", [paper.safe(circuit_words(row)) for row in of.circuits], stretch=True),
        ]
    )


def _keys(of: Providers, aside: str, paper: Paper) -> list[str]:
    return paper.table(
        [
            Column(f"KEY{aside}", [paper.safe(row.name) for row in of.keys], stretch=True),
            Column("PROVIDER", [paper.safe(row.provider) for row in of.keys], stretch=True),
            Column("STATE", [paper.safe(key_words(row)) for row in of.keys], stretch=True),
        ]
    )


def _budgets(rows: tuple[BudgetRow, ...], paper: Paper) -> list[str]:
    return paper.table(
        [
            Column("BUDGET", [paper.safe(row.what) for row in rows], stretch=True),
            Column("STATE", [row.stands for row in rows]),
            Column("SPENT", [words.money(row.amount, ascii=paper.ascii) for row in rows], right=True),
            Column("LIMIT", [words.dollars(row.limit) for row in rows], right=True),
            Column("SHARE", [words.share(row.share) for row in rows], right=True, drop=2),
            Column("BY MIDNIGHT", [_coming(row, paper) for row in rows], right=True, drop=3),
            Column("UNTIL", [_until(row) for row in rows], drop=1),
        ]
    )


def _coming(row: BudgetRow, paper: Paper) -> str:
    return words.NOTHING if row.coming is None else words.money(row.coming, ascii=paper.ascii)


def _until(row: BudgetRow) -> str:
    return words.NOTHING if row.resumes_at is None else f"{row.resumes_at:%Y-%m-%d %H:%M}Z"
