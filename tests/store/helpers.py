"""Words that store tests are written in."""

from __future__ import annotations

import asyncio
from typing import Any

from crewtop.model.ledger import Beat, CallEntry
from crewtop.model.operations import Action, Order, Target
from crewtop.model.task import SERVICE_LEVELS_SECONDS, Claim, Finish, Finished, NewTask, RunOutcome, portion
from crewtop.store import batch, lease, operations, producer
from crewtop.store.database import Database

LEASE = 30.0


async def put(database: Database, *crews: str, **fields: Any) -> list[int]:
    """Enqueue a task for each crew."""
    return await producer.enqueue(database, [portion([NewTask(crew, "{}", **fields) for crew in crews])])


async def take(database: Database, worker: str = "w1", limit: int = 1, crews: tuple[str, ...] = ("a",)) -> list[Claim]:
    """Claim for a worker."""
    return await lease.claim(database, worker, None, crews, limit, LEASE)


async def end(database: Database, claim: Claim, outcome: RunOutcome, worker: str = "w1", **fields: Any) -> Finished:
    """Finish one run."""
    report = report_of(claim, outcome, **fields)
    return (await lease.finish(database, worker, [report], SERVICE_LEVELS_SECONDS))[0]


def report_of(claim: Claim, outcome: RunOutcome, **fields: Any) -> Finish:
    """What a worker reports of one run."""
    return Finish(claim.run_id, claim.task_id, outcome, seconds=1.0, **fields)


async def act(
    database: Database, action: Action, *targets: Target, reason: str | None = None, **order: Any
) -> dict[int, str]:
    """Let an operator act on tasks as seen; answers what is said of each."""
    operation = await operations.begin(database, Order(action, reason=reason, **order), targets, "op")
    while (await batch.work(database, operation.id)).operation.state == "running":
        pass
    return {item.task_id: item.why for item in await operations.outcomes(database, operation.id, 10_000)}


async def expire(database: Database, task_id: int) -> None:
    """Let a lease have run out."""
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE crewtop.tasks SET lease_expires_at = now() - interval '14 s' WHERE id = $1", task_id
        )


async def due(database: Database, task_id: int) -> None:
    """Let a resting task be due."""
    async with database.connection() as connection:
        await connection.execute("UPDATE crewtop.tasks SET run_at = now() WHERE id = $1", task_id)


async def one(database: Database, query: str, *arguments: object) -> Any:
    """One value by SQL."""
    async with database.connection() as connection:
        return await connection.fetchval(query, *arguments)


async def somebody_waits(database: Database) -> None:
    """Until a statement in this database waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    for _ in range(1_000):
        if await one(database, waiting):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("nobody waits for a lock")


async def task(database: Database, task_id: int) -> dict[str, Any]:
    """A task's row."""
    async with database.connection() as connection:
        row = await connection.fetchrow("SELECT * FROM crewtop.tasks WHERE id = $1", task_id)
        assert row is not None
        return dict(row)


async def run(database: Database, run_id: int) -> dict[str, Any]:
    """A run's row."""
    async with database.connection() as connection:
        row = await connection.fetchrow("SELECT * FROM crewtop.runs WHERE id = $1", run_id)
        assert row is not None
        return dict(row)


async def counters_are_true(database: Database) -> None:
    """The counters equal a count of the tasks."""
    counted = await one(
        database,
        """SELECT count(*) FROM (
             SELECT queue, crew, status, sum(n)::bigint AS n FROM crewtop.depth GROUP BY 1, 2, 3 HAVING sum(n) <> 0
             EXCEPT SELECT queue, crew, status, count(*) FROM crewtop.tasks GROUP BY 1, 2, 3) AS wrong""",
    )
    missing = await one(
        database,
        """SELECT count(*) FROM (
             SELECT queue, crew, status, count(*) FROM crewtop.tasks GROUP BY 1, 2, 3
             EXCEPT SELECT queue, crew, status, sum(n)::bigint FROM crewtop.depth GROUP BY 1, 2, 3) AS missing""",
    )
    assert (counted, missing) == (0, 0)


async def history_is_gapless(database: Database) -> None:
    """Each task's history leads from its enqueue, which is version 1, to its status, version by version."""
    wrong = await one(
        database,
        """SELECT count(*) FROM crewtop.tasks AS t WHERE
             (SELECT array_agg(version ORDER BY version) FROM crewtop.task_history WHERE task_id = t.id)
               IS DISTINCT FROM (SELECT array_agg(v) FROM generate_series(1, t.version) AS v)
             OR t.status <> (SELECT new_status FROM crewtop.task_history AS h
                             WHERE task_id = t.id AND h.version = t.version)
             OR EXISTS (SELECT FROM crewtop.task_history AS h JOIN crewtop.task_history AS p
                          ON p.task_id = h.task_id AND p.version = h.version - 1
                        WHERE h.task_id = t.id AND h.old_status IS DISTINCT FROM p.new_status)""",
    )
    assert wrong == 0


def beat(worker: str, *claims: Claim, draining: bool = False) -> Beat:
    """A heartbeat for these claims."""
    return Beat(
        worker,
        "host",
        1,
        "boot",
        "0",
        None,
        ("a",),
        4,
        {c.run_id: c.task_id for c in claims},
        LEASE,
        draining,
        1.5,
        2**20,
    )


def call(claim: Claim, call_id: str = "c1", outcome: str = "ok", **fields: Any) -> CallEntry:
    """An LLM call of a run."""
    plain: dict[str, Any] = {
        "step_position": 1, "agent": "clerk", "provider": "openai", "model": "gpt-4.1", "started_ago": 2.0,
        "seconds": None if outcome == "started" else 1.0, "tokens": None, "cost": None, "price_source": "test",
        "usage": None, "finish_reason": None, "error": None,
    }  # fmt: skip
    return CallEntry(claim.run_id, claim.task_id, call_id, outcome=outcome, **{**plain, **fields})
