"""How figures are said, on the screen and in plain output alike. Unknown is '?', nothing to say is '-'."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from crewtop.model.detail import MOST_TIES, TaskTies, Tied
from crewtop.model.durations import NOTHING as NOTHING
from crewtop.model.durations import UNKNOWN as UNKNOWN
from crewtop.model.durations import duration as duration
from crewtop.model.money import Money

FEW = 20
"""Percentiles of fewer durations than this are marked."""

_TIED_NAMED = 6


def ties(found: TaskTies) -> list[str]:
    """What a task has to do with others, one clause each; as written in the database: not yet safe to show."""
    said = [
        f"key {found.key} ({found.key_scope})" if found.key is not None else "",
        f"schedule {found.schedule}" if found.schedule is not None else "",
        f"rerun of {found.rerun_of}" if found.rerun_of is not None else "",
        f"fanned out from {found.parent_id}" if found.parent_id is not None else "",
        f"depends on {_tied(found.depends_on)}" if found.depends_on else "",
        f"needed by {_tied(found.needed_by)}" if found.needed_by else "",
        f"fanned out {_tied(found.children)}" if found.children else "",
        f"run again as {_tied(found.reruns)}" if found.reruns else "",
    ]
    return [clause for clause in said if clause]


def _tied(others: tuple[Tied, ...]) -> str:
    named = [f"{other.task_id} {other.status}" for other in others[:_TIED_NAMED]]
    if len(others) > _TIED_NAMED:
        named.append(f"{'at least ' if len(others) >= MOST_TIES else ''}{len(others) - _TIED_NAMED} more")
    return ", ".join(named)


def percentile(seconds: float | None, n: int) -> str:
    """A percentile of n durations; '~' before it says that n is too small to lean on."""
    return ("~" if 0 < n < FEW and seconds is not None else "") + duration(seconds)


def latency(seconds: float | None) -> str:
    """How long an answer took, to two digits: '0.4 ms', '12 ms', '1.2 s'. None is '-'."""
    if seconds is None:
        return NOTHING
    if not 0 <= seconds < 1_000:
        return UNKNOWN
    number, unit = (seconds * 1_000, "ms") if seconds < 0.9995 else (seconds, "s")
    return f"{number:.1f} {unit}" if number < 9.95 else f"{number:.0f} {unit}"


def count(n: int) -> str:
    """A whole number with its thousands parted: '1,204'."""
    return f"{n:,}"


def compact(n: int) -> str:
    """A whole number in at most six characters, rounded down: '1,204', '12.4k', '3.1M'."""
    if abs(n) < 10_000:
        return count(n)
    if n < 0:
        return "-" + compact(-n)
    for unit, size in (("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12)):
        if n < 1_000 * size:
            tenths = n * 10 // size
            return f"{tenths // 10}.{tenths % 10}{unit}" if tenths < 1_000 else f"{tenths // 10}{unit}"
    return ">999T"


def used(number: int, limit: int | None) -> str:
    """How much of a limit is used: '2,940/3,000', '1.3M/1.5M'; the number alone where there is no limit."""
    return compact(number) if limit is None else f"{compact(number)}/{compact(limit)}"


def size(n: int) -> str:
    """A number of bytes in units of 1,024, rounded down: '812 B', '64 KB', '1.0 MB'."""
    if n < 1_024:
        return f"{n} B"
    for unit, power in (("KB", 1), ("MB", 2), ("GB", 3), ("TB", 4)):
        if n < 1_024 ** (power + 1):
            tenths = n * 10 // 1_024**power
            return f"{tenths // 10}.{tenths % 10} {unit}" if tenths < 100 else f"{tenths // 10} {unit}"
    return ">999 TB"


def rate(per_minute: float) -> str:
    """How often something happens, in the unit that keeps the number short: '38.2/s', '840/m', '2.4/m', '3/h'."""
    if not 0 <= per_minute < math.inf:
        return UNKNOWN
    if per_minute >= 1_000:
        number, unit = per_minute / 60, "s"
    elif per_minute >= 1 or per_minute == 0:
        number, unit = per_minute, "m"
    else:
        number, unit = per_minute * 60, "h"
        if number < 0.05:
            return "<0.1/h"
    if number >= 10_000:
        return f"{compact(int(number))}/{unit}"
    return f"{number:.1f}".removesuffix(".0") + f"/{unit}" if number < 99.95 else f"{number:.0f}/{unit}"


def percent(share: float | None) -> str:
    """A share from 0 to 1: '99.9%'. '100%' and '0%' are said only of exactly that; None is '-'."""
    if share is None:
        return NOTHING
    if not 0 <= share <= 1:
        return UNKNOWN
    if share == 0 or share == 1:
        return f"{share:.0%}"
    if share < 0.001:
        return "<0.1%"
    return "99.9%" if 0.999 < share < 1 else f"{share:.1%}"


def share(part: float | None) -> str:
    """How much of a limit is used, rounded down: '99%' is not yet all, '110%' is more than that. None is '-'."""
    if part is None:
        return NOTHING
    return f"{math.floor(part * 100 + 1e-9):,}%" if 0 <= part < math.inf else UNKNOWN


def money(amount: Money, *, long: bool = False, ascii: bool = False) -> str:
    """An amount: '$3.41', '$0.0017'; '≥ $1.23' where some calls are unpriced, '?' where all are, '-' where none was.

    long adds how many calls went unreported.
    """
    if amount.unknown == 0:
        return NOTHING if amount.calls == 0 and amount.known == 0 else dollars(amount.known)
    if amount.unknown >= amount.calls and amount.known == 0:
        said = UNKNOWN
    else:
        said = (">= " if ascii else "≥ ") + dollars(amount.known, ROUND_FLOOR)
    calls = "1 call" if amount.unknown == 1 else f"{count(amount.unknown)} calls"
    return f"{said} ({calls} unreported)" if long else said


def dollars(amount: Decimal, rounding: str = ROUND_HALF_EVEN) -> str:
    """US dollars to the cent, or to two digits below ten cents: '$3.41', '$0.0017', '$1,204.50', '$12,345', '$3.1M'.

    rounding is one of decimal's: a lower bound must round down. What is not finite or below 0 is '?'.
    """
    if not amount.is_finite() or amount < 0:
        return UNKNOWN
    if amount >= 10_000_000:
        return f"${compact(int(min(amount, Decimal(10) ** 18)))}"
    if 0 < amount < Decimal("0.000001"):
        return "$0.00" if rounding == ROUND_FLOOR else "<$0.000001"
    if 0 < amount < Decimal("0.1"):
        amount = Context(prec=2, rounding=rounding).plus(amount).normalize()
        if amount.adjusted() < -2:
            return f"${amount:f}"
        places = max(2, -int(amount.as_tuple().exponent))
    else:
        places = 2 if amount < 10_000 else 0
    return f"${amount.quantize(Decimal(1).scaleb(-places), rounding):,f}"


def clock(at: datetime, *, local: bool = False) -> str:
    """The time of day: '14:02:11Z', or with local '16:02:11+0200' in this machine's zone. at knows its zone."""
    return f"{at.astimezone():%H:%M:%S%z}" if local else f"{at.astimezone(UTC):%H:%M:%S}Z"


