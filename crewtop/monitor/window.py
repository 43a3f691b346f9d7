"""The rollups of the last minutes, kept in memory: a bucket that is over never changes, so each is fetched once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from crewtop.model.histogram import Histogram, merged, quantile
from crewtop.model.money import Money, total
from crewtop.model.snapshot import Percentiles, Point

BUCKET_SECONDS = 10
HOUR_SECONDS = 3_600
DAY_SECONDS = 86_400
SETTLE_SECONDS = 20
"""A bucket may still grow for so long after it began: statements commit late, and folding moves rows."""


@dataclass(slots=True)
class Bucket:
    """What finished in 10 seconds in one queue. Histograms are of seconds."""

    completed: int = 0
    failed: int = 0
    retried: int = 0
    met: int = 0
    missed: int = 0
    wait: list[Histogram] = field(default_factory=list)
    run: list[Histogram] = field(default_factory=list)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add one row of the rollup."""
        self.completed += row["completed"]
        self.failed += row["failed"]
        self.retried += row["retried"]
        self.met += row["met"]
        self.missed += row["missed"]
        self.wait.append(histogram(row["wait"]))
        self.run += [histogram(row["run_ok"]), histogram(row["run_bad"])]

    def settle(self) -> None:
        """Merge the histograms, since they are asked for often."""
        self.wait = [merged(self.wait)]
        self.run = [merged(self.run)]


class Summary(NamedTuple):
    """What finished in a bucket in all queues; spend in dollars, as far as it is known."""

    completed: int
    failed: int
    wait: Percentiles
    run: Percentiles
    spend: float


Known = tuple[Summary, int, int, float | None]
"""What a point is made of: its bucket's summary, backlog, arrivals and oldest."""


