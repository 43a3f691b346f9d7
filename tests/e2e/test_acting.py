"""Acting from the command line: on ids, on all that match, on operations, queues and workers."""

from __future__ import annotations

import json
from decimal import Decimal

from crewtop.model.budgets import Budget
from crewtop.model.task import RunOutcome
from crewtop.store import budgets, lease, ledger
from tests.e2e.conftest import Site
from tests.store.helpers import beat, call, end, put, take


async def failed(site: Site, n: int, crew: str = "a") -> list[int]:
    ids = await put(site.database, *[crew] * n, max_attempts=1)
    for claim in await take(site.database, limit=n, crews=(crew,)):
        await end(site.database, claim, RunOutcome.FAILED, error="no")
    return ids


async def test_all_that_match_are_acted_on_counted_and_taken_back(site: Site) -> None:
    await failed(site, 3)
    held = await failed(site, 1, crew="b")
    await site.sql("UPDATE crewtop.tasks SET key = 'k', key_scope = 'live' WHERE id = $1", held[0])
    [twin] = await put(site.database, "b")
    await site.sql("UPDATE crewtop.tasks SET key = 'k', key_scope = 'live' WHERE id = $1", twin)
    code, out, _ = await site.crewtop("retry", "--filter", "status:failed", "--reason", "quota is back", "--yes")
    assert (code, out) == (1, "3 retried, 1 refused: 1 key already held (operation 1)\n")
    code, out, _ = await site.crewtop("operations", "--json")
    [operation] = json.loads(out)
    assert (operation["scope"], operation["reason"], operation["state"]) == ("status:failed", "quota is back", "done")
    code, out, _ = await site.crewtop("operations", "show", "1")
    assert f"{held[0]}: not retried: key k is held by task {twin}" in out
    assert await site.crewtop("undo", "1", "--yes") == (0, "3 undone (operation 2)\n", "")
    assert await site.sql("SELECT count(*) FROM crewtop.tasks WHERE status = 'failed'") == 4
    code, out, _ = await site.crewtop("operations")
    assert [line.split()[:3] for line in out.splitlines()[1:]] == [["2", "undo", "1"], ["1", "retry", "done"]]


async def test_before_anything_is_done_the_scope_is_told(site: Site) -> None:
    await failed(site, 2)
    await failed(site, 1, crew="b")
    code, out, err = await site.crewtop("retry", "--filter", "status:failed crew:a")
    assert (code, out) == (2, "")
    assert "retry 2 tasks that match status:failed crew:a: 2 failed" in err
    assert "1 other does not match and stays as it is" in err
    assert await site.sql("SELECT count(*) FROM crewtop.operations") == 0
    code, _, err = await site.crewtop("cancel", "--filter", "crew:nobody", "--yes")
    assert (code, err) == (0, "nothing to cancel: no task matches that is pending, retry, running, waiting\n")


async def test_tasks_are_moved_raised_edited_rerun_and_deleted(site: Site) -> None:
    [first] = await failed(site, 1)
    assert (await site.crewtop("move", "1", "--to", "fast", "-y"))[:2] == (0, "1: moved\n")
    assert "move to fast" in (await site.crewtop("operations"))[1]
    assert "operation 1: move to fast, done" in (await site.crewtop("operations", "show", "1"))[1]
    assert (await site.crewtop("priority", "1", "--to", "critical", "-y"))[:2] == (0, "1: reprioritised\n")
    assert (await site.crewtop("edit", "1", "--input", "order=A-2", "-y"))[:2] == (0, "1: edited\n")
    assert (await site.crewtop("rerun", "1", "-y"))[:2] == (0, "1: rerun as task 2\n")
    assert (await site.crewtop("delete", "1", "-y"))[:2] == (0, "1: deleted\n")
    row = "SELECT concat_ws(' ', id, queue, priority, rerun_of, inputs) FROM crewtop.tasks"
    assert await site.sql(row) == f'2 fast 1 {first} {{"order": "A-2"}}'


