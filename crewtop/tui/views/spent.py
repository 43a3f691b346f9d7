"""What was spent, in a few lines and through time."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop import words
from crewtop.model.spending import Spending, SpentIn
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Line, Part, Span, bar, clip_spans, joined
from crewtop.tui.views.charts import DOLLARS
from crewtop.tui.views.modelrows import per_thousand
from crewtop.tui.views.plot import LEAST_LINES, Chart, Series, beside, draw, mean

NAMED = 3
"""Unpriced models that are named before the rest is counted."""

BESIDE_CELLS = 100
"""From this width on two charts stand beside each other."""


def summary(spent: Spending, window: str, width: int, height: int, manner: Manner) -> list[Line]:
    """What was spent in a window so called and today, and what has no price."""
    if not spent.total.calls:
        said = Span(f"  No LLM call in the {window}. w changes the time that is summed up.", "muted")
        return [Line(clip_spans((said,), width - 1, manner.cut))]
    rows = [_window_parts(spent, window, manner), _today_parts(spent, manner)]
    unpriced = _unpriced(spent)
    if unpriced and height >= 8:
        rows.append([Part(0, (Span(unpriced, "watch"),))])
    return [Line(clip_spans(joined("  ", bar(parts, width - 3)), width - 1, manner.cut)) for parts in rows]


def time_lines(spent: Spending, window: str, width: int, room: int, manner: Manner) -> list[Line]:
    """Money by hour and by day: beside each other, one below the other, or the days alone."""
    if room < LEAST_LINES:
        return []
    hours = _bars("By hour", spent.hours, 3_600.0, window, manner)
    days = _bars("By day", spent.days, 86_400.0, "last 14 d, UTC", manner)
    found = [chart for chart in (hours, days) if chart is not None]
    if width >= BESIDE_CELLS and len(found) == 2:
        half = (width - 4) // 2
        left, right = (draw(chart, half, room, manner) for chart in found)
        return _indented(beside(left, right, half, 2))
    fits = found[: max(1, room // LEAST_LINES)] if room < 2 * LEAST_LINES else found
    return _indented([each for chart in fits for each in draw(chart, width - 2, room // len(fits), manner)])


def _indented(lines: Sequence[Line]) -> list[Line]:
    return [Line((Span(" "), *each.spans), each.ground) for each in lines]


def _window_parts(spent: Spending, window: str, manner: Manner) -> list[Part]:
    parts = [Part(0, joined(Span(f"{window} ", "muted"), Span(manner.money(spent.total), "money", True)))]
    if spent.completed:
        each = per_thousand(spent.total, spent.completed, manner)
        parts.append(Part(1, joined(each, Span(" per 1,000 completed", "muted"))))
    if spent.failed.calls:
        parts.append(Part(2, joined(Span("failed tasks ", "muted"), Span(manner.money(spent.failed), "wrong"))))
    parts.append(Part(4, (Span(f"{words.count(spent.completed)} completed", "muted"),)))
    parts.append(Part(3, (Span(f"{words.count(spent.total.calls)} calls", "muted"),)))
    return parts


def _today_parts(spent: Spending, manner: Manner) -> list[Part]:
    today = joined(Span("today ", "muted"), Span(manner.money(spent.today), "money", True))
    if spent.projected is None:
        return [Part(0, today)]
    coming = joined(Span(manner.money(spent.projected), "money"), Span(" by midnight UTC", "muted"))
    return [Part(0, today), Part(1, joined(coming, Span(" if it goes on as the last hour", "muted")))]


def _unpriced(spent: Spending) -> str:
    """How many calls have an unknown cost, since they told no usage or have no price, and which models they went to."""
    models = [usage for usage in spent.models if usage.cost.unknown]
    if not spent.total.unknown:
        return ""
    named = ", ".join(safe(usage.model) for usage in models[:NAMED])
    more = f" and {words.count(len(models) - NAMED)} more" if len(models) > NAMED else ""
    calls = "call" if spent.total.unknown == 1 else "calls"
    return f"{words.count(spent.total.unknown)} {calls} at unknown cost{f': {named}{more}' if named else ''}"


def _bars(title: str, spent: Sequence[SpentIn], seconds: float, aside: str, manner: Manner) -> Chart | None:
    if not spent:
        return None
    values = [float(each.cost.known) for each in spent]
    series = Series("spent", values, "money", "solid", mean)
    return Chart(
        title, f"now {manner.money(spent[-1].cost)}", aside, spent[0].at, seconds, (series,), DOLLARS, parted=True
    )
