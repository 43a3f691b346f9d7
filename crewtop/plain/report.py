"""One page that says how it went: charts and tables, whole in itself, in light, dark and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

from crewtop import words
from crewtop.model.failures import Failures
from crewtop.model.money import Money
from crewtop.model.spending import Costs
from crewtop.model.statistics import Durations, Statistics, Tally
from crewtop.plain.statistics import cost
from crewtop.plain.svg import Series, bars, lines
from crewtop.text import masked, shown

MOST_BARS = 12
_HOW_TO_READ = (
    f"Times are UTC. Figures come from the rollups; durations are within 1 %; ~ marks fewer than {words.FEW} of them; "
    "≥ marks a lower bound. The first and the last point of a chart may be of less time than the others."
)
_UNITS = (86_400, 3_600, 60, 1)
_RANKS = (("p50", "s1"), ("p95", "s2"), ("p99", "s3"))


@dataclass(frozen=True, slots=True)
class Report:
    """What a page is made of. over_time: in steps of so many seconds, as store.statistics.over_time has it."""

    where: str
    since_words: str
    step_seconds: int
    over_time: Statistics
    crews: Statistics
    queues: Statistics
    failures: Failures
    by_crew: Costs
    by_model: Costs


def page(report: Report) -> str:
    """The page as HTML. Names and errors are masked, made visible and escaped."""
    whole = report.crews.whole
    title = f"crewtop: {report.where}, the last {report.since_words}"
    parts = [
        f"<h1>{_safe(title)}</h1>",
        f"<p>From {words.stamp(report.crews.since)} to {words.stamp(report.crews.at)}. {_HOW_TO_READ}</p>",
        _tiles(whole),
        *_charts(report),
        _section("By crew", _table("crews", "crew", report.crews)),
        _section("By queue", _table("queues", "queue", report.queues)),
        _section("Service levels by queue", _levels(report.queues)),
        _section("Failures by cause", _failures(report.failures)),
        _section("Cost by crew", _costs("cost-by-crew", report.by_crew)),
        _section("Cost by model", _costs("cost-by-model", report.by_model)),
    ]
    style = files("crewtop.plain").joinpath("report.css").read_text("utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{_safe(title)}</title><style>{style}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _safe(text: str) -> str:
    return escape(shown(masked(text)))


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _tiles(whole: Tally) -> str:
    tiles = [
        ("completed", words.count(whole.completed)),
        ("failed", words.count(whole.failed)),
        ("success", words.percent(whole.success)),
        ("service level met", words.percent(whole.level)),
        ("wait p95", words.percentile(whole.wait.p95, whole.wait.n)),
        ("run p95", words.percentile(whole.run.p95, whole.run.n)),
        ("tokens", words.UNKNOWN if whole.tokens is None else words.compact(whole.tokens)),
        ("cost", cost(whole)),
    ]
    return '<div class="tiles">' + "".join(f"<div><b>{escape(v)}</b>{escape(k)}</div>" for k, v in tiles) + "</div>"


def _charts(report: Report) -> list[str]:
    """Throughput and durations; a stretch of time in which nothing finished is 0 there, and a gap here."""
    by_time = {int(row.name): row for row in report.over_time.rows}
    step = report.step_seconds
    first = int(report.over_time.since.timestamp()) // step * step
    starts = range(first, int(report.over_time.at.timestamp()) + 1, step)
    times = [f"{datetime.fromtimestamp(start, UTC):%m-%d %H:%M}" for start in starts]
    rows = [by_time.get(start) for start in starts]
    every = words.duration(step)
    throughput = [
        Series("completed", "s1", [float(row.completed) if row else 0.0 for row in rows]),
        Series("failed", "s3", [float(row.failed) if row else 0.0 for row in rows]),
    ]
    made = [_section(f"Tasks finished, every {every}", lines(throughput, times, _whole, "tasks finished over time"))]
    for name in ("wait", "run"):
        of: list[Durations | None] = [getattr(row, name) if row else None for row in rows]
        series = [Series(rank, style, [getattr(one, rank) if one else None for one in of]) for rank, style in _RANKS]
        label = f"{name} time, percentiles over time"
        made.append(
            _section(f"{name.capitalize()} time, every {every}", lines(series, times, words.duration, label, _UNITS))
        )
    return made


def _whole(value: float) -> str:
    return words.compact(round(value))


def _table(table_id: str, title: str, found: Statistics) -> str:
    heads = [title, "done", "failed", "success", "retries", "level"]
    heads += [f"{of} {rank}" for of in ("wait", "run") for rank in ("n", "mean", "p50", "p95", "p99")]
    body = "".join(
        f"<tr{' class=all' if row is found.whole else ''}><th>{_safe(row.name)}</th>{''.join(_cells(row))}</tr>"
        for row in (*found.rows, found.whole)
    )
    return _laid_out(table_id, [*heads, "tokens", "cost"], body)


def _cells(row: Tally) -> list[str]:
    cells = [_cell(words.count(row.completed), row.completed), _cell(words.count(row.failed), row.failed)]
    cells += [_cell(words.percent(row.success), row.success), _cell(words.count(row.retried), row.retried)]
    cells.append(_cell(words.percent(row.level), row.level))
    for of in (row.wait, row.run):
        cells.append(_cell(words.count(of.n), of.n))
        cells += [_cell(words.percentile(value, of.n), value) for value in (of.mean, of.p50, of.p95, of.p99)]
    cells.append(_cell(words.UNKNOWN if row.tokens is None else words.count(row.tokens), row.tokens))
    return [*cells, _cell(cost(row), row.cost and f"{row.cost.known:f}")]


def _cell(said: str, exact: object) -> str:
    """A figure in words; the exact one beside it, for whoever reads the page by machine or rests the pointer on it."""
    value = "" if exact is None else escape(str(exact))
    return f'<td title="{value}">{escape(said)}</td>'


def _laid_out(table_id: str, heads: Sequence[str], body: str) -> str:
    titles = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return (
        f'<div class="wide"><table id="{table_id}"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _levels(found: Statistics) -> str:
    rows = [
        (shown(masked(row.name)), row.level, f"{words.percent(row.level)} of {words.count(row.met + row.missed)}")
        for row in found.rows
        if row.level is not None
    ]
    return bars(rows[:MOST_BARS], "service level met by queue", most=1.0) if rows else "<p>Nothing was started.</p>"


def _failures(found: Failures) -> str:
    groups = [group for group in found.groups if group.failed]
    if not groups:
        return "<p>Nothing failed.</p>"
    chart = bars(
        [(shown(masked(g.sample)), float(g.failed), words.count(g.failed)) for g in groups[:MOST_BARS]],
        "failures",
        "s3",
    )
    body = "".join(
        f"<tr><th>{_safe(group.sample)}</th>{_cell(words.count(group.failed), group.failed)}"
        f"{_cell(', '.join(shown(masked(crew)) for crew in group.crews), group.key)}{_money(group.cost)}</tr>"
        for group in groups
    )
    more = f"<p>Of the newest {words.count(found.looked_at)} failed tasks.</p>" if found.more else ""
    return chart + _laid_out("failures", ["newest error of its kind", "failed", "crews", "cost"], body) + more


def _costs(table_id: str, found: Costs) -> str:
    if not found.rows:
        return "<p>No call to a model ended.</p>"
    chart = bars(
        [(shown(masked(row.name)), float(row.cost.known), words.money(row.cost)) for row in found.rows[:MOST_BARS]],
        f"cost by {found.by}",
        "s2",
    )
    body = "".join(
        f"<tr><th>{_safe(row.name)}</th>{_cell(words.count(row.cost.calls), row.cost.calls)}"
        f"{_cell(words.count(row.cost.unknown), row.cost.unknown)}{_money(row.cost)}</tr>"
        for row in found.rows
    )
    return chart + _laid_out(table_id, [found.by, "calls", "unpriced", "cost"], body)


def _money(amount: Money) -> str:
    return _cell(words.money(amount), f"{amount.known:f}")
