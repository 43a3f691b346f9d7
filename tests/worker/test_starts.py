"""Calls are written down before they go out, together, and without holding one up for long."""

from __future__ import annotations

import asyncio
import pickle
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
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
from tests.store.helpers import call, one, put, somebody_waits, take


async def rows(database: Database) -> list[Any]:
    async with database.connection() as connection:
        return await connection.fetch("SELECT call_id, outcome, agent, cost FROM crewtop.llm_calls ORDER BY call_id")


async def written(database: Database, number: int) -> bool:
    return len(await rows(database)) == number


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await holds():  # noqa: ASYNC110  another process writes
            await asyncio.sleep(0.01)


DIES_AT_ONCE = """
import asyncio, os, pickle, signal, sys
from crewtop.store.database import Database
from crewtop.worker.starts import Starts

async def main():
    first, *others = pickle.load(sys.stdin.buffer)
    async with Starts(Database(sys.argv[1], application_name="test")) as starts:
        await starts.write(first)
        await asyncio.gather(*map(starts.write, others))
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_call_is_on_record_if_its_worker_is_killed_the_moment_it_goes_out(database: Database, dsn: str) -> None:
    await put(database, "a")
    [claim] = await take(database)
    entries = [call(claim, call_id=str(number), outcome="started", agent=None) for number in range(4)]
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DIES_AT_ONCE, dsn, stdin=asyncio.subprocess.PIPE
    )
    await worker.communicate(pickle.dumps(entries))
    assert worker.returncode == -signal.SIGKILL
    await until(lambda: written(database, 4))


async def test_what_was_sent_on_a_connection_that_is_gone_is_sent_again(database: Database, dsn: str) -> None:
    await put(database, "a")
    [claim] = await take(database)
    async with Database(dsn, application_name="cut off") as own, Starts(own) as starts:
        await starts.write(call(claim, call_id="before", outcome="started"))
        await until(lambda: written(database, 1))
        await one(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cut off'")
        await starts.write(call(claim, call_id="after", outcome="started"))
        await until(lambda: written(database, 2))


async def test_whoever_waits_finds_its_call_on_record(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    entries = [call(claim, call_id=str(number), outcome="started", agent=None) for number in range(5)]
    async with Starts(database) as starts:
        await asyncio.gather(*map(starts.write, entries))
    assert [(row["call_id"], row["outcome"]) for row in await rows(database)] == [(str(n), "started") for n in range(5)]


async def test_what_is_told_later_adds_whose_it_is_and_how_it_ended(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    entry = call(claim, outcome="started", agent=None)
    async with Starts(database) as starts:
        await starts.write(entry)
    await ledger.record_calls(database, [replace(entry, agent="clerk")])
    [begun] = await rows(database)
    assert (begun["outcome"], begun["agent"], begun["cost"]) == ("started", "clerk", None)
    await ledger.record_calls(database, [call(claim, agent=None, tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal("0.5"))])
    async with Starts(database) as starts:
        await starts.write(entry)
    [ended] = await rows(database)
    assert (ended["outcome"], ended["agent"], ended["cost"]) == ("ok", "clerk", Decimal("0.5"))


async def test_a_call_that_never_went_out_is_forgotten_and_one_that_did_is_not(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    unsent, sent = (call(claim, call_id=name, outcome="started") for name in ("unsent", "sent"))
    async with Starts(database) as starts:
        await asyncio.gather(starts.write(unsent), starts.write(sent))
        await ledger.record_calls(database, [call(claim, call_id="sent", cost=Decimal(1))])
        starts.take_back(unsent)
        starts.take_back(sent)
    assert [row["call_id"] for row in await rows(database)] == ["sent"]


async def test_one_that_is_forgotten_while_another_is_being_so_is_forgotten_too(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    first, second = (call(claim, call_id=name, outcome="started") for name in ("first", "second"))
    async with Starts(database) as starts:
        await asyncio.gather(starts.write(first), starts.write(second))
        await until(lambda: written(database, 2))
        async with database.connection() as connection, connection.transaction():
            await connection.execute("SELECT FROM crewtop.llm_calls WHERE call_id = 'first' FOR UPDATE")
            starts.take_back(first)
            await somebody_waits(database)
            starts.take_back(second)
    assert await rows(database) == []


async def test_one_that_cannot_be_stored_spoils_no_other(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    good, bad = call(claim, call_id="good", outcome="started"), call(claim, call_id="bad\x00", outcome="started")
    async with Starts(database) as starts:
        await asyncio.gather(starts.write(good), starts.write(bad))
    assert [row["call_id"] for row in await rows(database)] == ["good"]


async def test_without_a_database_a_call_goes_out_all_the_same() -> None:
    entry = CallEntry(
        1, 1, "c", None, None, "openai", "m", "started", 0.0, None, None, None, "waiting", None, None, None
    )  # fmt: skip
    nowhere = Database("postgresql://nobody@127.0.0.1:9/nothing", application_name="test", connections=1)
    async with asyncio.timeout(10), Starts(nowhere) as starts:
        await starts.write(entry)


@pytest.fixture
async def calls(database: Database) -> AsyncIterator[Calls]:
    keys = KeyPool({})
    async with Gate(None, Rules({}, 30.0), keys) as gate, Starts(database) as starts:
        yield Calls(gate, keys, Breakers(), Routes(), listed({}), 30.0, starts)


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
    await until(lambda: written(database, 1))
    assert [(row["call_id"], row["outcome"]) for row in await rows(database)] == [("c1", "started")]
    await calls.settled(run, asdict(Settled("c1", Outcome.UNSENT, None)))
    await until(lambda: written(database, 0))


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
