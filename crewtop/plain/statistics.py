"""Statistics as a table and as CSV."""

from __future__ import annotations

import csv
import io

from crewtop import words
from crewtop.model.statistics import Durations, Statistics, Tally
from crewtop.plain.paper import Column, Paper
from crewtop.text import masked

_FIGURES = ("mean", "p50", "p95", "p99")


def statistics_text(found: Statistics, paper: Paper) -> list[str]:
    """The lines of a table, with all of it in the last row."""
    told = [f"finished by {found.by} since {words.stamp(found.since)}"]
    if not found.rows:
        return [*told, "nothing finished since then"]
    rows = [*found.rows, found.whole]
    columns = [
        Column(found.by.upper(), [paper.safe(row.name) for row in rows], stretch=True),
        Column("DONE", [words.count(row.completed) for row in rows], right=True),
        Column("FAILED", [words.count(row.failed) for row in rows], right=True),
        Column("SUCCESS", [words.percent(row.success) for row in rows], right=True),
        Column("RETRIES", [words.count(row.retried) for row in rows], right=True, drop=3),
        Column("LEVEL", [words.percent(row.level) for row in rows], right=True, drop=4),
    ]
    for title, of, drops in (
        ("WAIT", [row.wait for row in rows], (8, 6, 5, 9)),
        ("RUN", [row.run for row in rows], (7, 6, 5, 9)),
    ):
        columns += [_figures(f"{title} {name}", name, of, drop) for name, drop in zip(_FIGURES, drops, strict=True)]
        columns.append(Column(f"{title} n", [words.compact(one.n) for one in of], right=True, drop=10))
    columns += [
        Column(
            "TOKENS",
            [words.UNKNOWN if row.tokens is None else words.compact(row.tokens) for row in rows],
            right=True,
            drop=2,
        ),
        Column("COST", [cost(row, ascii=paper.ascii) for row in rows], right=True, drop=1),
    ]
    few = any(0 < one.n < words.FEW for row in rows for one in (row.wait, row.run))
    notes = [f"~: of fewer than {words.FEW} durations"] if few else []
    return [*told, "", *paper.table(columns), *notes, *found.notes]


def cost(row: Tally, *, ascii: bool = False) -> str:
    """What it cost: a lower bound where a part is unknown, '?' where nothing tells."""
    return words.UNKNOWN if row.cost is None else words.money(row.cost, ascii=ascii)


def statistics_csv(found: Statistics) -> str:
    """Exact figures, a line a row, durations in seconds; cost is a lower bound where unpriced_calls is not 0."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    figures = [f"{of}_{name}" for of in ("wait", "run") for name in ("n", *(f"{each}_seconds" for each in _FIGURES))]
    counts = ("completed", "failed", "retried", "met", "missed", "success", "level")
    writer.writerow([found.by, *counts, *figures, "tokens", "calls", "unpriced_calls", "cost_usd"])
    for row in found.rows:
        money = (row.cost.calls, row.cost.unknown, f"{row.cost.known:f}") if row.cost else ("", "", "")
        writer.writerow([
            masked(row.name), *(getattr(row, kind) for kind in counts), *_exact(row.wait), *_exact(row.run), row.tokens,
            *money,
        ])  # fmt: skip
    return out.getvalue()


def _figures(title: str, name: str, of: list[Durations], drop: int) -> Column:
    return Column(title, [words.percentile(getattr(one, name), one.n) for one in of], right=True, drop=drop)


def _exact(one: Durations) -> list[float | int | None]:
    return [one.n, *(getattr(one, name) for name in _FIGURES)]
