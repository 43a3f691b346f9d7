"""Calls are written down before they go out, together, and without holding one up for long."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

from crewtop.model.pricing import Tokens
from crewtop.store import ledger
from crewtop.store.database import Database
from crewtop.worker.starts import Starts
from tests.store.helpers import call, put, take


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


async def test_one_that_cannot_be_stored_spoils_no_other(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    good, bad = call(claim, call_id="good", outcome="started"), call(claim, call_id="bad\x00", outcome="started")
    starts = Starts(database)
    await asyncio.gather(starts.write(good), starts.write(bad))
    assert [row["call_id"] for row in await rows(database)] == ["good"]


async def test_without_a_database_a_call_goes_out_all_the_same() -> None:
    starts = Starts(Database("postgresql://nobody@127.0.0.1:9/nothing", application_name="test", connections=1))
    async with asyncio.timeout(10):
        await starts.write(call_of_nobody())


def call_of_nobody() -> Any:
    from crewtop.model.ledger import CallEntry

    return CallEntry(
        1, 1, "c", None, None, "openai", "m", "started", 0.0, None, None, None, "waiting", None, None, None
    )
