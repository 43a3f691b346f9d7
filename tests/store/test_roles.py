"""Who may do what, with real roles: a viewer looks, an operator acts, a worker works, and none changes the schema."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from crewtop.live.fast_lane import FastLane
from crewtop.model.errors import CrewtopError
from crewtop.model.operations import Action, Target
from crewtop.model.task import RunOutcome
from crewtop.monitor.monitor import Monitor
from crewtop.queue import Queue
from crewtop.store import alerts, housekeeping, lease, ledger, limits, operations, repricings, schema
from crewtop.store import schedules as store
from crewtop.store.database import Database
from crewtop.stores import Addresses, Stores
from tests.store.helpers import act, beat, call, counters_are_true, end, expire, one, put, take, task

# Roles belong to the whole server: what two processes granted at once, one of them would be refused.
pytestmark = pytest.mark.xdist_group("roles")


@pytest.fixture
async def people(database: Database, dsn: str) -> AsyncIterator[dict[str, Database]]:
    """A connection for somebody of each role."""
    await schema.apply_roles(database)
    await schema.apply_roles(database)  # as after an upgrade
    opened: dict[str, Database] = {}
    for part in ("viewer", "operator", "worker"):
        name = f"{part}_{uuid.uuid4().hex[:8]}"
        await one(database, f"CREATE ROLE {name} LOGIN IN ROLE crewtop_{part}")
        own = dsn.replace("postgresql://postgres@", f"postgresql://{name}@")
        opened[part] = Database(own, application_name=part, connections=2)
    yield opened
    for part, connection in opened.items():
        name = await one(connection, "SELECT current_user")
        assert name.startswith(part)
        await connection.close()
        await one(database, f"DROP ROLE {name}")


def monitor(database: Database, live: FastLane) -> Monitor:
    return Monitor(Stores(database, live, Addresses("", None, "", embedded=False)), 60.0)


async def test_a_viewer_sees_everything_and_changes_nothing(
    people: dict[str, Database], database: Database, live: FastLane
) -> None:
    [first] = await put(database, "a")
    screen = monitor(people["viewer"], live)
    picture = await screen.snapshot()
    assert picture.read_only
    assert picture.queues[0].ready == 1
    story = await screen.detail(first)
    assert story is not None
    assert story.history
    assert await store.every_schedule(people["viewer"]) == []
    with pytest.raises(CrewtopError, match=r"permission denied .* ask for the role, or use another DSN"):
        await act(people["viewer"], Action.CANCEL, Target(first, 1))
    for table in ("tasks", "runs", "queues", "settings", "operations"):
        with pytest.raises(CrewtopError, match="permission denied"):
            await one(people["viewer"], f"DELETE FROM crewtop.{table}")
    assert (await task(database, first))["status"] == "pending"


async def test_an_operator_acts(people: dict[str, Database], database: Database, live: FastLane) -> None:
    operator = people["operator"]
    assert not (await monitor(operator, live).snapshot()).read_only
    running, failed, waiting, moved, gone = await put(database, *"aaaaa")
    claims = {claim.task_id: claim for claim in await take(database, limit=2)}
    await end(database, claims[failed], RunOutcome.FAILED, error="no", terminal=True)
    await end(database, (await take(database, limit=1))[0], RunOutcome.COMPLETED)
    orders: list[tuple[Action, int, dict[str, Any]]] = [
        (Action.REQUEUE, running, {}),
        (Action.RETRY, failed, {}),
        (Action.PRIORITY, moved, {"argument": 1}),
        (Action.MOVE, moved, {"argument": "elsewhere"}),
        (Action.RERUN, waiting, {}),
        (Action.CANCEL, moved, {}),
        (Action.DELETE, gone, {}),
    ]
    for action, task_id, more in orders:
        version = (await task(database, task_id))["version"]
        said = await act(operator, action, Target(task_id, version), **more)
        assert not said[task_id].startswith("not "), (action, said)
    undone = await operations.begin_undo(operator, 6, "op", None, timedelta(minutes=5))
    assert undone.total == 1
    await limits.pause_queue(operator, "default", "op", None)
    await limits.resume_queue(operator, "default")
    await counters_are_true(database)


async def test_an_operator_can_not_rewrite_the_audit(people: dict[str, Database], database: Database) -> None:
    [first] = await put(database, "a")
    await act(people["operator"], Action.CANCEL, Target(first, 1))
    assert await one(database, "SELECT role FROM crewtop.operations") == await one(
        people["operator"], "SELECT current_user"
    )
    for change in (
        "UPDATE crewtop.operations SET actor = 'somebody else'",
        "UPDATE crewtop.operation_items SET task_id = 7",
        "DELETE FROM crewtop.operations",
        "DELETE FROM crewtop.operation_items",
    ):
        with pytest.raises(CrewtopError, match="permission denied"):
            await one(people["operator"], change)


async def test_a_worker_works_and_a_producer_produces(
    people: dict[str, Database], database: Database, live: FastLane
) -> None:
    worker = people["worker"]
    queue = Queue(Stores(worker, live, Addresses("", None, "", embedded=False)), 2**20)
    first, second, third = [await queue.enqueue("a", {"n": n}) for n in range(3)]
    assert await queue.cancel(third)
    claim, lost = await take(worker, limit=2)
    assert (claim.task_id, lost.task_id) == (first, second)
    await lease.heartbeat(worker, beat("w1", claim, lost))
    await ledger.record_calls(worker, [call(claim, "c1", "started"), call(lost, "c2", "started")])
    await end(worker, claim, RunOutcome.COMPLETED, result="1")
    await expire(database, lost.task_id)
    assert [rescued.task_id for rescued in await lease.rescue(worker, "w2", 0.0)] == [second]
    await ledger.close_calls(worker, None, 0.0)
    await housekeeping.fold(worker)
    await housekeeping.prune(worker)
    await one(database, "UPDATE crewtop.tasks SET finished_at = now() - interval '20 days' WHERE id = $1", first)
    await one(database, "UPDATE crewtop.tasks SET created_at = now() - interval '20 days'")
    assert len((await housekeeping.prune_tasks(worker, {"completed": 86_400.0}, 0)).deleted) == 1
    await lease.stop_worker(worker, "w1")
    await counters_are_true(database)


async def test_nobody_but_the_owner_changes_the_schema(people: dict[str, Database]) -> None:
    for connection in people.values():
        for change in (
            "DROP TABLE crewtop.tasks",
            "CREATE TABLE crewtop.mine ()",
            "UPDATE crewtop.settings SET value = 1",
        ):
            with pytest.raises(CrewtopError):
                await one(connection, change)
        with pytest.raises(CrewtopError, match="permission denied"):
            await schema.apply_roles(connection)


async def test_an_operator_prices_calls_again_and_cannot_rewrite_who_did(
    people: dict[str, Database], database: Database
) -> None:
    await put(database, "a")
    [claim] = await take(database)
    await ledger.record_calls(database, [call(claim, cost=Decimal(1), usage="{}")])
    number = await repricings.begin(people["operator"], 3_600, None, "me")
    while await repricings.work(
        people["operator"], number, lambda found: (Decimal(3), "new") if found.cost == 1 else None
    ):
        pass
    assert await one(database, "SELECT cost FROM crewtop.tasks") == 3
    assert (await repricings.one(people["viewer"], number)).actor == "me"
    for change in ("UPDATE crewtop.repricings SET actor = 'you'", "DELETE FROM crewtop.repricings"):
        with pytest.raises(CrewtopError, match="permission denied"):
            await one(people["operator"], change)
    with pytest.raises(CrewtopError, match="permission denied"):
        await repricings.begin(people["viewer"], 3_600, None, "me")


async def test_an_operator_silences_and_lifts_it_and_changes_no_alert(
    people: dict[str, Database], live: FastLane
) -> None:
    made = await alerts.put_silence(people["operator"], "stuck", "*", 60.0, "dana@ops1", None)
    assert [each.id for each in await alerts.lift_silences(people["operator"], made.id)] == [made.id]
    for what in (
        "DELETE FROM crewtop.silences", "UPDATE crewtop.silences SET actor = 'x'", "DELETE FROM crewtop.alerts",
        "UPDATE crewtop.alert_watch SET until = 'infinity'",
    ):  # fmt: skip
        with pytest.raises(CrewtopError, match="permission denied"):
            await one(people["operator"], what)
    with pytest.raises(CrewtopError, match="permission denied"):
        await alerts.put_silence(people["viewer"], "stuck", "*", 60.0, "eve", None)
    assert (await monitor(people["viewer"], live).snapshot()).silences == ()
