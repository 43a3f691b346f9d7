"""Backlog, throughput, latency and spend over the last minutes, for those who would rather look than read."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from crewtop import words
from crewtop.model.snapshot import Percentiles, Point, Snapshot
from crewtop.tui.actions import View
from crewtop.tui.axes import AMOUNTS, COUNTS, LENGTHS
from crewtop.tui.charts import Texture
from crewtop.tui.effects import Effect, Say
from crewtop.tui.manner import Manner
from crewtop.tui.paint import BLANK, Line, Role, Span, line
from crewtop.tui.views.cells import NO_TASK_HERE, coarse
from crewtop.tui.views.figures import complete, growth, rate_now
from crewtop.tui.views.page import Page
from crewtop.tui.views.plot import Chart, Measure, Series, beside, draw, mean
from crewtop.tui.views.question import Question

TWO_COLUMNS_CELLS = 110
GAP = 3
GOOD_LINES, MOST_LINES = 9, 18
"""How high a chart is where not all fit at once, and at most."""

NUMBERS = Measure(COUNTS, lambda value: words.compact(round(value)))
SECONDS = Measure(LENGTHS, words.duration)
DOLLARS = Measure(AMOUNTS, lambda value: words.dollars(Decimal(str(value))) if value else "$0")


class Charts(Page):
    """State of the view: the snapshot, and which row of charts is the first in sight."""

    kind = View.CHARTS

    def __init__(self, manner: Manner) -> None:
        super().__init__(manner)
        self._top = 0
        self._rows, self._fit = 1, 1

    def do(self, command: str, height: int) -> Effect | Question | None:
        """Obey a command: what moves a cursor elsewhere scrolls here."""
        if command == "act_on_tasks":
            return NO_TASK_HERE
        if command == "copy":
            return Say("a chart has nothing to copy")
        steps = {"up": -1, "down": 1, "page_up": -self._fit, "page_down": self._fit, "first": -9, "last": 9}
        self._top = min(max(0, self._top + steps.get(command, 0)), max(0, self._rows - self._fit))
        return None

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        if self.snapshot is None:
            return []
        if not complete(self.snapshot):
            return [BLANK, line("  ", Span("Nothing to draw yet: a chart begins after its first 10 s.", "muted"))]
        rows = _paired(charts(self.snapshot, self.manner), width)
        self._rows, self._fit = len(rows), min(len(rows), max(1, height // GOOD_LINES))
        self._top = min(self._top, self._rows - self._fit)
        lines: list[Line] = []
        for i, row in enumerate(rows[self._top : self._top + self._fit]):
            high = min(MOST_LINES, (height - len(lines)) // (self._fit - i))
            lines += self._drawn(row, width, high)
        return lines

    def _drawn(self, row: Sequence[Chart], width: int, height: int) -> list[Line]:
        """One row of charts: a line of air above them where there is room."""
        air = [BLANK] if height > GOOD_LINES - 1 else []
        cells = (width - 2 - GAP * (len(row) - 1)) // len(row)
        blocks = [draw(chart, cells, height - len(air), self.manner) for chart in row]
        block = blocks[0] if len(blocks) == 1 else beside(blocks[0], blocks[1], cells, GAP)
        return [*air, *(Line((Span(" "), *each.spans)) for each in block)]


def _paired(all_charts: Sequence[Chart], width: int) -> list[Sequence[Chart]]:
    size = 2 if width >= TWO_COLUMNS_CELLS else 1
    return [all_charts[i : i + size] for i in range(0, len(all_charts), size)]


def charts(snapshot: Snapshot, manner: Manner) -> list[Chart]:
    """The charts of a snapshot: only of buckets that are over, so that the picture moves once a bucket."""
    points, bucket = complete(snapshot), snapshot.bucket_seconds
    at = points[0].at
    oldest = max((queue.oldest for queue in snapshot.queues if queue.oldest is not None), default=None)
    return [
        Chart(
            "Backlog",
            words.count(snapshot.backlog),
            growth(points, bucket) + (f", oldest {coarse(oldest)}" if oldest is not None else ""),
            at,
            bucket,
            (Series("ready or retrying", [point.backlog for point in points], "accent"),),
            NUMBERS,
            overlay=Series("oldest, right", [point.oldest for point in points], "watch", "line"),
            overlay_measure=SECONDS,
        ),
        _throughput(snapshot, points),
        _percentiles("Wait", snapshot.wait, points, bucket, "wait", "waiting"),
        _percentiles("Run", snapshot.run, points, bucket, "run", "link"),
        Chart(
            "Spend pace",
            manner.hourly(snapshot.spend_pace),
            _spent(snapshot, manner),
            at,
            bucket,
            (Series("spend", [point.spend * 3_600 / bucket for point in points], "money", "solid", mean),),
            DOLLARS,
        ),
    ]


def _spent(snapshot: Snapshot, manner: Manner) -> str:
    spent = (("last hour", snapshot.spend_per_hour), ("today", snapshot.spend_today))
    return ", ".join(f"{span} {manner.money(amount)}" for span, amount in spent if amount.calls)


def _throughput(snapshot: Snapshot, points: Sequence[Point]) -> Chart:
    bucket = snapshot.bucket_seconds
    fast = max(point.done for point in points) * 60 / bucket >= 1_000
    unit, seconds = ("s", 1) if fast else ("m", 60)
    done = [point.done * seconds / bucket for point in points]
    failed = [point.failed * seconds / bucket or None for point in points]  # no failure leaves no mark
    return Chart(
        "Throughput",
        rate_now(snapshot, "done"),
        f"in {rate_now(snapshot, 'arrived')}",
        points[0].at,
        bucket,
        (Series("completed", done, "moving", "solid", mean), Series("failed", failed, "wrong", "line", mean)),
        Measure(COUNTS, lambda value: f"{words.compact(round(value))}/{unit}"),
    )


def _percentiles(title: str, now: Percentiles, points: Sequence[Point], bucket: float, what: str, role: Role) -> Chart:
    """Bands one over the other: the denser, the more of the tasks took so long."""
    bands: tuple[tuple[str, float | None, Role, Texture], ...] = (
        ("p50", now.p50, role, "solid"),
        ("p95", now.p95, role, "half"),
        ("p99", now.p99, "muted", "sparse"),
    )
    return Chart(
        title,
        "",
        f"n {words.count(now.n)}" if now.n else "",
        points[0].at,
        bucket,
        tuple(
            Series(
                f"{name} {words.percentile(value, now.n)}", [getattr(point, f"{what}_{name}") for point in points], r, t
            )
            for name, value, r, t in bands
        ),
        SECONDS,
    )
