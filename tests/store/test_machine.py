"""Random producers, workers, operators and losses against a real database: the rules that always hold."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from crewtop.model.operations import NEVER_UNDONE, Action, Order, Target
from crewtop.model.task import Claim, RunOutcome, TaskStatus
from crewtop.model.transitions import Mover, exists
from crewtop.store import batch, housekeeping, lease, ledger, operations
from crewtop.store.database import Database
from tests.store.helpers import call, counters_are_true, due, end, expire, history_is_gapless, one, put, take

OUTCOMES = [
    RunOutcome.COMPLETED,
    RunOutcome.FAILED,
    RunOutcome.CRASHED,
    RunOutcome.THROTTLED,
    RunOutcome.INTERRUPTED,
    RunOutcome.RETURNED,
    RunOutcome.OVER_BUDGET,
    RunOutcome.CANCELLED,
]


ARGUMENTS: dict[Action, str | int | None] = dict.fromkeys(set(Action) - {Action.UNDO})
ARGUMENTS |= {Action.MOVE: "other", Action.PRIORITY: 0, Action.EDIT: '{"edited": true}'}

MOVERS = {
    "producer": frozenset({Mover.PRODUCER}),
    "rerun": frozenset({Mover.OPERATOR}),
    "worker": frozenset({Mover.WORKER, Mover.RESCUER, Mover.SETTLER}),
    "operator": frozenset({Mover.OPERATOR, Mover.SETTLER}),
}
"""Who may have been at work where the history names a worker or an operator."""


async def changes(database: Database) -> list[tuple[str, str | None, str]]:
    """Every kind of change in the history: who, from what, to what."""
    async with database.connection() as connection:
        return [
            tuple(row)
            for row in await connection.fetch(
                "SELECT DISTINCT actor, old_status, new_status FROM crewtop.task_history WHERE EXISTS ("
                "SELECT FROM crewtop.tasks WHERE id = task_id)"
            )
        ]


class Shop(RuleBasedStateMachine):
    """Everybody at once, step by step. Claims that ended are kept: a dead worker may always write late."""

    dsn: str
    loop: asyncio.AbstractEventLoop

    def __init__(self) -> None:
        super().__init__()
        self.database = Database(self.dsn, application_name="machine", connections=1)
        self.claims: list[Claim] = []
        self.completed: dict[int, int] = {}
        self.seen: dict[int, int] = {}
        self.do(one(self.database, "TRUNCATE crewtop.tasks CASCADE"))

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.do(self.database.close())

    @rule(n=st.integers(1, 3), attempts=st.integers(1, 3), priority=st.integers(0, 4))
    def enqueue(self, n: int, attempts: int, priority: int) -> None:
        self.do(put(self.database, *["a"] * n, max_attempts=attempts, priority=priority))

    @rule(worker=st.sampled_from(["w1", "w2"]), limit=st.integers(1, 3))
    def claim(self, worker: str, limit: int) -> None:
        for claim in self.do(take(self.database, worker, limit)):
            assert claim.task_id not in self.completed, "a completed task ran again"
            self.claims.append(claim)
            self.do(ledger.record_calls(self.database, [call(claim, outcome="started")]))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), outcome=st.sampled_from(OUTCOMES), terminal=st.booleans())
    def finish(self, data: st.DataObject, outcome: RunOutcome, terminal: bool) -> None:
        """By whoever holds the lease, or no longer does."""
        claim = data.draw(st.sampled_from(self.claims))
        owner = self.do(
            one(self.database, "SELECT run_id FROM crewtop.tasks WHERE id = $1 AND status = 'running'", claim.task_id)
        )
        done = self.do(end(self.database, claim, outcome, result="1", error="x", terminal=terminal))
        assert done.accepted == (owner == claim.run_id)
        if done.accepted and done.status == "completed":
            assert claim.task_id not in self.completed
            self.completed[claim.task_id] = claim.run_id
        self.do(ledger.close_calls(self.database, [claim.run_id]))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def lose_a_worker(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        held = "SELECT true FROM crewtop.tasks WHERE id = $1 AND status = 'running'"
        if self.do(one(self.database, held, claim.task_id)):
            self.do(expire(self.database, claim.task_id))
            self.do(lease.rescue(self.database, "w3", 0.0))

    @rule()
    def time_passes(self) -> None:
        self.do(one(self.database, "UPDATE crewtop.tasks SET run_at = now() WHERE status = 'retry'"))

    @rule()
    def an_operator_looks(self) -> None:
        async def look() -> dict[int, int]:
            async with self.database.connection() as connection:
                return dict(await connection.fetch("SELECT id, version FROM crewtop.tasks"))

        self.seen = self.do(look())

    @precondition(lambda self: self.seen)
    @rule(action=st.sampled_from(sorted(ARGUMENTS)), data=st.data())
    def an_operator_acts_on_what_was_seen(self, action: Action, data: st.DataObject) -> None:
        ids = data.draw(st.lists(st.sampled_from(sorted(self.seen)), min_size=1, max_size=4, unique=True))
        order = Order(action, ARGUMENTS[action], "because")
        operation = self.do(operations.begin(self.database, order, [Target(i, self.seen[i]) for i in ids], "op"))
        self.do(batch.work(self.database, operation.id))
        items = self.do(operations.outcomes(self.database, operation.id, 100))
        assert {item.task_id for item in items} == set(ids)
        for item in items:
            if item.done and item.task_id in self.completed:
                assert action in (Action.RERUN, Action.DELETE), "an action touched a completed task"
                if action is Action.DELETE:
                    del self.completed[item.task_id]

    @rule()
    def an_operator_thinks_better_of_it(self) -> None:
        for newest in self.do(operations.newest(self.database, 1)):
            if newest.action not in NEVER_UNDONE:
                undoing = self.do(operations.begin_undo(self.database, newest.id, "op", None, timedelta(minutes=10)))
                self.do(batch.work(self.database, undoing.id))

    @rule()
    def fold(self) -> None:
        self.do(one(self.database, "UPDATE crewtop.depth SET at = at - interval '10 s'"))
        self.do(housekeeping.fold(self.database))

    @invariant()
    def counters_equal_counts(self) -> None:
        self.do(counters_are_true(self.database))

    @invariant()
    def history_has_no_gap(self) -> None:
        self.do(history_is_gapless(self.database))

    @invariant()
    def every_change_of_status_is_in_the_table(self) -> None:
        for actor, old, new in self.do(changes(self.database)):
            movers = MOVERS[re.split("[ :]", actor)[0]]
            assert exists(movers, TaskStatus(old) if old else None, TaskStatus(new)), (actor, old, new)

    @invariant()
    def completed_stays_completed(self) -> None:
        wrong = self.do(
            one(
                self.database,
                "SELECT count(*) FROM crewtop.tasks WHERE (status = 'completed') <> (id = ANY ($1::bigint[]))",
                list(self.completed),
            )
        )
        assert wrong == 0

    @invariant()
    def every_run_has_one_owner(self) -> None:
        wrong = self.do(
            one(
                self.database,
                """SELECT count(*) FROM crewtop.tasks AS t
                   WHERE (SELECT count(*) FROM crewtop.runs WHERE task_id = t.id AND outcome = 'running')
                         <> (t.status = 'running')::integer""",
            )
        )
        assert wrong == 0

    @invariant()
    def the_bill_is_the_calls(self) -> None:
        wrong = self.do(
            one(
                self.database,
                """SELECT count(*) FROM crewtop.tasks AS t
                   WHERE (t.calls, t.unpriced_calls) <> (
                       SELECT count(*), count(*) FILTER (WHERE cost IS NULL) FROM crewtop.llm_calls
                       WHERE task_id = t.id AND outcome <> 'started')""",
            )
        )
        assert wrong == 0


@pytest.fixture
def loop_of_its_own() -> Any:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def test_whatever_happens_the_rules_hold(dsn: str, loop_of_its_own: asyncio.AbstractEventLoop) -> None:
    Shop.dsn, Shop.loop = dsn, loop_of_its_own
    run_state_machine_as_test(
        Shop,
        settings=settings(
            max_examples=12, stateful_step_count=25, deadline=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip


async def test_the_helper_that_makes_tasks_due_does(database: Database) -> None:
    [task_id] = await put(database, "a")
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="x", delay_seconds=600)
    await due(database, task_id)
    assert await take(database)
