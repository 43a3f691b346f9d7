"""The recorder keeps what the database cannot take, and one bad row spoils no other."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import asyncpg
import pytest

from crewtop.live.fast_lane import FastLane
from crewtop.model.ledger import Progress, StepEntry
from crewtop.model.pricing import Tokens
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Claim, Finish, Finished, RunOutcome, TaskStatus
from crewtop.store.database import Database
from crewtop.worker.recorder import Recorder
from crewtop.worker.telling import Telling
from tests.store.helpers import call, one, put, run, take, task


class Told:
    """Remembers what became of ended runs."""

    def __init__(self) -> None:
        self.ended: list[Finished] = []

    async def __call__(self, ended: list[Finished]) -> None:
        self.ended += ended


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def recorder(database: Database, told: Told) -> Recorder:
    return Recorder(database, "w1", SERVICE_LEVELS_SECONDS, told, Telling(FastLane(None), "w1"))


async def test_a_call_that_starts_and_ends_between_two_writes_is_one_entry(
    database: Database, recorder: Recorder
) -> None:
    await put(database, "a")
    [claim] = await take(database)
    await recorder.add([call(claim, outcome="started")])
    await recorder.add([call(claim, tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal("0.5"))])
    assert await recorder.flush()
    assert (await task(database, claim.task_id))["cost"] == Decimal("0.5")


async def test_news_of_progress_keeps_what_later_news_does_not_know(database: Database, recorder: Recorder) -> None:
    await put(database, "a")
    [claim] = await take(database)
    await recorder.add([Progress(claim.run_id, claim.task_id, 2, 3, "analyst", "thinking", 0.0)])
    await recorder.add([Progress(claim.run_id, claim.task_id, None, 3, None, "tool search", 0.0)])
    assert await recorder.flush()
    row = await run(database, claim.run_id)
    assert (row["step_position"], row["agent"], row["activity"]) == (2, "analyst", "tool search")


def _step(claim: Claim, status: str) -> StepEntry:
    return StepEntry(claim.run_id, claim.task_id, 1, "look", None, None, status, None, None, 0.0, None)


async def test_a_call_waits_until_the_step_before_it_is_stored(database: Database, recorder: Recorder) -> None:
    """What is killed while its next call is out has the step to resume from."""
    await put(database, *"aa")
    claims = await take(database, limit=2)
    await recorder.add([_step(claims[0], "completed"), _step(claims[1], "running")])
    await asyncio.wait_for(recorder.kept(claims[1].run_id), 10)  # a step that goes on holds nothing up
    waiting = asyncio.create_task(recorder.kept(claims[0].run_id))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert await recorder.flush()
    await waiting
    assert await one(database, "SELECT count(*) FROM crewtop.steps WHERE status = 'completed'") == 1


async def test_fifty_ends_of_which_one_cannot_be_stored(database: Database, recorder: Recorder, told: Told) -> None:
    """Case C05: the other rows commit, and the spoiler's end is recorded too."""
    await put(database, *["a"] * 50)
    claims = await take(database, limit=50)
    for claim in claims:
        bad = claim is claims[17]
        result = "{not json" if bad else "1"
        recorder.finish([(Finish(claim.run_id, claim.task_id, RunOutcome.COMPLETED, 1.0, result=result), False)])
    assert await recorder.flush()
    assert len(told.ended) == 50
    assert await one(database, "SELECT count(*) FROM crewtop.tasks WHERE status = 'completed'") == 50
    assert "could not be stored" in (await run(database, claims[17].run_id))["error"]
    assert recorder.unstored() == {}


async def test_a_call_with_an_impossible_price_stays_on_the_bill_as_unknown(
    database: Database, recorder: Recorder
) -> None:
    await put(database, *"aa")
    claims = await take(database, limit=2)
    await recorder.add([replace(call(claims[0]), cost=Decimal("NaN")), call(claims[1], cost=Decimal("0.25"))])
    assert await recorder.flush()
    assert await one(database, "SELECT array_agg(unpriced_calls ORDER BY id) FROM crewtop.tasks") == [1, 0]
    assert await one(database, "SELECT sum(cost) FROM crewtop.tasks") == Decimal("0.25")


async def test_what_cannot_be_written_now_is_kept_with_its_lease_and_written_later(
    dsn: str, database: Database, told: Told
) -> None:
    """Case C14: a finished result is never bought again because the database was away."""
    away = Database(dsn.replace("/test_", "/none_"), application_name="away", connections=1)
    recorder = Recorder(away, "w1", SERVICE_LEVELS_SECONDS, told, Telling(FastLane(None), "w1"))
    await put(database, "a")
    [claim] = await take(database)
    recorder.finish([(Finish(claim.run_id, claim.task_id, RunOutcome.COMPLETED, 1.0, result='"dear"'), False)])
    assert not await recorder.flush()
    assert not await recorder.flush()
    assert recorder.unstored() == {claim.run_id: claim.task_id}
    away.dsn = dsn
    await away.close()
    assert await recorder.flush()
    [ended] = told.ended
    assert ended[:4] == (claim.run_id, claim.task_id, True, TaskStatus.COMPLETED)
    assert (await run(database, claim.run_id))["result"] == '"dear"'
    await away.close()


async def test_a_cancelled_write_forgets_nothing(database: Database, dsn: str, recorder: Recorder) -> None:
    """A worker that drains cancels its recorder in the middle of a statement, and writes the rest itself."""
    await put(database, "a")
    [claim] = await take(database)
    holder = await asyncpg.connect(dsn)
    try:
        async with holder.transaction():
            await holder.execute("SELECT FROM crewtop.tasks FOR UPDATE")
            await recorder.add([call(claim, tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal("0.5"))])
            recorder.finish([(Finish(claim.run_id, claim.task_id, RunOutcome.COMPLETED, 1.0, result="1"), False)])
            writing = asyncio.create_task(recorder.flush())
            waits = (
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            while not await holder.fetchval(waits):  # noqa: ASYNC110  what is awaited lives in the database
                await asyncio.sleep(0.01)
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
    finally:
        await holder.close()
    assert await recorder.flush()
    row = await task(database, claim.task_id)
    assert (row["status"], row["cost"], row["calls"]) == ("completed", Decimal("0.5"), 1)


async def test_large_results_go_in_portions(database: Database, recorder: Recorder, told: Told) -> None:
    await put(database, *["a"] * 5)
    for claim in await take(database, limit=5):
        large = '"' + "x" * 9_000_000 + '"'
        recorder.finish([(Finish(claim.run_id, claim.task_id, RunOutcome.COMPLETED, 1.0, result=large), False)])
    assert await recorder.flush()
    assert await one(database, "SELECT sum(octet_length(result::text)) FROM crewtop.runs") == 5 * 9_000_002
