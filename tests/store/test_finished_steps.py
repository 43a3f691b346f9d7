"""What a task's next run need not do again."""

from __future__ import annotations

from crewtop.model.events import DoneStep
from crewtop.model.ledger import KeptSteps, StepEntry
from crewtop.model.task import Claim, RunOutcome
from crewtop.store import console, ledger
from crewtop.store.database import Database
from tests.store.helpers import due, end, one, put, take

RECEIPT = '{"asked": "x"}'


def done(claim: Claim, position: int, output: str, status: str = "completed") -> StepEntry:
    name = f"step {position}"
    return StepEntry(
        claim.run_id, claim.task_id, position, name, "clerk", "look", status, output, None, 1.0, 2.0, RECEIPT
    )


async def claimed(database: Database) -> Claim:
    await put(database, "a", max_attempts=9)
    return (await take(database))[0]


async def next_run(database: Database, claim: Claim) -> Claim:
    await end(database, claim, RunOutcome.FAILED, error="no")
    await due(database, claim.task_id)
    return (await take(database))[0]


async def outputs(database: Database, claim: Claim) -> list[tuple[int, int, str | None]]:
    found = await ledger.finished_steps(database, claim.task_id, claim.run_id)
    return [(step["run_id"], step["position"], step["output"]) for step in found]


async def test_a_claim_tells_whether_there_was_an_earlier_run(database: Database) -> None:
    first = await claimed(database)
    second = await next_run(database, first)
    assert (first.earlier_runs > 0, second.earlier_runs > 0) == (False, True)


async def test_the_next_run_gets_the_completed_steps_alone(database: Database) -> None:
    first = await claimed(database)
    await ledger.record_steps(database, [done(first, 1, "a"), done(first, 2, "b"), done(first, 3, "c", "failed")])
    second = await next_run(database, first)
    assert await ledger.finished_steps(database, second.task_id, second.run_id) == [
        DoneStep(run_id=first.run_id, position=1, output="a", receipt=RECEIPT),
        DoneStep(run_id=first.run_id, position=2, output="b", receipt=RECEIPT),
    ]


async def test_steps_of_two_runs_are_not_mixed(database: Database) -> None:
    """The older run's second step was made of another answer to the first."""
    first = await claimed(database)
    await ledger.record_steps(database, [done(first, 1, "a"), done(first, 2, "b")])
    second = await next_run(database, first)
    await ledger.record_steps(database, [done(second, 1, "other")])
    third = await next_run(database, second)
    assert await outputs(database, third) == [(second.run_id, 1, "other")]


async def test_a_run_that_completed_nothing_hides_nothing(database: Database) -> None:
    first = await claimed(database)
    await ledger.record_steps(database, [done(first, 1, "a")])
    third = await next_run(database, await next_run(database, first))
    assert await outputs(database, third) == [(first.run_id, 1, "a")]


async def test_kept_steps_are_handed_on_with_the_outputs_of_the_run_that_made_them(database: Database) -> None:
    first = await claimed(database)
    await ledger.record_steps(database, [done(first, 1, "a"), done(first, 2, "b")])
    second = await next_run(database, first)
    await ledger.keep_steps(database, [KeptSteps(second.run_id, second.task_id, first.run_id, 1)])
    await ledger.record_steps(database, [done(second, 2, "B")])
    third = await next_run(database, second)
    assert await outputs(database, third) == [(second.run_id, 1, "a"), (second.run_id, 2, "B")]
    await ledger.keep_steps(database, [KeptSteps(third.run_id, third.task_id, second.run_id, 2)])
    detail = await console.read_detail(database, third.task_id, 60)
    assert detail is not None
    shown = [(s.position, s.resumed_from, s.output and s.output.text) for s in detail.steps if s.run_id == third.run_id]
    assert shown == [(1, first.run_id, "a"), (2, second.run_id, "B")]


async def test_a_run_that_lost_its_lease_keeps_nothing(database: Database) -> None:
    first = await claimed(database)
    await ledger.record_steps(database, [done(first, 1, "a")])
    second = await next_run(database, first)
    await end(database, second, RunOutcome.FAILED, error="no")
    await ledger.keep_steps(database, [KeptSteps(second.run_id, second.task_id, first.run_id, 1)])
    assert await one(database, "SELECT count(*) FROM crewtop.steps WHERE run_id = $1", second.run_id) == 0


async def test_steps_from_before_the_inputs_were_edited_do_not_count(database: Database) -> None:
    first = await claimed(database)
    await ledger.record_steps(database, [done(first, 1, "a")])
    second = await next_run(database, first)
    await one(database, "UPDATE crewtop.tasks SET steps_since = $1 RETURNING id", first.run_id)
    assert await outputs(database, second) == []