async def test_queues_and_workers_are_steered_through_the_database(site: Site) -> None:
    await put(site.database, "a", queue="q")
    await lease.heartbeat(site.database, beat("w1"))
    for arguments, said in (
        (("pause", "q", "--reason", "invoice"), "q is paused: what runs goes on\n"),
        (("resume", "q"), "q goes on\n"),
        (("boost", "q", "60"), "q: tasks rise by one priority every 60 s\n"),
        (("limit", "crew", "a", "--max-running", "2"), "crew a: at most 2 running\n"),
        (("limit", "crew", "a", "--none"), "crew a: no limit\n"),
        (("slots", "w1", "9"), "asked w1 for 9 slots\n"),
        (("drain", "w1"), "asked w1 to drain\n"),
    ):
        assert await site.crewtop(*arguments) == (0, said, ""), arguments
    orders = await lease.heartbeat(site.database, beat("w1"))
    assert (orders.desired_slots, orders.draining, orders.killed) == (9, True, False)
    for arguments, complaint in (
        (("resume", "nowhere"), "there is no queue nowhere: `crewtop snapshot` lists them"),
        (("drain", "nobody"), "there is no live worker nobody: `crewtop snapshot` lists them"),
        (("retry",), 'retry what? Name tasks by id, or say --filter "status:failed crew:NAME"'),
        (("undo", "7", "-y"), "there is no operation 7: `crewtop operations` lists them"),
    ):
        code, _, err = await site.crewtop(*arguments)
        assert (code, err) == (2, f"crewtop: {complaint}\n")


async def test_a_queue_that_a_spent_budget_holds_does_not_seem_to_go_on(site: Site) -> None:
    await put(site.database, "a", queue="q")
    await lease.heartbeat(site.database, beat("w1"))
    await budgets.keep(site.database, "w1", [Budget("queue", "q", Decimal("0.5"), 0.8, pauses=True)])
    [claim] = await take(site.database)
    await ledger.record_calls(site.database, [call(claim, cost=Decimal(1))])
    await budgets.judge(site.database, 0.0)
    code, out, err = await site.crewtop("resume", "q")
    assert (code, out) == (1, "")
    assert err.startswith("q stays held: its budget is spent: $1.00 of $0.50; it goes on at 20")


async def test_a_worker_is_killed_only_once_that_is_confirmed(site: Site) -> None:
    await lease.heartbeat(site.database, beat("w1"))
    code, out, err = await site.crewtop("kill", "w1")
    assert (code, out) == (2, "")
    assert err == (
        "kill worker w1: it ends at once, and what it runs goes back to its queue\n"
        "`crewtop drain w1` lets it finish first\n"
        "crewtop: nothing was changed: there is no terminal to ask on; add --yes\n"
    )
    assert not (await lease.heartbeat(site.database, beat("w1"))).killed
    assert await site.crewtop("kill", "w1", "--yes") == (0, "asked w1 to end at once\n", "")
    assert (await lease.heartbeat(site.database, beat("w1"))).killed


async def test_what_is_not_there_yet_may_be_held_back_and_is_pointed_out(site: Site) -> None:
    await lease.heartbeat(site.database, beat("w1"))
    note = "note: no worker has the crew nope yet\n"
    limited = await site.crewtop("limit", "crew", "nope", "--max-running", "1")
    assert limited == (0, "crew nope: at most 1 running\n", note)
    assert await site.crewtop("limit", "crew", "nope", "--none") == (0, "crew nope: no limit\n", "")
    code, out, err = await site.crewtop("pause", "soon", "--reason", "not before Monday")
    assert (code, out) == (0, "soon is paused: what runs goes on\n")
    assert err == "note: no queue was called soon yet; it is there now\n"
    await put(site.database, "a", queue="soon")
    assert await take(site.database) == []
