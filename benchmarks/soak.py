"""The screen over a shop that changes everywhere each second, by a clock that runs as fast as it can."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from crewtop.model.snapshot import Snapshot
from crewtop.tui.app import run_screen
from crewtop.tui.options import ScreenOptions
from tests.tui.fixtures import BUSY, RUNNING, Shop


class Hurried(Shop):
    """Each snapshot is a second later, with 200 running tasks that all moved; its name tells the second."""

    beat = 0

    async def snapshot(self) -> Snapshot:
        """The next second."""
        self.beat += 1
        at = BUSY.at + timedelta(seconds=self.beat)
        running = tuple(
            replace(RUNNING[i % 5], task_id=100_000 + 10 * self.beat + i, age=self.beat % 90 + i, tokens=self.beat + i)
            for i in range(200)
        )
        queues = tuple(replace(queue, ready=queue.ready + self.beat) for queue in BUSY.queues)
        series = tuple(replace(point, at=point.at + timedelta(seconds=self.beat)) for point in BUSY.series)
        return replace(BUSY, at=at, database=f"beat{self.beat}", running=running, queues=queues, series=series)


if __name__ == "__main__":
    shop = Hurried()
    raise SystemExit(run_screen(lambda: shop, ScreenOptions(interval=0.001, theme_folder=None)))
