"""Budgets a day: judged by one worker for all, held for every worker, let go at midnight or by a raise."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from crewtop import operations
from crewtop.live.fast_lane import FastLane
from crewtop.model.budgets import Budget, BudgetRow
from crewtop.model.errors import Refused
from crewtop.model.snapshot import Snapshot
from crewtop.model.task import Claim
from crewtop.monitor.monitor import Monitor
from crewtop.plain import snapshot_text
from crewtop.store import budgets, lease, ledger, limits
from crewtop.store.budgets import Judged
from crewtop.store.console import read_detail
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.store.helpers import beat, call, one, put, take

CREW_A = Budget("crew", "a", Decimal(20), warn=0.8, pauses=True)


async def has(database: Database, *configured: Budget, worker: str = "w1") -> None:
    """A live worker with these budgets in its configuration."""
    await lease.heartbeat(database, beat(worker))
    await budgets.keep(database, worker, configured)


async def spend(database: Database, crew: str, *amounts: str | None, queue: str = "default") -> Claim:
    """A task of a crew with a call for each amount."""
    await put(database, crew, queue=queue)
    [claim] = await take(database, crews=(crew,), limit=1)
    calls = [call(claim, str(n), cost=Decimal(a) if a is not None else None) for n, a in enumerate(amounts)]
    await ledger.record_calls(database, calls)
    return claim


async def judge(database: Database) -> dict[str, Judged]:
    return {judged.row.what: judged for judged in await budgets.judge(database, 0.0)}


async def stands(database: Database, what: str = "crew a") -> BudgetRow:
    return (await judge(database))[what].row


async def claimable(database: Database, crew: str = "a", **fields: Any) -> int:
    await put(database, crew, **fields)
    return len(await take(database, crews=(crew,), limit=100))


async def picture(database: Database, live: FastLane) -> Snapshot:
    return await Monitor(Stores(database, live, Addresses("", None, "", embedded=False)), 60.0).snapshot()


async def test_what_is_spent_is_held_and_the_others_go_on(database: Database) -> None:
    await has(database, CREW_A)
    await spend(database, "a", "19.99")
    assert (await stands(database)).state == "warn"
    assert await claimable(database) == 1
    await spend(database, "a", "0.01")
    row = await stands(database)
    assert (row.state, row.spent, row.limit) == ("held", 20, 20)
    assert await claimable(database) == 0
    assert await claimable(database, "b") == 1


async def test_an_unknown_cost_counts_for_nothing_and_is_named(database: Database) -> None:
    """Case C21."""
    await has(database, CREW_A)
    await spend(database, "a", "1.5", None, None)
    row = await stands(database)
    assert (row.state, row.spent, row.unknown) == ("ok", Decimal("1.5"), 2)


async def test_a_queue_and_all_together(database: Database) -> None:
    await has(
        database, Budget("queue", "q1", Decimal(1), 0.5, pauses=True), Budget("total", "", Decimal(3), 0.5, pauses=True)
    )
    await spend(database, "a", "1", queue="q1")
    assert {what: judged.row.state for what, judged in (await judge(database)).items()} == {
        "queue q1": "held", "the day": "ok",
    }  # fmt: skip
    assert (await claimable(database, queue="q1"), await claimable(database, queue="q2")) == (0, 1)
    await spend(database, "a", "2", queue="q2")
    assert (await stands(database, "the day")).state == "held"
    assert await claimable(database, "b", queue="q3") == 0


async def test_one_that_only_warns_holds_nothing(database: Database) -> None:
    await has(database, Budget("crew", "a", Decimal(1), 0.5, pauses=False))
    await spend(database, "a", "2")
    assert (await stands(database)).state == "spent"
    assert await claimable(database) == 1


async def test_a_raise_lets_it_go_on(database: Database) -> None:
    await has(database, CREW_A)
    await spend(database, "a", "20")
    assert (await stands(database)).state == "held"
    await has(database, Budget("crew", "a", Decimal(30), 0.8, pauses=True))
    judged = (await judge(database))["crew a"]
    assert (judged.was_held, judged.row.state) == (True, "ok")
    assert await claimable(database) == 1


async def test_midnight_lets_it_go_on_whether_anybody_judges_or_not(database: Database) -> None:
    await has(database, CREW_A)
    await spend(database, "a", "20")
    row = await stands(database)
    tomorrow = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert row.resumes_at is not None
    assert abs(row.resumes_at - tomorrow) <= timedelta(days=1)  # a test may run over midnight
    assert (row.resumes_at.astimezone(UTC).hour, row.resumes_at.minute, row.resumes_at.second) == (0, 0, 0)
    await one(database, "UPDATE crewtop.budgets SET held_until = now()")
    assert await claimable(database) == 1
    await one(database, "UPDATE crewtop.model_stats SET at = at - interval '1 day'")
    assert (await stands(database)).spent == 0


async def test_of_two_workers_the_newer_ones_figures_count_while_it_lives(database: Database) -> None:
    await has(database, CREW_A, worker="old")
    await has(database, Budget("crew", "a", Decimal(30), 0.8, pauses=True), worker="new")
    await budgets.keep(database, "old", [CREW_A])
    assert (await stands(database)).limit == 30
    await one(database, "UPDATE crewtop.budgets SET seen_at = now() - interval '2 min'")
    await budgets.keep(database, "old", [CREW_A])
    assert (await stands(database)).limit == 20


async def test_what_nobody_has_any_more_holds_nothing_and_is_not_shown(database: Database, live: FastLane) -> None:
    await has(database, CREW_A)
    await spend(database, "a", "20")
    await judge(database)
    await one(database, "UPDATE crewtop.budgets SET seen_at = now() - interval '11 min'")
    assert await claimable(database) == 1
    assert (await picture(database, live)).budgets == ()


async def test_many_judge_at_once_and_it_is_judged_once(database: Database) -> None:
    await has(database, CREW_A)
    await spend(database, "a", "20")
    judged = await asyncio.gather(*(budgets.judge(database) for _ in range(8)))
    assert sum(map(len, judged)) == 1
    assert await claimable(database) == 0


async def test_spending_while_it_is_judged_is_seen_by_the_next_and_never_lets_it_go(database: Database) -> None:
    await has(database, CREW_A)
    claims = [await spend(database, "a", "0") for _ in range(8)]
    judged: list[Judged] = []

    async def record(claim: Claim) -> None:
        for n in range(6):
            await ledger.record_calls(database, [call(claim, f"more {n}", cost=Decimal("0.5"))])
            judged.extend(await budgets.judge(database, 0.0))

    await asyncio.gather(*map(record, claims))
    assert [one.row.state for one in judged if one.was_held and one.row.state != "held"] == []
    assert (await stands(database)).state == "held"
    assert await claimable(database) == 0


async def test_a_snapshot_tells_how_budgets_stand(database: Database, live: FastLane) -> None:
    await has(database, CREW_A, Budget("queue", "default", Decimal("0.5"), 0.8, pauses=True))
    await spend(database, "a", "20", None)
    await judge(database)
    await put(database, "a")
    seen = await picture(database, live)
    by_name = {row.what: row for row in seen.budgets}
    assert (by_name["crew a"].state, by_name["crew a"].spent, by_name["crew a"].unknown) == ("held", 20, 1)
    assert by_name["crew a"].projected is not None
    assert by_name["crew a"].projected >= 20
    [queue] = seen.queues
    assert (queue.paused, queue.paused_by) == (True, "its budget")
    assert [throttle.provider for throttle in queue.throttled] == ["its budget"]
    text = " ".join(snapshot_text(seen, width=200).split())
    assert "crew a: spent, nothing more of it is claimed until" in text
    assert "at least $20.00 of $20.00 today" in text


async def test_a_queue_that_a_budget_holds_says_which_and_how_far_it_is_spent_when_it_is_resumed(
    database: Database, live: FastLane
) -> None:
    own, day = Budget("queue", "default", Decimal(20), 0.8, pauses=True), Budget("total", "", Decimal(25), 0.8, True)
    await has(database, CREW_A, own, day)
    claim = await spend(database, "a", "20.5")
    await judge(database)
    said = await operations.resume_queue(database, live, "default")
    assert said.startswith("default stays held: its budget is spent: $20.50 of $20.00; it goes on at 20")
    assert said.endswith(" 00:00Z, or once you raise [llm.budgets] queue.default and restart a worker")
    assert (await picture(database, live)).queues[0].by_budget
    await limits.pause_queue(database, "default", "me", None)
    assert not (await picture(database, live)).queues[0].by_budget
    await ledger.record_calls(database, [call(claim, "more", cost=Decimal(5))])
    await judge(database)
    said = await operations.resume_queue(database, live, "default")
    assert "the day's budget is spent: $25.50 of $25.00 and its budget is spent: $25.50 of $20.00" in said
    assert "[llm.budgets] total and [llm.budgets] queue.default" in said
    assert (await picture(database, live)).queues[0].by_budget  # the pause itself was lifted


async def test_a_queue_that_only_a_crews_budget_concerns_goes_on(database: Database, live: FastLane) -> None:
    await has(database, CREW_A)
    await spend(database, "a", "20")
    assert (await stands(database)).state == "held"
    assert await operations.resume_queue(database, live, "default") == ""
    with pytest.raises(Refused, match="there is no queue nowhere"):
        await operations.resume_queue(database, live, "nowhere")


async def test_a_task_says_that_it_waits_for_a_budget(database: Database) -> None:
    await has(database, CREW_A)
    await spend(database, "a", "20")
    await judge(database)
    [waiting] = await put(database, "a")
    detail = await read_detail(database, waiting, 60.0)
    assert detail is not None
    assert detail.waits_because is not None
    assert detail.waits_because.startswith("the budget of crew a is spent: it resumes at midnight UTC")


async def test_one_that_nobody_judges_is_unwatched(database: Database, live: FastLane) -> None:
    await has(database, CREW_A)
    await judge(database)
    await one(database, "UPDATE crewtop.budgets SET judged_at = now() - interval '2 min'")
    assert [row.state for row in (await picture(database, live)).budgets] == ["unwatched"]
