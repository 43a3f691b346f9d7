"""LLM calls and steps: each counted once, unknown kept apart from zero, kept whatever becomes of the run."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from crewtop.model.filters import TaskFilter
from crewtop.model.ledger import Progress, StepEntry
from crewtop.model.money import Money
from crewtop.model.pricing import Tokens
from crewtop.model.task import Claim, RunOutcome
from crewtop.store import console, lease, ledger, tasklist
from crewtop.store.database import Database, statement
from tests.store.helpers import call, end, expire, one, put, run, somebody_waits, take, task

TOKENS = Tokens(input=10, cache_read=2, cache_write=1, output=5, reasoning=3)


def step(claim: Claim, position: int, status: str = "running", output: str | None = None) -> StepEntry:
    return StepEntry(
        claim.run_id,
        claim.task_id,
        position,
        f"step {position}",
        "clerk",
        "look it up",
        status,
        output,
        None,
        1.0,
        None,
    )


async def started(database: Database) -> Claim:
    await put(database, "a")
    return (await take(database))[0]


async def cost(database: Database) -> Money:
    page = await tasklist.list_tasks(database, TaskFilter(), "newest", 1, 60)
    return page.rows[0].cost


async def test_a_call_is_charged_once_however_often_it_is_reported(database: Database) -> None:
    claim = await started(database)
    done = call(claim, tokens=TOKENS, cost=Decimal("0.00123"), usage='{"prompt_tokens": 13}')
    await ledger.record_calls(database, [call(claim, outcome="started")])
    for _ in range(3):
        await ledger.record_calls(database, [done])
    row = await task(database, claim.task_id)
    assert (row["calls"], row["tokens"], row["cost"], row["unpriced_calls"]) == (1, 18, Decimal("0.00123"), 0)
    assert await one(database, "SELECT sum(calls) FROM crewtop.model_stats") == 1
    assert await one(database, "SELECT outcome FROM crewtop.llm_calls") == "ok"


async def test_unknown_cost_makes_the_sum_a_lower_bound(database: Database) -> None:
    """Case C21: missing is unknown, not zero."""
    claim = await started(database)
    await ledger.record_calls(
        database,
        [
            call(claim, "priced", tokens=TOKENS, cost=Decimal("0.41")),
            call(claim, "streamed"),
            call(claim, "failed", outcome="error"),
        ],
    )
    assert await cost(database) == Money(Decimal("0.41"), unknown=2, calls=3)
    assert await one(database, "SELECT input_tokens FROM crewtop.llm_calls WHERE call_id = 'streamed'") is None


async def test_a_failed_run_keeps_what_it_cost(database: Database) -> None:
    claim = await started(database)
    await ledger.record_calls(database, [call(claim, tokens=TOKENS, cost=Decimal("1.5"))])
    await end(database, claim, RunOutcome.FAILED, error="no", terminal=True)
    assert await cost(database) == Money(Decimal("1.5"), 0, 1)


async def test_a_call_that_never_got_an_answer_is_killed_at_unknown_cost(database: Database) -> None:
    claim = await started(database)
    await ledger.record_calls(database, [call(claim, outcome="started")])
    await ledger.close_calls(database, [claim.run_id])
    assert await one(database, "SELECT outcome FROM crewtop.llm_calls") == "started"
    await end(database, claim, RunOutcome.OVER_BUDGET, error="too long")
    await ledger.close_calls(database, [claim.run_id])
    await ledger.close_calls(database, None)
    assert await one(database, "SELECT outcome FROM crewtop.llm_calls") == "killed"
    assert await cost(database) == Money(Decimal(0), unknown=1, calls=1)


async def test_an_answer_that_comes_after_all_replaces_the_unknown(database: Database) -> None:
    """A worker that was cut off for a lease knows what the call cost."""
    claim = await started(database)
    await ledger.record_calls(database, [call(claim, outcome="started")])
    await expire(database, claim.task_id)
    await lease.rescue(database, "w2", 0.0)
    await ledger.close_calls(database, [claim.run_id])
    assert await cost(database) == Money(Decimal(0), unknown=1, calls=1)
    for _ in range(2):
        await ledger.record_calls(database, [call(claim, tokens=TOKENS, cost=Decimal("0.5"))])
    assert await cost(database) == Money(Decimal("0.5"), unknown=0, calls=1)
    sums = "SELECT (sum(calls), sum(errors), sum(unpriced), sum(cost))::text FROM crewtop.model_stats"
    assert await one(database, sums) == "(1,0,0,0.5)"


async def test_an_answer_that_comes_while_it_is_written_off_is_counted_once(database: Database) -> None:
    claim = await started(database)
    await ledger.record_calls(database, [call(claim, outcome="started")])
    await end(database, claim, RunOutcome.CRASHED)
    async with database.connection() as connection:
        async with connection.transaction():
            await connection.execute(statement("close_calls"), [claim.run_id], 0.0)
            answered = asyncio.create_task(ledger.record_calls(database, [call(claim, cost=Decimal("0.5"))]))
            await somebody_waits(database)
        await answered
    assert await cost(database) == Money(Decimal("0.5"), unknown=0, calls=1)
    sums = "SELECT (sum(calls), sum(errors), sum(unpriced), sum(cost))::text FROM crewtop.model_stats"
    assert await one(database, sums) == "(1,0,0,0.5)"


async def test_what_was_written_off_is_made_good_in_the_rollup_of_that_time(database: Database) -> None:
    """Else a later window would count a call less than none, and the model that answered one more than it had."""
    claim = await started(database)
    await ledger.record_calls(database, [call(claim, outcome="started")])
    await end(database, claim, RunOutcome.OVER_BUDGET, error="too long")
    await ledger.close_calls(database, [claim.run_id])
    for table, stamp in (("llm_calls", "ended_at"), ("model_stats", "at")):
        await one(database, f"UPDATE crewtop.{table} SET {stamp} = {stamp} - interval '1 day'")
    await ledger.record_calls(database, [call(claim, model="another", tokens=TOKENS, cost=Decimal("0.5"))])
    assert await one(database, "SELECT max(at) < now() - interval '23 hours' FROM crewtop.model_stats")
    async with database.connection() as connection:
        rows = await connection.fetch(
            """SELECT model, sum(calls), sum(errors), sum(unpriced), sum(cost) FROM crewtop.model_stats
               GROUP BY model ORDER BY model"""
        )
    assert [tuple(row) for row in rows] == [("another", 1, 0, 0, Decimal("0.5")), ("gpt-4.1", 0, 0, 0, 0)]


async def test_a_call_tells_what_routed_held_back_and_cut_it(database: Database) -> None:
    claim = await started(database)
    told = {
        "route": '{"reason": "rule 1 names it"}', "estimated_tokens": 900, "context_cut": "2 oldest tool outputs",
        "waited_seconds": 1.5, "key_tail": "x9Zq",
    }  # fmt: skip
    clamped = Tokens(0, 10, 0, 5, 0, clamped=True)
    await ledger.record_calls(database, [call(claim, outcome="started", **told)])
    await ledger.record_calls(database, [call(claim, tokens=clamped, cost=Decimal(1))])
    detail = await console.read_detail(database, claim.task_id, 60)
    assert detail is not None
    [found] = detail.calls
    assert {name: getattr(found, name) for name in told} == told
    assert found.clamped
    assert (await task(database, claim.task_id))["tokens"] == 15, "an estimate is part of no sum"


async def test_more_than_the_end_of_a_key_is_refused(database: Database) -> None:
    """Case X5."""
    import asyncpg

    claim = await started(database)
    with pytest.raises(asyncpg.CheckViolationError):
        await ledger.record_calls(database, [call(claim, key_tail="sk-x9Zq")])


async def test_money_is_recorded_even_when_the_lease_is_gone(database: Database) -> None:
    claim = await started(database)
    await expire(database, claim.task_id)
    await lease.rescue(database, "w2", 0.0)
    await ledger.record_calls(database, [call(claim, tokens=TOKENS, cost=Decimal("0.5"))])
    await ledger.record_steps(database, [step(claim, 1)])
    assert await cost(database) == Money(Decimal("0.5"), 0, 1)
    assert await one(database, "SELECT count(*) FROM crewtop.steps") == 0


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-0.01"])
async def test_the_database_itself_refuses_impossible_money(database: Database, bad: str) -> None:
    """Case C06: CHECK (cost >= 0) alone would let NaN and Infinity in."""
    import asyncpg

    claim = await started(database)
    with pytest.raises(asyncpg.CheckViolationError):
        await ledger.record_calls(database, [call(claim, cost=Decimal(bad))])


async def test_steps_and_progress_show_where_a_run_is(database: Database) -> None:
    claim = await started(database)
    await ledger.record_steps(database, [step(claim, 1), step(claim, 2)])
    await ledger.record_steps(database, [step(claim, 1, "completed", "found it")])
    await ledger.record_progress(
        database, [Progress(claim.run_id, claim.task_id, 2, 3, "analyst", "LLM call to gpt-4.1", 0.5)]
    )
    row = await run(database, claim.run_id)
    assert (row["step_position"], row["step_count"], row["agent"]) == (2, 3, "analyst")
    detail = await console.read_detail(database, claim.task_id, 60)
    assert detail is not None
    assert [(s.position, s.status, s.output and s.output.text) for s in detail.steps] == [
        (1, "completed", "found it"),
        (2, "running", None),
    ]


async def test_a_steps_end_is_final(database: Database) -> None:
    claim = await started(database)
    await ledger.record_steps(database, [step(claim, 1)])
    await ledger.record_steps(database, [step(claim, 1, "completed", "first")])
    await ledger.record_steps(database, [step(claim, 1, "completed", "second")])
    assert await one(database, "SELECT output FROM crewtop.steps") == "first"
