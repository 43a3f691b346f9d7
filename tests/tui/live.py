"""The real screen over fixed data, for tests that watch it through a pseudo-terminal.

Commands come on file descriptor CREWTOP_TEST_ORDERS, one a line: a new status for task 48977, 'down', 'up', 'noise'.
Each snapshot that the screen asks for is told with one byte on CREWTOP_TEST_TICKS.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

from crewtop.model.snapshot import Health, Snapshot
from crewtop.tui.app import run_screen
from crewtop.tui.options import ScreenOptions
from tests.tui.fixtures import HOSTILE, Shop, task


class Watched(Shop):
    """Tells each tick, and lets latencies jitter as they do in life."""

    beat = 0

    async def snapshot(self) -> Snapshot:
        os.write(int(os.environ["CREWTOP_TEST_TICKS"]), b".")
        self.beat += 1
        now = await super().snapshot()
        return replace(now, postgres=Health(True, 0.0010 + 0.0001 * (self.beat % 5)))


def obey(shop: Shop) -> None:
    with os.fdopen(int(os.environ["CREWTOP_TEST_ORDERS"])) as orders:
        for order in orders:
            match order.split():
                case ["tokens", number]:
                    shop.rows = tuple(
                        replace(row, tokens=int(number)) if row.id == 48_977 else row for row in shop.rows
                    )
                case ["down"]:
                    shop.down = "postgres: connection refused"
                case ["up"]:
                    shop.down = None
                case ["hostile"]:
                    shop.rows = tuple(task(49_000 + i, "failed", error=text) for i, text in enumerate(HOSTILE))


if __name__ == "__main__":
    shop = Watched()
    threading.Thread(target=obey, args=(shop,), daemon=True).start()
    raise SystemExit(run_screen(lambda: shop, ScreenOptions(interval=0.2, theme_folder=Path("/nonexistent"))))
