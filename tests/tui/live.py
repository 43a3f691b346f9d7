"""The real screen over fixed data, for tests that watch it through a pseudo-terminal.

Commands come on file descriptor CREWTOP_TEST_ORDERS, one a line: 'tokens N' of task 48977, 'churn', 'hostile', 'down',
'up'.
Each snapshot that the screen asks for is told with one byte on CREWTOP_TEST_TICKS.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from crewtop.model.detail import TaskRow
from crewtop.model.snapshot import Health, Snapshot
from crewtop.model.task import TaskStatus
from crewtop.tui.app import run_screen
from crewtop.tui.options import ScreenOptions
from tests.tui.fixtures import HOSTILE, Shop, many, task, usd

INTERVAL_SECONDS = 0.1


class Watched(Shop):
    """Tells each tick; time goes on and latencies jitter as they do in life. churning: the first 100 rows change."""

    beat = 0
    churning = False

    async def snapshot(self) -> Snapshot:
        os.write(int(os.environ["CREWTOP_TEST_TICKS"]), b".")
        self.beat += 1
        now = await super().snapshot()
        if self.churning:
            self.rows = (*map(churned, self.rows[:100]), *self.rows[100:])
        at = now.at + timedelta(seconds=INTERVAL_SECONDS * self.beat)
        return replace(now, at=at, postgres=Health(True, 0.0010 + 0.0001 * (self.beat % 5)))


def churned(row: TaskRow) -> TaskRow:
    """The row a tick later: another status, step, count and price."""
    status = TaskStatus.RETRY if row.status is TaskStatus.RUNNING else TaskStatus.RUNNING
    step = 1 if row.step_position == 2 else 2
    return replace(row, status=status, step_position=step, tokens=row.tokens + 7, cost=usd(f"0.{row.tokens:06}"))


def obey(shop: Watched) -> None:
    with os.fdopen(int(os.environ["CREWTOP_TEST_ORDERS"])) as orders:
        for order in orders:
            match order.split():
                case ["tokens", number]:
                    shop.rows = tuple(
                        replace(row, tokens=int(number)) if row.id == 48_977 else row for row in shop.rows
                    )
                case ["churn"]:
                    shop.rows = many(200)
                    shop.churning = True
                case ["down"]:
                    shop.down = "postgres: connection refused"
                case ["up"]:
                    shop.down = None
                case ["hostile"]:
                    shop.rows = tuple(task(49_000 + i, "failed", error=text) for i, text in enumerate(HOSTILE))


if __name__ == "__main__":
    shop = Watched()
    threading.Thread(target=obey, args=(shop,), daemon=True).start()
    raise SystemExit(
        run_screen(lambda: shop, ScreenOptions(interval=INTERVAL_SECONDS, theme_folder=Path("/nonexistent")))
    )
