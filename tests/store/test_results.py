"""Results as they come: none left out, none twice, in the order of their ends, and no more than a page in memory."""

from __future__ import annotations

import asyncio
import sys

import asyncpg
import pytest

from crewtop.model.errors import Refused
from crewtop.model.filters import parse
from crewtop.model.results import START, Cursor, Result
from crewtop.model.task import RunOutcome
from crewtop.store import results
from crewtop.store.database import Database
from tests.store.helpers import end, one, put, somebody_waits, take

EVERYTHING = parse("")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here takes long."""
    monkeypatch.setattr(results, "BEGUN_SECONDS", 0.01)
    monkeypatch.setattr(results, "POLL_SECONDS", 0.01)


async def complete(database: Database, *values: str, crew: str = "a") -> list[int]:
    """Completed tasks with these results, each of a statement of its own."""
    done = []
    for value in values:
        await put(database, crew)
        [claim] = await take(database, crews=(crew,))
        await end(database, claim, RunOutcome.COMPLETED, result=value)
        done.append(claim.task_id)
    return done


async def read(database: Database, words: str = "", after: Cursor = START) -> list[Result]:
    return [r async for page in results.pages(database, parse(words), 60.0, after, follow=False) for r in page]


async def test_results_come_in_the_order_of_their_ends(database: Database) -> None:
    await put(database, "a", "a", "a")
    first, second, third = await take(database, limit=3)
    for claim in (third, first):
        await end(database, claim, RunOutcome.COMPLETED, result=f'"of {claim.task_id}"')
    await end(database, second, RunOutcome.FAILED, error="no", terminal=True)
    found = await read(database)
    assert [(r.task_id, r.value) for r in found] == [
        (third.task_id, f'"of {third.task_id}"'), (first.task_id, f'"of {first.task_id}"'),
    ]  # fmt: skip


async def test_a_page_after_the_other_and_from_any_place_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "PAGE", 2)
    done = await complete(database, *map(str, range(5)))
    sizes = [len(page) async for page in results.pages(database, EVERYTHING, 60.0, follow=False)]
    assert sizes == [2, 2, 1]
    found = await read(database)
    assert [r.task_id for r in found] == done
    place = Cursor.of(str(found[2].cursor))
    assert [r.task_id for r in await read(database, after=place)] == done[3:]
    assert await read(database, after=found[-1].cursor) == []


async def test_only_what_matches(database: Database) -> None:
    await complete(database, "1", "2")
    [other] = await complete(database, "3", crew="b")
    assert [r.task_id for r in await read(database, "crew:b")] == [other]
    assert await read(database, "status:failed") == []


async def test_a_page_of_long_results_is_short(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "PAGE_BYTES", 100)
    await complete(database, *(f'"{letter * 90}"' for letter in "abc"))
    sizes = [len(page) async for page in results.pages(database, EVERYTHING, 60.0, follow=False)]
    assert sizes == [2, 1]


async def test_followed_they_come_as_tasks_complete(database: Database) -> None:
    [first] = await complete(database, "1")
    seen: list[int] = []
    finishing = asyncio.create_task(complete(database, "2", "3"))
    async with asyncio.timeout(20):
        async for page in results.pages(database, EVERYTHING, 60.0, follow=True):
            seen.extend(r.task_id for r in page)
            if len(seen) >= 3:
                break
    assert seen == [first, *await finishing]


async def test_an_end_that_is_seen_later_than_a_later_one_is_not_left_out(database: Database, dsn: str) -> None:
    """Its stamp is of when its statement began: somebody who had gone past it would never come back."""
    await put(database, "a", "a")
    early, late = await take(database, limit=2)
    holder = await asyncpg.connect(dsn)
    transaction = holder.transaction()
    await transaction.start()
    await holder.execute("SELECT FROM crewtop.tasks WHERE id = $1 FOR UPDATE", early.task_id)
    stuck = asyncio.create_task(end(database, early, RunOutcome.COMPLETED, result="1"))
    await somebody_waits(database)
    await end(database, late, RunOutcome.COMPLETED, result="2")
    reading = asyncio.create_task(read(database))
    await transaction.rollback()
    await holder.close()
    await stuck
    assert [r.task_id for r in await reading] == [early.task_id, late.task_id]


async def test_memory_stays_flat_over_a_hundred_thousand_results(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(
            """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, finished_at, run_id)
               SELECT 'q', 'a', 3, 'completed', '{}', now() - make_interval(secs => n / 1000.0), n
               FROM generate_series(1, 100000) AS n""",
            timeout=60,
        )
        await connection.execute(
            """INSERT INTO crewtop.runs (id, task_id, worker_id, outcome, waited_seconds, result)
               SELECT run_id, id, 'w', 'completed', 0, to_json(repeat('x', 200)) FROM crewtop.tasks""",
            timeout=60,
        )
    seen, held = 0, []
    before: Cursor = START
    async for page in results.pages(database, EVERYTHING, 60.0, follow=False):
        assert before < page[0].cursor <= page[-1].cursor
        seen, before = seen + len(page), page[-1].cursor
        held.append(sys.getallocatedblocks())
    assert (seen, len(held)) == (100_000, 100_000 // results.PAGE)
    grown = max(held[1:]) - held[1]
    assert grown < 20 * results.PAGE, "a result takes five blocks and more: all of them would be half a million"


async def test_pages_are_read_by_their_index(database: Database) -> None:
    plan = await one(
        database, "SELECT indexdef FROM pg_indexes WHERE indexname = 'tasks_completed' AND schemaname = 'crewtop'"
    )
    assert "(finished_at, id)" in plan


@pytest.mark.parametrize("typed", ["", "1", "2026-01-01T00:00:00.000000Z", "2026-13-01T00:00:00.000000Z/1", "x/1"])
def test_what_is_no_cursor_is_refused(typed: str) -> None:
    with pytest.raises(Refused, match="is no cursor"):
        Cursor.of(typed)
