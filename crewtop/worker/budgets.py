"""A worker's part in the budgets that it has in its configuration: it says so, and one of them judges for all."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from crewtop.model.budgets import Budget, BudgetRow, State
from crewtop.store import budgets as store
from crewtop.store.budgets import Judged
from crewtop.store.database import Database

log = structlog.get_logger()

KEEP_SECONDS = 20.0
JUDGE_SECONDS = 1.0
"""What is claimed in this second, after a budget was spent, still runs: the overshoot beside what was in flight."""


class Treasurer:
    """What a worker with budgets does again and again."""

    def __init__(self, database: Database, worker_id: str, budgets: Sequence[Budget]) -> None:
        self._database = database
        self._worker_id = worker_id
        self._budgets = budgets
        self._said: dict[tuple[str, str], State] = {}

    async def keep(self) -> None:
        """Say that the budgets are still in force."""
        await store.keep(self._database, self._worker_id, self._budgets)

    async def judge(self) -> None:
        """Hold what has spent its day, let go what may go on, and log what is new of either."""
        for judged in await store.judge(self._database):
            self._tell(judged)

    def _tell(self, judged: Judged) -> None:
        row = judged.row
        place = (row.scope, row.name)
        before = "held" if judged.was_held else self._said.get(place, "ok")
        self._said[place] = row.state
        if before == "held" and row.state != "held":
            log.info("budget goes on", **_figures(row))
        elif row.state != before and row.state in ("warn", "spent", "held"):
            log.warning("budget", state=row.state, **_figures(row))


def _figures(row: BudgetRow) -> dict[str, str | int]:
    return {"of": row.what, "day": f"{row.limit:f}", "spent": f"{row.spent:f}", "unreported_calls": row.unknown}
