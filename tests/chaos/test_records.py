"""What the chaos run calls a wrong counter."""

from __future__ import annotations

import pytest

from crewtop.model.task import RunOutcome
from crewtop.store import housekeeping
from crewtop.store.database import Database
from tests.chaos.records import CREWTOP_FAULTS
from tests.store.helpers import end, one, put, take


@pytest.mark.parametrize(
    ("spoil", "wrong"),
    [
        ("SELECT 1", 0),
        ("DELETE FROM crewtop.depth WHERE status = 'pending' AND crew = 'b'", 1),
        ("UPDATE crewtop.depth SET n = n + 1 WHERE status = 'completed' AND n > 0", 1),
        ("INSERT INTO crewtop.depth (queue, crew, status, n) VALUES ('elsewhere', 'a', 'running', 1)", 1),
        ("DELETE FROM crewtop.stats", 1),
        ("UPDATE crewtop.stats SET completed = completed + 1", 1),
    ],
)
async def test_every_counter_that_differs_from_a_count_is_found(database: Database, spoil: str, wrong: int) -> None:
    await put(database, "a", "a", "b")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.COMPLETED)
    await housekeeping.fold(database)
    await one(database, spoil)
    async with database.connection() as connection:
        assert tuple(await connection.fetchrow(CREWTOP_FAULTS)) == (0, wrong, 0)
