"""Sums of the ledger by anything, equal to the calls to the last digit; and calls priced again."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from crewtop.model.errors import CrewtopError
from crewtop.model.ledger import StepEntry
from crewtop.model.money import Money
from crewtop.model.pricing import Tokens
from crewtop.model.spending import Repriced, StoredCall
from crewtop.model.task import Claim, RunOutcome
from crewtop.store import costs, housekeeping, ledger, repricings
from crewtop.store.database import Database
from tests.store.helpers import call, end, one, put, take

DAY = 86_400.0
TOKENS = Tokens(input=10, cache_read=2, cache_write=1, output=5, reasoning=3)
USAGE = '{"prompt_tokens": 13, "completion_tokens": 5}'


async def spend(database: Database, crew: str, cost: str | None, queue: str = "default", **fields: object) -> Claim:
    """A task of a crew with one call, of its first step."""
    await put(database, crew, queue=queue)
    [claim] = await take(database, crews=(crew,))
    await ledger.record_steps(
        database,
        [StepEntry(claim.run_id, claim.task_id, 1, "look", "clerk", None, "running", None, None, 1.0, None)],
    )
    paid = {"cost": Decimal(cost), "tokens": TOKENS, "usage": USAGE} if cost is not None else {}
    await ledger.record_calls(database, [call(claim, **{**paid, **fields})])
    return claim


async def some(database: Database) -> None:
    """A morning of two crews, one of whose tasks failed."""
    await spend(database, "a", "0.10000000001")
    await spend(database, "a", None, queue="q2")
    await spend(database, "b", "0.2", model="gpt-4.1-mini", step_position=None)
    failed = await spend(database, "b", "1.000000000000001", queue="q2")
    await end(database, failed, RunOutcome.FAILED, error="no", terminal=True)


@pytest.mark.parametrize("by", ["crew", "model", "queue", "step", "day"])
@pytest.mark.parametrize("folded", [False, True])
async def test_sums_by_anything_equal_the_ledger_to_the_last_digit(database: Database, by: str, folded: bool) -> None:
    await some(database)
    if folded:
        await one(database, "UPDATE crewtop.model_stats SET at = at - interval '1 min'")
        await one(database, "UPDATE crewtop.llm_calls SET ended_at = ended_at - interval '1 min'")
        await housekeeping.fold(database)
    found = await costs.read(database, by, DAY)
    assert found.total == Money(Decimal("1.300000000010001"), unknown=1, calls=4)
    assert found.total.known == await one(database, "SELECT sum(cost) FROM crewtop.llm_calls")
    assert found.failed == Money(Decimal("1.000000000000001"), 0, 1)
    assert sum(row.output_tokens for row in found.rows) == 15


async def test_each_group_has_its_own_share_and_what_failed_of_it(database: Database) -> None:
    await some(database)
    shares = {
        row.name: (row.cost.known, row.cost.unknown, row.failed.calls)
        for row in (await costs.read(database, "crew", DAY)).rows
    }
    assert shares == {"b": (Decimal("1.200000000000001"), 0, 1), "a": (Decimal("0.10000000001"), 1, 0)}
    assert [row.name for row in (await costs.read(database, "queue", DAY)).rows] == ["q2", "default"]
    assert [row.name for row in (await costs.read(database, "model", DAY)).rows] == [
        "openai/gpt-4.1",
        "openai/gpt-4.1-mini",
    ]
    steps = await costs.read(database, "step", DAY)
    assert [row.name for row in steps.rows] == ["b / look", "b / no step", "a / look"]
    assert steps.notes == ()


async def test_what_was_deleted_stays_in_the_sum_by_step(database: Database) -> None:
    await some(database)
    await one(database, "DELETE FROM crewtop.llm_calls WHERE cost = 0.2")
    steps = await costs.read(database, "step", DAY)
    rest = next(row for row in steps.rows if row.name == costs.REST)
    assert (rest.cost, rest.output_tokens) == (Money(Decimal("0.2"), 0, 1), 5)
    assert steps.total == Money(Decimal("1.300000000010001"), unknown=1, calls=4)
    assert "deleted" in steps.notes[0]


async def test_what_is_older_is_left_out_by_rollup_and_call_alike(database: Database) -> None:
    await some(database)
    for table, stamp in (("model_stats", "at"), ("llm_calls", "ended_at")):
        await one(database, f"UPDATE crewtop.{table} SET {stamp} = {stamp} - interval '3 hours' WHERE cost = 0.2")
    assert (await costs.read(database, "crew", 7_200)).total == (await costs.read(database, "step", 7_200)).total
    assert (await costs.read(database, "crew", 7_200)).total.calls == 3
    assert (await costs.read(database, "crew", DAY)).total.calls == 4


async def test_an_empty_ledger_has_no_rows(database: Database) -> None:
    for by in ("crew", "step"):
        found = await costs.read(database, by, DAY)
        assert (found.rows, found.total) == ((), Money())


async def test_every_call_is_read_once_a_page_at_a_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "PAGE", 2)
    for _ in range(3):
        claim = await spend(database, "a", "1")
        await ledger.record_calls(database, [call(claim, name) for name in ("x", "y")])
    since, until = await costs.window(database, DAY)
    pages = [page async for page in costs.calls(database, since, until, None)]
    read = [(c.run_id, c.call_id) for page in pages for c in page]
    assert len(read) == len(set(read)) == 9
    assert max(map(len, pages)) <= 3
    assert [page async for page in costs.calls(database, since, until, "openai/other")] == []


def dearer(found: StoredCall) -> tuple[Decimal, str] | None:
    """A price table in which everything with usage costs three dollars."""
    return (Decimal(3), "new 2") if found.usage is not None and found.price_source != "new 2" else None


async def sums_agree(database: Database) -> None:
    """Tasks and rollups say the same as the calls that they were added up from."""
    async with database.connection() as connection:
        said, by_task, by_rollup = [
            tuple(await connection.fetchrow(query) or ())
            for query in (
                "SELECT sum(cost), count(*) FILTER (WHERE cost IS NULL) FROM crewtop.llm_calls",
                "SELECT sum(cost), sum(unpriced_calls) FROM crewtop.tasks",
                "SELECT sum(cost), sum(unpriced) FROM crewtop.model_stats",
            )
        ]
    assert said == by_task == by_rollup


async def reprice(database: Database, model: str | None = None) -> int:
    number = await repricings.begin(database, DAY, model, "me")
    while await repricings.work(database, number, dearer):
        pass
    return number


async def test_prices_written_anew_reach_tasks_and_rollups_and_are_audited(database: Database) -> None:
    await some(database)
    await spend(database, "a", None, usage=USAGE, tokens=TOKENS, price_source="unknown: not listed")
    number = await reprice(database)
    await sums_agree(database)
    assert await one(database, "SELECT count(*) FROM crewtop.llm_calls WHERE cost = 3") == 4
    assert await one(database, "SELECT count(*) FROM crewtop.llm_calls WHERE cost IS NULL") == 1, "no usage: untouched"
    told = await repricings.one(database, number)
    assert (told.actor, told.ended_at is not None) == ("me", True)
    assert told.sums == (
        Repriced("openai", "gpt-4.1", "test", "new 2", 2, 0, Decimal("1.100000000010001"), Decimal(6)),
        Repriced("openai", "gpt-4.1", "unknown: not listed", "new 2", 1, 1, Decimal(0), Decimal(3)),
        Repriced("openai", "gpt-4.1-mini", "test", "new 2", 1, 0, Decimal("0.2"), Decimal(3)),
    )


async def test_done_again_it_changes_nothing(database: Database) -> None:
    await some(database)
    await reprice(database)
    assert (await repricings.one(database, await reprice(database))).sums == ()
    await sums_agree(database)
    assert [r.id for r in await repricings.newest(database, 10)] == [2, 1]


async def test_one_model_alone(database: Database) -> None:
    await some(database)
    await reprice(database, "openai/gpt-4.1-mini")
    assert await one(database, "SELECT count(*) FROM crewtop.llm_calls WHERE cost = 3") == 1
    await sums_agree(database)


async def test_a_crash_in_the_middle_leaves_whole_portions_and_is_carried_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repricings, "PAGE", 1)
    await some(database)
    number = await repricings.begin(database, DAY, None, "me")
    await repricings.work(database, number, dearer)

    def dies(_: StoredCall) -> tuple[Decimal, str] | None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        await repricings.work(database, number, dies)
    await sums_agree(database)
    assert await repricings.unfinished(database) == [number]
    while await repricings.work(database, number, dearer):
        pass
    await sums_agree(database)
    assert await repricings.unfinished(database) == []
    assert sum(s.calls for s in (await repricings.one(database, number)).sums) == 3


async def test_two_at_once_share_the_work_and_count_nothing_twice(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repricings, "PAGE", 1)
    await some(database)
    number = await repricings.begin(database, DAY, None, "me")

    async def work() -> None:
        while await repricings.work(database, number, dearer):
            pass

    await asyncio.gather(work(), work(), work())
    await sums_agree(database)
    assert sum(s.calls for s in (await repricings.one(database, number)).sums) == 3


async def test_an_impossible_price_changes_nothing(database: Database) -> None:
    """Case C06."""
    import asyncpg

    await some(database)
    number = await repricings.begin(database, DAY, None, "me")
    with pytest.raises((asyncpg.CheckViolationError, CrewtopError)):
        await repricings.work(database, number, lambda _: (Decimal("NaN"), "broken"))
    await sums_agree(database)