class Window:
    """Buckets by start (Unix seconds of the database's clock) and queue, and an hour of spend likewise.

    seconds: how far back the buckets go. since: from which second on the rollups have to be fetched again, None: all.
    oldest: by bucket, how long the longest-waiting claimable task had waited, as far as anybody looked.
    """

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.buckets: dict[int, dict[str, Bucket]] = {}
        self.spend: dict[int, dict[str, Money]] = {}
        self.oldest: dict[int, float] = {}
        self.since: int | None = None
        self._midnight = 0
        self._before = Money()
        self._over: dict[int, Summary] = {}
        self._points: dict[int, tuple[Known, Point]] = {}

    def update(
        self, now: float, stats: Iterable[Mapping[str, Any]], spend: Iterable[Mapping[str, Any]], spent_before: Money
    ) -> None:
        """Take what was fetched: it replaces every bucket from since on.

        spent_before: what was spent today before the first fetch, asked for while since is None.
        """
        first = self.since is None
        since = 0 if self.since is None else self.since
        self.buckets = {start: row for start, row in self.buckets.items() if start < since}
        self.spend = {start: row for start, row in self.spend.items() if start < since}
        fresh: dict[int, dict[str, Bucket]] = defaultdict(lambda: defaultdict(Bucket))
        for row in stats:
            fresh[row["bin"]][row["queue"]].add(row)
        for queues in fresh.values():
            for bucket in queues.values():
                bucket.settle()
        self.buckets |= {start: dict(queues) for start, queues in fresh.items()}
        for row in spend:
            self.spend.setdefault(row["bin"], {})[row["queue"]] = Money(
                Decimal(row["cost"]), row["unpriced"], row["calls"]
            )
        if first:
            self._over.clear()
        self._forget(now, spent_before if first else None)
        self.since = (int(now) - SETTLE_SECONDS) // BUCKET_SECONDS * BUCKET_SECONDS

    def is_outdated(self, now: float) -> bool:
        """Whether the gap is so long that rollups may have been folded across the second that it is known up to."""
        return self.since is not None and now - self.since > HOUR_SECONDS

    def _forget(self, now: float, spent_before: Money | None) -> None:
        """Let go of what is too old; spend of today is added up before it goes."""
        oldest = int(now) - self.seconds
        self.buckets = {start: row for start, row in self.buckets.items() if start + BUCKET_SECONDS > oldest}
        self._over = {start: over for start, over in self._over.items() if start + BUCKET_SECONDS > oldest}
        self._points = {start: point for start, point in self._points.items() if start + BUCKET_SECONDS > oldest}
        self.oldest = {start: age for start, age in self.oldest.items() if start + BUCKET_SECONDS > oldest}
        midnight = int(now) // DAY_SECONDS * DAY_SECONDS
        if spent_before is not None:
            self._before = spent_before
        elif midnight != self._midnight:
            self._before = Money()
        self._midnight = midnight
        for start in [start for start in self.spend if start + BUCKET_SECONDS <= now - HOUR_SECONDS]:
            gone = self.spend.pop(start)
            if start >= midnight and spent_before is None:
                self._before += total(gone.values())

    def see(self, now: float, oldest: float) -> None:
        """Remember how long the longest-waiting task has waited now, in seconds; 0: none waits."""
        bucket = int(now) // BUCKET_SECONDS * BUCKET_SECONDS
        self.oldest[bucket] = max(oldest, self.oldest.get(bucket, 0.0))

    def spent_today(self) -> Money:
        """What LLM calls cost that ended since midnight, UTC."""
        return self._before + self.spent(None, self._midnight)

    def of_queue(self, queue: str | None, after: float) -> list[Bucket]:
        """The buckets of one queue (None: of all) that began after a Unix second."""
        return [
            bucket
            for start, queues in self.buckets.items()
            if start >= after
            for name, bucket in queues.items()
            if queue is None or name == queue
        ]

    def summary(self, start: int) -> Summary:
        """What finished in the bucket that starts at a Unix second. Of one that is over it is worked out once."""
        if (known := self._over.get(start)) is not None:
            return known
        buckets = list(self.buckets.get(start, {}).values())
        spent = sum((money.known for money in self.spend.get(start, {}).values()), Decimal(0))
        summary = Summary(
            sum(bucket.completed for bucket in buckets),
            sum(bucket.failed for bucket in buckets),
            percentiles(each for bucket in buckets for each in bucket.wait),
            percentiles(each for bucket in buckets for each in bucket.run),
            float(spent),
        )
        if self.since is not None and start < self.since:
            self._over[start] = summary
        return summary

    def point(self, start: int, backlog: int, arrived: int) -> Point:
        """The bucket that starts at a Unix second, for the charts; the very one as before while nothing of it changes:
        most do not, and what is the same is compared, and kept, for nothing.
        """
        known = self.summary(start), backlog, arrived, self.oldest.get(start)
        if (before := self._points.get(start)) is not None and before[0] == known:
            return before[1]
        over, _, _, oldest = known
        point = Point(
            at=datetime.fromtimestamp(start, UTC),
            backlog=backlog,
            arrived=arrived,
            done=over.completed,
            failed=over.failed,
            wait_p95=over.wait.p95,
            run_p95=over.run.p95,
            spend=over.spend,
            wait_p50=over.wait.p50,
            wait_p99=over.wait.p99,
            run_p50=over.run.p50,
            run_p99=over.run.p99,
            oldest=oldest,
        )
        self._points[start] = known, point
        return point

    def completed(self, queue: str, starts: Iterable[int]) -> int:
        """How many tasks of a queue completed in the buckets that start at these Unix seconds."""
        found = (self.buckets.get(start, {}).get(queue) for start in starts)
        return sum(bucket.completed for bucket in found if bucket is not None)

    def spent_in(self, starts: Iterable[int]) -> Money:
        """What LLM calls cost in the buckets that start at these Unix seconds."""
        return total(money for start in starts for money in self.spend.get(start, {}).values())

    def spent(self, queue: str | None, after: float) -> Money:
        """What LLM calls cost that ended after a Unix second."""
        return total(
            money
            for start, queues in self.spend.items()
            if start >= after
            for name, money in queues.items()
            if queue is None or name == queue
        )


def percentiles(histograms: Iterable[Histogram]) -> Percentiles:
    """p50, p95 and p99 of histograms merged; percentiles are never averaged."""
    whole = merged(histograms)
    return Percentiles(sum(whole.values()), quantile(whole, 0.5), quantile(whole, 0.95), quantile(whole, 0.99))


def histogram(counts: Mapping[str, int]) -> Histogram:
    """A histogram from JSON, whose keys are text."""
    return {int(number): n for number, n in counts.items()}
