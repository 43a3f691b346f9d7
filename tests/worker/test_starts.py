"""Calls are written down before they go out, together, and without holding one up for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

import pytest

from crewtop.llm.asking import CallAsk, Outcome, Settled
from crewtop.llm.breaker import Breakers
from crewtop.llm.gate import Gate, Rules
from crewtop.llm.keys import KeyPool
from crewtop.llm.routes import Routes, listed
from crewtop.model.ledger import CallEntry
from crewtop.model.pricing import Tokens
from crewtop.store import ledger
from crewtop.store.database import Database
from crewtop.worker.calls import Calls, RunsCalls
from crewtop.worker.starts import Starts
from crewtop.worker.story import Story
from tests.store.helpers import call, put, somebody_waits, take


async def rows(database: Database) -> list[Any]:
    async with database.connection() as connection:
        return await connection.fetch("SELECT call_id, outcome, agent, cost FROM crewtop.llm_calls ORDER BY call_id")


async def test_whoever_waits_finds_its_call_on_record(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    starts = Starts(database)
    entries = [call(claim, call_id=str(number), outcome="started", agent=None) for number in range(5)]
    await asyncio.gather(*map(starts.write, entries))
    assert [(row["call_id"], row["outcome"]) for row in await rows(database)] == [(str(n), "started") for n in range(5)]


async def test_what_is_told_later_adds_whose_it_is_and_how_it_ended(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    entry = call(claim, outcome="started", agent=None)
    await Starts(database).write(entry)
    await ledger.record_calls(database, [replace(entry, agent="clerk")])
    [begun] = await rows(database)
    assert (begun["outcome"], begun["agent"], begun["cost"]) == ("started", "clerk", None)
    await ledger.record_calls(database, [call(claim, agent=None, tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal("0.5"))])
    await Starts(database).write(entry)
    [ended] = await rows(database)
    assert (ended["outcome"], ended["agent"], ended["cost"]) == ("ok", "clerk", Decimal("0.5"))


async def test_a_call_that_never_went_out_is_forgotten_and_one_that_did_is_not(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    unsent, sent = (call(claim, call_id=name, outcome="started") for name in ("unsent", "sent"))
    starts = Starts(database)
    await asyncio.gather(starts.write(unsent), starts.write(sent))
    await ledger.record_calls(database, [call(claim, call_id="sent", cost=Decimal(1))])
    starts.take_back(unsent)
    starts.take_back(sent)
    async with asyncio.timeout(10):
        while len(await rows(database)) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert [row["call_id"] for row in await rows(database)] == ["sent"]


async def test_one_that_is_forgotten_while_another_is_being_so_is_forgotten_too(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    first, second = (call(claim, call_id=name, outcome="started") for name in ("first", "second"))
    starts = Starts(database)
    await asyncio.gather(starts.write(first), starts.write(second))
    async with database.connection() as connection, connection.transaction():
        await connection.execute("SELECT FROM crewtop.llm_calls WHERE call_id = 'first' FOR UPDATE")
        starts.take_back(first)
        await somebody_waits(database)
        starts.take_back(second)
    async with asyncio.timeout(10):
        while await rows(database):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_one_that_cannot_be_stored_spoils_no_other(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    good, bad = call(claim, call_id="good", outcome="started"), call(claim, call_id="bad\x00", outcome="started")
    starts = Starts(database)
    await asyncio.gather(starts.write(good), starts.write(bad))
    assert [row["call_id"] for row in await rows(database)] == ["good"]


async def test_without_a_database_a_call_goes_out_all_the_same() -> None:
    entry = CallEntry(
        1, 1, "c", None, None, "openai", "m", "started", 0.0, None, None, None, "waiting", None, None, None
    )  # fmt: skip
    starts = Starts(Database("postgresql://nobody@127.0.0.1:9/nothing", application_name="test", connections=1))
    async with asyncio.timeout(10):
        await starts.write(entry)


@pytest.fixture
async def calls(database: Database) -> AsyncIterator[Calls]:
    keys = KeyPool({})
    async with Gate(None, Rules({}, 30.0), keys) as gate:
        yield Calls(gate, keys, Breakers(), Routes(), listed({}), 30.0, Starts(database))


async def let_out(calls: Calls, run: RunsCalls) -> None:
    """A call asks, and has its answer."""
    answered = asyncio.Event()
    ask = CallAsk("c1", "openai", "gpt-4.1", 500, "a", "default", 3, step=2)
    calls.asked(run, asdict(ask), lambda _: answered.set())
    async with asyncio.timeout(10):
        await answered.wait()


async def test_a_permit_comes_after_the_row_and_a_model_that_tells_nothing_of_its_call_leaves_none(
    database: Database, calls: Calls
) -> None:
    await put(database, "a")
    [claim] = await take(database)
    story = Story(claim, {})
    run = RunsCalls(story.let_out, asked=story.asked)
    await let_out(calls, run)
    assert [(row["call_id"], row["outcome"]) for row in await rows(database)] == [("c1", "started")]
    await calls.settled(run, asdict(Settled("c1", Outcome.UNSENT, None)))
    async with asyncio.timeout(10):
        while await rows(database):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_call_that_was_out_when_its_run_ended_is_closed_even_if_it_told_nothing(
    database: Database, calls: Calls
) -> None:
    await put(database, "a")
    [claim] = await take(database)
    story = Story(claim, {})
    run = RunsCalls(story.let_out, asked=story.asked)
    await let_out(calls, run)
    assert not run.cut
    calls.over(run)
    assert run.cut
