"""The rows of the tables of money: by model, and by crew or queue."""

from __future__ import annotations

from crewtop import words
from crewtop.model.money import Money
from crewtop.model.spending import ModelUsage, Spent
from crewtop.tui.columns import Cell, Column
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import Span, joined
from crewtop.tui.views.cells import amount, count, said

MODEL_COLUMNS = (
    Column("MODEL", 20, most=44, about="The model, and the provider that it was asked from"),
    Column("CALLS", 6, 1, right=True, about="LLM calls, answered or not"),
    Column("IN", 6, 2, right=True, about="Tokens sent that were not in the provider's cache"),
    Column("CACHED", 6, 6, right=True, about="Tokens sent that the provider had in its cache"),
    Column("WRITTEN", 7, 9, right=True, about="Tokens sent that the provider put into its cache"),
    Column("OUT", 6, 3, right=True, about="Tokens answered, those of reasoning among them"),
    Column("REASON", 6, 8, right=True, about="Tokens of OUT that were spent on reasoning"),
    Column("429", 4, 4, right=True, about="Calls refused since there were too many of them"),
    Column("ERR", 4, 5, right=True, about="Calls that failed in another way"),
    Column("p50", 6, 11, right=True, about="Half of the answered calls took at most so long; ~ marks fewer than 20"),
    Column("p95", 6, 7, right=True, about="19 of 20 answered calls took at most so long"),
    Column("p99", 6, 12, right=True, about="99 of 100 answered calls took at most so long"),
    Column("COST", 10, right=True, most=11, about="What the calls cost; at least so much where some are unpriced"),
    Column("$/1K CALLS", 10, 10, right=True, about="COST for each 1,000 calls"),
    Column("UNPRICED", 8, 13, right=True, about="Calls of which nobody knows the price: they are missing in COST"),
)

SHARE_CELLS = 10

CREW_COLUMNS = (
    Column("CREW", 12, most=30, about="A crew; Enter lists its tasks"),
    Column("COST", 10, right=True, about="What its LLM calls cost; at least so much where some are unpriced"),
    Column("DONE", 7, 2, right=True, about="Its tasks that completed in this time"),
    Column("$/1K", 9, 1, right=True, about="COST for each 1,000 tasks that completed"),
    Column("SHARE", SHARE_CELLS, 3, about="Its part of all the money that is known to be spent"),
)

QUEUE_COLUMNS = (CREW_COLUMNS[0]._replace(title="QUEUE", about="A queue; Enter lists its tasks"), *CREW_COLUMNS[1:])


def model_cells(usage: ModelUsage, manner: Manner) -> list[Cell]:
    """A model's cells, in the order of MODEL_COLUMNS."""
    latency = usage.latency
    return [
        joined(data(usage.model, "text", True), data(f" {usage.provider}", "muted")),
        count(usage.calls),
        count(usage.input_tokens, "muted"),
        count(usage.cache_read_tokens, "muted"),
        count(usage.cache_write_tokens, "muted"),
        count(usage.output_tokens, "muted"),
        count(usage.reasoning_tokens, "muted"),
        count(usage.rate_limited, "watch"),
        count(usage.errors, "wrong"),
        *(said(words.percentile(value, latency.n)) for value in (latency.p50, latency.p95, latency.p99)),
        amount(usage.cost, manner),
        per_thousand(usage.cost, usage.calls, manner),
        count(usage.cost.unknown, "watch"),
    ]


def spent_cells(spent: Spent, total: Money, manner: Manner) -> list[Cell]:
    """A crew's or a queue's cells, in the order of CREW_COLUMNS."""
    share = float(spent.cost.known / total.known) if total.known else 0.0
    full = min(SHARE_CELLS, round(share * SHARE_CELLS))
    return [
        data(spent.name, "text", True),
        amount(spent.cost, manner),
        count(spent.completed, "muted"),
        per_thousand(spent.cost, spent.completed, manner),
        joined(
            Span(manner.glyph("■") * full, "money"),
            Span(manner.glyph("·") * (SHARE_CELLS - full), "faint"),
        ),
    ]


def per_thousand(cost: Money, of: int, manner: Manner) -> Span:
    """What 1,000 of so many cost; nothing to say where there was none."""
    return said(manner.money(cost.per(of / 1_000)) if of else words.NOTHING, "money")
