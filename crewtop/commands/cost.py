"""`crewtop cost`: what LLM calls cost, by anything; old calls priced again; what other models would have cost."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import typer

from crewtop import operations, toml, words
from crewtop.commands.read import ascii_only, put_out, width
from crewtop.commands.repricing import Pricer, Supposed, by_mapping, by_route, difference
from crewtop.config import Configuration
from crewtop.llm.routes import Routes
from crewtop.llm.routes_table import parse
from crewtop.model.errors import Refused
from crewtop.model.filter_words import KEYS, FilterError
from crewtop.model.money import Money
from crewtop.model.spending import Cost, Costs, Repriced, Repricing
from crewtop.plain.data import to_json
from crewtop.plain.paper import Column, Paper
from crewtop.store import costs, repricings
from crewtop.stores import stores
from crewtop.text import masked

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0
APPLICATION = "crewtop"


@dataclass(frozen=True, slots=True)
class Shown:
    """As what it is printed; text where neither is set."""

    json: bool = False
    csv: bool = False


async def print_costs(configuration: Configuration, by: str, since: str, shown: Shown) -> int:
    """Print what calls cost. by: crew, model, queue, step or day. Raises Refused for what is no duration."""
    seconds = duration(since)
    async with stores(
        configuration.settings, APPLICATION, connections=1, timeout=TIMEOUT_SECONDS, prepared=False
    ) as opened:
        found = await costs.read(opened.database, by, seconds)
    print_found(found, shown, _csv, _costs_text)
    return 0


def print_found(found: T, shown: Shown, as_csv: Callable[[T], str], as_text: Callable[[T, Paper], list[str]]) -> None:
    """Print what was found as it is to be shown."""
    if shown.json:
        put_out(to_json(found))
    elif shown.csv:
        put_out(as_csv(found).rstrip("\n"))
    else:
        put_out("\n".join(as_text(found, Paper(width(), ascii_only()))))


async def reprice(configuration: Configuration, since: str, model: str | None, *, yes: bool, as_json: bool) -> int:
    """Price past calls again from their usage with the present table: print what would change, or with yes change it.

    Whatever an earlier one left undone is done first.
    """
    seconds = duration(since)
    pricer = Pricer(configuration.settings.rates())
    async with stores(
        configuration.settings, "crewtop operator", connections=1, timeout=TIMEOUT_SECONDS, prepared=False
    ) as opened:
        if not yes:
            start, end = await costs.window(opened.database, seconds)
            async for page in costs.calls(opened.database, start, end, model):
                for call in page:
                    pricer(call)
            sums = pricer.sums()
            put_out({"changes": to_json(sums)} if as_json else "\n".join(_changes_text(sums, pricer, None)))
            return 0
        begun = await repricings.unfinished(opened.database)
        begun.append(await repricings.begin(opened.database, seconds, model, operations.operator()))
        for number in begun:
            if number != begun[-1]:
                typer.echo(f"carrying on with repricing {number}, which was left undone", err=True)
            while await repricings.work(opened.database, number, pricer):
                pass
        done = await repricings.one(opened.database, begun[-1])
    put_out(to_json(done) if as_json else "\n".join(_changes_text(done.sums, pricer, done)))
    return 0


async def print_repricings(configuration: Configuration, limit: int, *, as_json: bool) -> int:
    """Print the newest repricings: the audit."""
    async with stores(
        configuration.settings, APPLICATION, connections=1, timeout=TIMEOUT_SECONDS, prepared=False
    ) as opened:
        found = await repricings.newest(opened.database, limit)
    if as_json:
        put_out(to_json(found))
    else:
        put_out("\n".join(_audit(found)) if found else "no call has ever been priced again")
    return 0


async def what_if(
    configuration: Configuration, since: str, pairs: Sequence[str], route: Path | None, *, as_json: bool
) -> int:
    """Print what past calls would have cost with other models, A=B, or by the routes of another crewtop.toml."""
    seconds = duration(since)
    mapping = dict(map(_pair, pairs))
    routes = _routes(route) if route is not None else None
    own = configuration.settings.rates()
    async with stores(
        configuration.settings, APPLICATION, connections=1, timeout=TIMEOUT_SECONDS, prepared=False
    ) as opened:
        start, end = await costs.window(opened.database, seconds)
        pages = costs.calls(opened.database, start, end, None)
        if routes is not None:
            whole, models = await by_route(pages, routes, own)
            found = [whole]
        else:
            found, models = await by_mapping(pages, mapping, own), {}
    if as_json:
        put_out({"supposed": to_json(found), "models": models})
    else:
        put_out("\n".join(_supposed_text(found, models)))
    return 0


def duration(typed: str) -> float:
    """The seconds of a length of time such as 90, 90s, 24h or 7d. Raises Refused for anything else."""
    try:
        return float(str(KEYS["age"].read(f"{typed}s" if typed.isdecimal() else typed)))
    except FilterError:
        raise Refused(f"--since {typed!r} is no duration: use 0s to 5200w, such as 90m, 24h, 7d, 1w") from None


def _pair(typed: str) -> tuple[str, str]:
    model, equals, instead = typed.partition("=")
    if not (model and equals and instead):
        raise Refused(f"--model {typed!r} is not A=B: name the model that was used and the one instead of it")
    return model, instead


def _routes(path: Path) -> Routes:
    if not path.is_file():
        raise Refused(f"--route {path}: there is no such file: name a crewtop.toml with [llm.routes]")
    table = toml.read(path).get("llm", {}).get("routes")
    if not isinstance(table, dict):
        raise Refused(f"--route {path}: it has no [llm.routes]")
    try:
        return parse(table)
    except ValueError as error:
        raise Refused(f"{path}: {error}") from None


def _costs_text(found: Costs, paper: Paper) -> list[str]:
    spent, lost = (words.money(amount, long=True, ascii=paper.ascii) for amount in (found.total, found.failed))
    told = [
        f"cost by {found.by} since {words.stamp(found.since)}: {spent}",
        f"of that, tasks that have failed by now: {lost}",
    ]
    if not found.rows:
        return [*told, "no call to a model ended since then"]
    rows = found.rows
    table = paper.table(
        [
            Column(found.by.upper(), [paper.safe(row.name) for row in rows]),
            Column("CALLS", [words.count(row.cost.calls) for row in rows], right=True),
            Column("UNPRICED", [words.count(row.cost.unknown) for row in rows], right=True),
            Column("IN", [words.compact(row.input_tokens) for row in rows], right=True, drop=2),
            Column("CACHED", [words.compact(row.cache_read_tokens) for row in rows], right=True, drop=3),
            Column("TO CACHE", [words.compact(row.cache_write_tokens) for row in rows], right=True, drop=5),
            Column("OUT", [words.compact(row.output_tokens) for row in rows], right=True, drop=2),
            Column("REASONING", [words.compact(row.reasoning_tokens) for row in rows], right=True, drop=4),
            Column("COST", [words.money(row.cost, ascii=paper.ascii) for row in rows], right=True),
            Column("SHARE", [_share(row, found.total) for row in rows], right=True, drop=6),
            Column("FAILED", [words.money(row.failed, ascii=paper.ascii) for row in rows], right=True, drop=1),
        ]
    )
    return [*told, "", *table, *found.notes]


def _share(row: Cost, total: Money) -> str:
    return words.percent(float(row.cost.known / total.known)) if total.known else words.NOTHING


def _csv(found: Costs) -> str:
    """Exact figures, a line a row; cost is a lower bound where unpriced_calls is not 0."""
    out = io.StringIO()
    kinds = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([
        found.by, "calls", "unpriced_calls", *kinds, "cost_usd", "failed_calls", "failed_unpriced_calls",
        "failed_cost_usd",
    ])  # fmt: skip
    for row in found.rows:
        writer.writerow([
            masked(row.name), row.cost.calls, row.cost.unknown, *(getattr(row, kind) for kind in kinds),
            f"{row.cost.known:f}", row.failed.calls, row.failed.unknown, f"{row.failed.known:f}",
        ])  # fmt: skip
    return out.getvalue()


def _changes_text(sums: Sequence[Repriced], pricer: Pricer, done: Repricing | None) -> list[str]:
    paper = Paper(width(), ascii_only())
    calls = sum(one.calls for one in sums)
    told = [f"repricing {done.id} is done" if done else "nothing is written yet"]
    told[0] += f": {words.count(calls)} of the calls {'cost' if done else 'would cost'} something else"
    if pricer.without_usage:
        told.append(f"{words.count(pricer.without_usage)} without usage stay as they are: nobody knows their tokens")
    if pricer.unlisted:
        told.append(f"{words.count(pricer.unlisted)} stay as they are: their model has no price now")
    if sums:
        told += ["", *_changes_table(sums, paper), f"in all {_signed(difference(sums))}"]
    if sums and done is None:
        told.append("add --yes to write it")
    return told


def _changes_table(sums: Sequence[Repriced], paper: Paper) -> list[str]:
    def before(one: Repriced) -> str:
        return words.money(Money(one.before, one.unknown, one.calls), ascii=paper.ascii)

    return paper.table(
        [
            Column("MODEL", [paper.safe(_model(one)) for one in sums], stretch=True),
            Column("CALLS", [words.count(one.calls) for one in sums], right=True),
            Column("BEFORE", [before(one) for one in sums], right=True),
            Column("AFTER", [words.dollars(one.after) for one in sums], right=True),
            Column("DIFFERENCE", [_signed(one.after - one.before) for one in sums], right=True),
            Column("FROM", [paper.safe(one.old_source) for one in sums], stretch=True, drop=1),
            Column("TO", [paper.safe(one.new_source) for one in sums], stretch=True, drop=1),
        ]
    )


def _audit(found: Sequence[Repricing]) -> list[str]:
    paper = Paper(width(), ascii_only())
    return paper.table(
        [
            Column("ID", [str(one.id) for one in found], right=True),
            Column("AT", [words.stamp(one.at) for one in found]),
            Column("STATE", ["done" if one.ended_at else "not through" for one in found]),
            Column("CALLS", [words.count(sum(s.calls for s in one.sums)) for one in found], right=True),
            Column("DIFFERENCE", [_signed(difference(one.sums)) for one in found], right=True),
            Column("BY", [paper.safe(one.actor) for one in found], stretch=True),
            Column("SINCE", [words.stamp(one.since) for one in found], drop=1),
            Column("MODEL", [paper.safe(one.model or "any") for one in found], stretch=True, drop=2),
        ]
    )


def _supposed_text(found: Sequence[Supposed], models: dict[str, int]) -> list[str]:
    if not any(one.compared or one.unknown for one in found):
        return ["no past call is meant by that"]
    paper = Paper(width(), ascii_only())
    told = paper.table(
        [
            Column("CALLS TO", [paper.safe(one.model) for one in found], stretch=True),
            Column("INSTEAD", [paper.safe(one.instead) for one in found], stretch=True),
            Column("COMPARED", [words.count(one.compared) for one in found], right=True),
            Column("UNKNOWN", [words.count(one.unknown) for one in found], right=True),
            Column("WAS", [words.dollars(one.was) for one in found], right=True),
            Column("WOULD BE", [words.dollars(one.would) for one in found], right=True),
            Column("DIFFERENCE", [_signed(one.would - one.was) for one in found], right=True),
        ]
    )
    told += [f"{words.count(n)} calls to {paper.safe(model)}" for model, n in models.items()]
    if any(one.unknown for one in found):
        told.append("unknown: left out of both sums, since tokens, prompt, cost or price is not known")
    return told


def _model(one: Repriced) -> str:
    return f"{one.provider}/{one.model}" if one.provider else one.model


def _signed(amount: Decimal) -> str:
    if not amount:
        return "$0.00"
    return ("-" if amount < 0 else "+") + words.dollars(abs(amount))