def stamp(at: datetime, *, local: bool = False) -> str:
    """The date and the time of day: '2026-01-31 14:02:11Z', or with local in this machine's zone."""
    return f"{at.astimezone() if local else at.astimezone(UTC):%Y-%m-%d} {clock(at, local=local)}"


_GLYPHS = {
    "waiting": ("…", "."),
    "pending": ("◌", "o"),
    "running": ("▶", ">"),
    "started": ("▶", ">"),
    "stuck": ("▲", "!"),
    "late": ("▲", "!"),
    "retry": ("↻", "~"),
    "throttled": ("↻", "~"),
    "rate_limited": ("↻", "~"),
    "interrupted": ("↻", "~"),
    "returned": ("↻", "~"),
    "completed": ("✓", "+"),
    "ok": ("✓", "+"),
    "kept": ("✓", "+"),
    "failed": ("✗", "x"),
    "error": ("✗", "x"),
    "refused": ("✗", "x"),
    "timeout": ("✗", "x"),
    "over_budget": ("✗", "x"),
    "stalled": ("✗", "x"),
    "crashed": ("✗", "x"),
    "lost": ("✗", "x"),
    "killed": ("✗", "x"),
    "cancelled": ("⊘", "-"),
    "cancelling": ("⊘", "-"),
    "superseded": ("⊘", "-"),
    "paused": ("‖", "="),
    "draining": ("◌", "o"),
    "stopped": ("⊘", "-"),
}


def glyph(state: str, *, ascii: bool = False) -> str:
    """The one-cell sign of a state: of a task, a run, a step, an LLM call, a queue or a worker. '?' for any other."""
    return _GLYPHS.get(state, (UNKNOWN, UNKNOWN))[ascii]


def status(state: str, *, ascii: bool = False) -> str:
    """A state as glyph and word: '✗ failed', '✗ over budget'; in ASCII 'x failed'."""
    return f"{glyph(state, ascii=ascii)} {state.replace('_', ' ')}"
