"""Snapshots of a real database: exact counts, merged percentiles, honest ages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import CrewtopError, Refused, Unavailable
from crewtop.model.filters import TaskFilter
from crewtop.model.ledger import BEATS_A_LEASE
from crewtop.model.money import Money
from crewtop.model.operations import Action, Order, Target
from crewtop.model.pace import last_minute
from crewtop.model.pricing import Tokens
from crewtop.model.snapshot import QueueRow
from crewtop.model.task import RunOutcome
from crewtop.monitor.monitor import Monitor
from crewtop.store import housekeeping, lease, ledger, operations, repricings
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.store.helpers import LEASE, beat, call, due, end, expire, one, put, take


@pytest.fixture
def monitor(database: Database, live: FastLane) -> Monitor:
    return Monitor(Stores(database, live, Addresses("", None, "", embedded=False)), no_progress_seconds=60)


async def queue_of(monitor: Monitor, name: str = "default") -> QueueRow:
    return next(queue for queue in (await monitor.snapshot()).queues if queue.name == name)


async def test_an_empty_database_is_a_quiet_picture(monitor: Monitor) -> None:
    snapshot = await monitor.snapshot()
    assert (snapshot.queues, snapshot.workers, snapshot.running, snapshot.backlog) == ((), (), (), 0)
    assert snapshot.wait.p95 is None
    assert snapshot.postgres.up
    assert snapshot.redis.up
    assert len(snapshot.series) == snapshot.window_seconds / snapshot.bucket_seconds


async def test_counts_are_those_of_the_tasks(database: Database, monitor: Monitor) -> None:
    await put(database, *["a"] * 6, max_attempts=1)
    done, failed, _running = await take(database, limit=3)
    await end(database, done, RunOutcome.COMPLETED, result="1")
    await end(database, failed, RunOutcome.FAILED, error="x")
    queue = await queue_of(monitor)
    assert (queue.ready, queue.running, queue.completed, queue.failed) == (3, 1, 1, 1)
    assert queue.error_rate == 0.5
    assert queue.ended == 2


async def test_rates_of_table_figure_and_chart_are_of_the_same_minute(database: Database, monitor: Monitor) -> None:
    await put(database, *["a"] * 4)
    for claim in await take(database, limit=4):
        call_made = call(claim, str(claim.run_id), tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal("0.01"))
        await ledger.record_calls(database, [call_made])
        await end(database, claim, RunOutcome.COMPLETED, result="1")
    for table in ("stats", "depth", "model_stats"):
        await one(
            database, f"UPDATE crewtop.{table} SET at = to_timestamp(extract(epoch FROM now())::bigint / 10 * 10 - 25)"
        )
    snapshot = await monitor.snapshot()
    minute, seconds = last_minute(snapshot.series, snapshot.at, snapshot.bucket_seconds)
    assert sum(point.done for point in minute) == 4
    assert snapshot.queues[0].done_per_minute == 4 * 60 / seconds
    assert float(snapshot.spend_pace.known) == pytest.approx(0.04 * 3_600 / seconds)


async def test_tasks_that_nobody_can_run_are_counted_by_themselves(database: Database, monitor: Monitor) -> None:
    await put(database, *["a"] * 3, "typo")
    queue = await queue_of(monitor)
    assert (queue.no_worker, queue.unserved) == (("a", "typo"), 4)


async def test_the_oldest_waiting_is_of_claimable_tasks_alone(database: Database, monitor: Monitor) -> None:
    """Case C11: parked, resting and running tasks do not age a queue."""
    await put(database, "a", run_at=datetime.now(UTC) + timedelta(hours=10))
    await put(database, "a")
    await take(database)
    await put(database, "a", run_at=datetime(9999, 1, 1, tzinfo=UTC))
    queue = await queue_of(monitor)
    assert (queue.oldest, queue.ready, queue.later, queue.running) == (None, 0, 2, 1)
    assert queue.next_due is not None
    [waiting] = await put(database, "a", run_at=datetime(1970, 1, 1, tzinfo=UTC))
    await one(database, "UPDATE crewtop.tasks SET run_at = now() - interval '4 s' WHERE id = $1", waiting)
    queue = await queue_of(monitor)
    assert queue.oldest is not None
    assert 4 <= queue.oldest < 60
    assert queue.ready == 1


async def test_service_levels_judge_the_first_start(database: Database, monitor: Monitor) -> None:
    quick, slow = await put(database, "a", "a", priority=1)
    await one(database, "UPDATE crewtop.tasks SET run_at = now() - interval '11 s' WHERE id = $1", slow)
    for claim in await take(database, limit=2):
        await end(database, claim, RunOutcome.FAILED, error="x", delay_seconds=0)
    await due(database, quick)
    [again] = await take(database)
    await end(database, again, RunOutcome.COMPLETED, result="1")
    queue = await queue_of(monitor)
    assert queue.level == 0.5
    assert queue.wait.n == 3


async def test_a_throttled_task_is_judged_once(database: Database, monitor: Monitor) -> None:
    await put(database, "a")
    for outcome in (RunOutcome.THROTTLED, RunOutcome.RETURNED, RunOutcome.THROTTLED, RunOutcome.COMPLETED):
        await due(database, 1)
        [claim] = await take(database)
        await end(database, claim, outcome, result="1")
    assert await one(database, "SELECT sum(met + missed) FROM crewtop.stats") == 1


async def test_more_scheduled_tasks_than_are_counted_are_still_exact(database: Database, monitor: Monitor) -> None:
    await put(database, *["a"] * 7)
    await one(
        database,
        """INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, run_at)
           SELECT 'default', 'a', 3, 'pending', '{}', now() + interval '1 d' FROM generate_series(1, 12000)""",
    )
    snapshot = await monitor.snapshot()
    queue = snapshot.queues[0]
    assert (queue.ready, queue.later) == (7, 12_000)
    assert snapshot.backlog == snapshot.series[-1].backlog == 7


async def test_todays_spend_keeps_what_has_left_the_hour(database: Database, monitor: Monitor) -> None:
    await put(database, "a")
    [claim] = await take(database)
    midnight = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
    await ledger.record_calls(database, [call(claim, "old", tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal(3))])
    await one(database, f"UPDATE crewtop.model_stats SET at = {midnight}")
    await ledger.record_calls(database, [call(claim, "new", tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal(1))])
    for _ in range(2):
        assert (await monitor.snapshot()).spend_today.known == 4


async def test_ticks_and_folds_change_no_figure(database: Database, monitor: Monitor) -> None:
    """A monitor that has watched for a while and one that has just begun say the same."""
    for _ in range(3):
        await put(database, *["a"] * 10)
        for claim in await take(database, limit=10):
            await end(database, claim, RunOutcome.COMPLETED, result="1")
        await monitor.snapshot()
        await one(database, "UPDATE crewtop.stats SET at = at - interval '6 s'")
        await housekeeping.fold(database)
    fresh = Monitor(Stores(database, FastLane(None), Addresses("", None, "", embedded=False)), 60)
    seen, anew = await monitor.snapshot(), await fresh.snapshot()
    assert anew.run.n == 30
    assert anew.queues[0].completed == 30
    assert sum(point.done for point in anew.series) == 30
    assert anew.queues == seen.queues or seen.run.n <= anew.run.n


async def test_the_backlogs_past_is_todays_less_what_changed_since(database: Database, monitor: Monitor) -> None:
    await put(database, *["a"] * 8)
    await one(database, "UPDATE crewtop.depth SET at = at - interval '5 min'")
    await put(database, *["a"] * 4)
    await take(database, limit=2)
    series = (await monitor.snapshot()).series
    assert (series[0].backlog, series[-10].backlog, series[-1].backlog) == (0, 8, 10)


async def test_spend_knows_what_it_does_not_know(database: Database, monitor: Monitor) -> None:
    await put(database, "a")
    [claim] = await take(database)
    await ledger.record_calls(
        database,
        [call(claim, "1", tokens=Tokens(1, 0, 0, 1, 0), cost=Decimal("0.25")), call(claim, "2")],
    )
    await end(database, claim, RunOutcome.COMPLETED, result="1")
    snapshot = await monitor.snapshot()
    assert snapshot.spend_per_hour == Money(Decimal("0.25"), unknown=1, calls=2)
    assert snapshot.queues[0].cost_per_1000 == Money(Decimal(250), unknown=1, calls=2)


async def test_prices_written_anew_are_seen_by_who_is_watching(database: Database, monitor: Monitor) -> None:
    await put(database, "a")
    [claim] = await take(database)
    await ledger.record_calls(database, [call(claim, cost=Decimal(1), usage="{}")])
    for table, stamp in (("llm_calls", "ended_at"), ("model_stats", "at")):
        await one(database, f"UPDATE crewtop.{table} SET {stamp} = {stamp} - interval '1 min'")
    assert (await monitor.snapshot()).spend_per_hour.known == 1
    number = await repricings.begin(database, 3_600, None, "me")
    while await repricings.work(database, number, lambda found: (Decimal(3), "new") if found.cost == 1 else None):
        pass
    assert (await monitor.snapshot()).spend_per_hour.known == 3
    assert (await monitor.snapshot()).spend_per_hour.known == 3


async def test_workers_are_late_after_three_missed_beats_and_never_vanish_with_redis(
    database: Database, tmp_path: Path
) -> None:
    away = FastLane(f"unix://{tmp_path}/none")
    monitor = Monitor(Stores(database, away, Addresses("", None, "", embedded=False)), 60)
    for worker in ("alive", "slow", "late", "stopped"):
        await lease.heartbeat(database, beat(worker))
    await lease.heartbeat(database, beat("draining", draining=True))
    silent = "UPDATE crewtop.workers SET heartbeat_at = now() - make_interval(secs => $1) WHERE id = $2"
    a_beat = LEASE / BEATS_A_LEASE
    await one(database, silent, 2 * a_beat, "slow")
    await one(database, silent, 3 * a_beat + 0.1, "late")
    await lease.stop_worker(database, "stopped")
    snapshot = await monitor.snapshot()
    assert {worker.id: worker.state for worker in snapshot.workers} == {
        "alive": "running",
        "slow": "running",
        "late": "late",
        "stopped": "stopped",
        "draining": "draining",
    }
    assert not snapshot.redis.up
    assert "none" in snapshot.redis.detail
    await away.close()


async def test_stuck_runs_come_with_their_reason(database: Database, monitor: Monitor) -> None:
    """Cases C16 and C19: the liveness clock and the progress clock are two."""
    expired, idle, slow, _fine = await put(database, *"aaaa")
    await one(database, "UPDATE crewtop.tasks SET budget_seconds = 5 WHERE id = $1", slow)
    claims = {claim.task_id: claim for claim in await take(database, limit=4)}
    await expire(database, expired)
    await one(
        database,
        """UPDATE crewtop.runs SET progress_at = now() - interval '252 s', activity = 'LLM call to gpt-4.1'
           WHERE id = $1""",
        claims[idle].run_id,
    )
    await one(
        database, "UPDATE crewtop.runs SET claimed_at = now() - interval '6 s' WHERE id = $1", claims[slow].run_id
    )
    snapshot = await monitor.snapshot()
    assert snapshot.queues[0].stuck == 3
    assert {row.task_id: row.stuck for row in snapshot.running if row.stuck} == {
        expired: "lease expired, worker gone",
        idle: "no progress in LLM call to gpt-4.1",
        slow: "over its budget of 5 s",
    }
    page = await monitor.tasks(TaskFilter(), "newest", 10)
    assert sum(row.stuck is not None for row in page.rows) == 3


async def test_acting_through_the_monitor_is_recorded(database: Database, monitor: Monitor) -> None:
    [task_id] = await put(database, "a")
    result = await monitor.act(Order(Action.CANCEL, reason="not needed"), [Target(task_id, 1)])
    assert (result.done, result.refused) == (1, ())
    assert await one(database, "SELECT actor LIKE '%@%' FROM crewtop.operations")


async def test_orders_go_to_workers_that_are_there(database: Database, monitor: Monitor) -> None:
    await lease.heartbeat(database, beat("w1"))
    await monitor.set_slots("w1", 9)
    await monitor.drain("w1")
    orders = await lease.heartbeat(database, beat("w1"))
    assert (orders.desired_slots, orders.draining) == (9, True)
    with pytest.raises(Unavailable, match="worker gone has ended"):
        await monitor.drain("gone")


async def test_a_lost_server_is_unavailable_and_a_missing_schema_names_the_command(dsn: str) -> None:
    nowhere = dsn.split("?")[0] + "?host=/nowhere"
    for address, complaint in ((nowhere, "postgres: "), (dsn.replace("/test_", "/nodb_"), "does not exist")):
        async with Database(address, application_name="t", connections=1) as database:
            with pytest.raises(CrewtopError, match=complaint):
                await Monitor(Stores(database, FastLane(None), Addresses("", None, "", embedded=False)), 60).snapshot()


async def test_charts_say_how_long_and_how_old(database: Database, monitor: Monitor) -> None:
    await put(database, *["a"] * 20)
    for claim in await take(database, limit=20):
        await end(database, claim, RunOutcome.COMPLETED, result="1")
    await put(database, "a")
    await one(database, "UPDATE crewtop.tasks SET run_at = now() - interval '4 min' WHERE status = 'pending'")
    snapshot = await monitor.snapshot()
    for point in [point for point in snapshot.series if point.done]:
        assert point.run_p50 == point.run_p95 == point.run_p99 == pytest.approx(1.0, rel=0.01)
        assert None not in (point.wait_p50, point.wait_p99)
    assert snapshot.series[0].run_p50 is None
    [seen] = [point for point in snapshot.series if point.oldest is not None]
    assert seen.oldest is not None
    assert 240 <= seen.oldest < 300


async def test_the_oldest_is_kept_as_it_was_seen(database: Database, monitor: Monitor) -> None:
    await monitor.snapshot()
    assert [point.oldest for point in (await monitor.snapshot()).series if point.oldest is not None][-1] == 0
    [waiting] = await put(database, "a")
    await one(database, "UPDATE crewtop.tasks SET run_at = now() - interval '4 min' WHERE id = $1", waiting)
    await monitor.snapshot()
    await take(database)
    assert max(point.oldest or 0 for point in (await monitor.snapshot()).series) >= 240


async def test_a_picture_says_who_looks_and_where(database: Database, monitor: Monitor) -> None:
    snapshot = await monitor.snapshot()
    assert snapshot.role == await one(database, "SELECT current_user")
    assert snapshot.host == "a local socket"
    stores = Stores(database, FastLane(None), Addresses("", None, "", embedded=True))
    assert (await Monitor(stores, 60).snapshot()).where == "embedded"


@pytest.mark.parametrize(
    ("dsn", "host"),
    [
        ("postgresql://me:secret@db1/shop", "db1"),
        ("postgresql://me:secret@db1:6432/shop", "db1:6432"),
        ("postgresql://me:se@cret@db1,db2:5433/shop", "db1,db2:5433"),
        ("postgresql:///shop?host=/run/pg", "a local socket"),
        ("postgresql:///shop?user=me&password=secret&host=db1", "db1"),
        ("postgresql://me:p/ss@db1/shop", ""),
        ("host=db1 password=secret", ""),
    ],
)
def test_where_a_database_is_tells_no_password(dsn: str, host: str) -> None:
    assert Database(dsn, application_name="t").host == host


async def test_operations_are_listed_looked_into_and_halted(database: Database, monitor: Monitor) -> None:
    ids = await put(database, *["a"] * 4)
    order = Order(Action.CANCEL)
    stale = [Target(task_id, 9 if task_id == ids[2] else 1) for task_id in ids]
    first = await operations.begin(database, order, stale, "me")
    assert (await monitor.halt(first.id, "pause")).state == "paused"
    with pytest.raises(Refused, match="is paused: it stays so"):
        await monitor.halt(first.id, "pause")
    told = [(progress.state, progress.left) async for progress in monitor.resume(first.id)]
    assert told == [("running", 4), ("done", 0)]
    outcomes = await monitor.outcomes(first.id, 3)
    assert [(item.task_id, item.done) for item in outcomes] == [(ids[2], False), (ids[0], True), (ids[1], True)]
    second = await operations.begin(database, order, [Target(ids[2], 1)], "me")
    assert (await monitor.halt(second.id, "cancel")).state == "cancelled"
    assert [operation.id for operation in await monitor.operations(10)] == [second.id, first.id]
    assert [operation.id for operation in await monitor.operations(1)] == [second.id]
    with pytest.raises(Refused, match="is cancelled: it stays so"):
        [_ async for _ in monitor.resume(second.id)]


async def test_failures_are_of_the_hours_asked_for(database: Database, monitor: Monitor) -> None:
    await put(database, "a", max_attempts=1)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="no")
    await one(database, "UPDATE crewtop.tasks SET finished_at = now() - interval '3 hours'")
    assert [group.failed for group in (await monitor.failures()).groups] == [1]
    assert (await monitor.failures(2)).groups == ()


async def test_a_worker_can_be_told_to_end_at_once(database: Database, monitor: Monitor) -> None:
    await lease.heartbeat(database, beat("w1"))
    await monitor.kill("w1")
    orders = await lease.heartbeat(database, beat("w1"))
    assert (orders.killed, orders.draining) == (True, True)


async def test_runs_whose_worker_went_away_are_counted_as_lost_and_no_others(
    database: Database, monitor: Monitor
) -> None:
    lost, done, requeued = await put(database, *["a"] * 3)
    claims = {claim.task_id: claim for claim in await take(database, limit=3)}
    await end(database, claims[done], RunOutcome.COMPLETED, result="1")
    await operations.begin(database, Order(Action.REQUEUE), [Target(requeued, 2)], "op")
    await expire(database, lost)
    await lease.rescue(database, "w2", 0.0, set(), 10)
    assert (await monitor.snapshot()).lost_runs == 1
    await one(database, "UPDATE crewtop.transitions SET at = at - interval '16 min'")
    assert (await monitor.snapshot()).lost_runs == 0


async def test_how_long_the_head_of_each_priority_waits(database: Database, monitor: Monitor) -> None:
    """Case C11: what is due later waits for nobody."""
    await put(database, "a", priority=1)
    await put(database, "a", priority=3)
    await one(database, "UPDATE crewtop.tasks SET run_at = now() - interval '40 s' WHERE priority = 3")
    await put(database, "a", priority=4)
    await one(database, "UPDATE crewtop.tasks SET run_at = now() + interval '1 h' WHERE priority = 4")
    queue = await queue_of(monitor)
    assert [wait if wait is None else round(wait / 40) for wait in queue.waits] == [None, 0, None, 1, None]
    assert queue.oldest == queue.waits[3]
    await one(database, "UPDATE crewtop.queues SET service_levels = '{1,2,3,4,5}'")
    assert (await queue_of(monitor)).service_levels == (1.0, 2.0, 3.0, 4.0, 5.0)


async def test_after_a_long_gap_what_was_folded_meanwhile_is_not_missing(database: Database, monitor: Monitor) -> None:
    """As after a laptop has slept: a minute begins before the second that was known, and holds what came after it."""
    await monitor.snapshot()
    monitor._window.since -= 4_000  # type: ignore[operator]
    await one(
        database,
        "INSERT INTO crewtop.model_stats (at, span, queue, crew, provider, model, calls, cost)"
        " VALUES (date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', 60, 'q', 'a', 'p', 'm', 1, 2.5)",
    )
    assert (await monitor.snapshot()).spend_today.known == Decimal("2.5")
