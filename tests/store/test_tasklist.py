"""The task list: what a filter matches, in which order, by which index, and what it says when it is too slow."""

from __future__ import annotations

import asyncpg
import pytest

from crewtop.model.errors import Refused, Unavailable
from crewtop.model.filters import SORTS, TaskFilter, parse, words
from crewtop.model.operations import Action, Matching, Order
from crewtop.model.stuck import CALLABLE
from crewtop.model.task import RunOutcome, TaskStatus
from crewtop.store import operations, tasklist
from crewtop.store.conditions import condition
from crewtop.store.database import Database, filled, statement
from tests.store.helpers import due, end, expire, one, put, take


async def ids(database: Database, words: str, sort: str = "newest") -> list[int]:
    page = await tasklist.list_tasks(database, parse(words), sort, 100, 60)
    return [row.id for row in page.rows]


async def test_the_list_narrows_and_sorts(database: Database) -> None:
    first, second = await put(database, "a", "b", queue="q1")
    [third] = await put(database, "a", queue="q2", priority=1)
    assert await ids(database, "") == [third, second, first]
    assert await ids(database, "crew:a queue:q1") == [first]
    assert await ids(database, "priority:P1") == [third]
    assert await ids(database, "status:failed") == []
    assert await ids(database, "", "oldest") == [first, second, third]
    assert await ids(database, "", "priority") == [third, first, second]


async def test_text_finds_errors_regardless_of_case_and_of_wildcards(database: Database) -> None:
    [task_id] = await put(database, "a", max_attempts=1)
    [claim] = await take(database)
    await end(database, claim, RunOutcome.FAILED, error="Timeout at 100% [/] of x")
    assert await ids(database, "timeout") == [task_id]
    assert await ids(database, "100% [/]") == [task_id]
    assert await ids(database, "100_") == []


async def test_the_list_says_that_it_goes_on(database: Database) -> None:
    await put(database, *["a"] * 5)
    page = await tasklist.list_tasks(database, TaskFilter(), "newest", 3, 60)
    assert (len(page.rows), page.more) == (3, True)
    page = await tasklist.list_tasks(database, TaskFilter(), "newest", 5, 60)
    assert (len(page.rows), page.more) == (5, False)


def test_the_list_selects_no_bodies() -> None:
    """Case C01: a list that pulls whole payloads dies of one of them."""
    text = statement("list_tasks")
    assert not any(body in text for body in ("inputs", "result", "traceback", "log_tail", "t.*", "r.*"))


async def test_an_operators_list_and_the_due_helpers_agree(database: Database) -> None:
    """The claim order on the screen is the order in which tasks are claimed."""
    await put(database, *["a"] * 6)
    await due(database, 1)
    shown = await ids(database, "status:pending", "priority")
    assert [claim.task_id for claim in await take(database, limit=10)] == shown


async def set_task(database: Database, task_id: int, **columns: object) -> None:
    """Write a task's columns as they are wanted."""
    sets = ", ".join(f"{name} = ${place}" for place, name in enumerate(columns, 2))
    await one(database, f"UPDATE crewtop.tasks SET {sets} WHERE id = $1", task_id, *columns.values())


async def aged(database: Database, task_id: int, interval: str) -> None:
    await one(database, f"UPDATE crewtop.tasks SET created_at = now() - interval '{interval}' WHERE id = $1", task_id)


async def test_names_take_wildcards_and_nothing_else_is_one(database: Database) -> None:
    first, second, third = await put(database, "re_a", "rexa", "100%")
    assert await ids(database, "crew:re_*") == [first]
    assert await ids(database, "crew:*a") == [second, first]
    assert await ids(database, "crew:100%,re_a") == [third, first]
    assert await ids(database, "crew:*%*,rexa") == [third, second]
    assert await ids(database, 'crew:"*a"') == []
    assert await ids(database, "!crew:re*") == [third]


async def test_comparisons_are_exact_at_their_edge(database: Database) -> None:
    first, second = await put(database, "a", "a")
    await set_task(database, first, tokens=1000, cost=0.5, failed_runs=2, priority=0)
    assert await ids(database, "tokens>=1000") == await ids(database, "tokens>999 tokens<=1000") == [first]
    assert await ids(database, "tokens>1000") == []
    assert await ids(database, "cost:0.5") == await ids(database, "cost<$1 cost>0.4") == [first]
    assert await ids(database, "attempts>=2") == await ids(database, "priority<=1") == [first]
    assert await ids(database, "priority:3,4") == await ids(database, f"id>{first}") == [second]
    assert await ids(database, "!priority:0 attempts:0") == [second]


async def test_age_counts_from_the_enqueueing(database: Database) -> None:
    old, new = await put(database, "a", "a")
    await aged(database, old, "90 min")
    assert await ids(database, "age>1h age<2h") == [old]
    assert await ids(database, "age<1h") == [new]
    assert await ids(database, "age>=90m") == [old]


async def test_an_attempt_that_runs_is_counted_as_the_line_shows_it(database: Database) -> None:
    await put(database, "a")
    [claim] = await take(database)
    page = await tasklist.list_tasks(database, parse("attempts:1"), "newest", 10, 60)
    assert [(row.id, row.attempt) for row in page.rows] == [(claim.task_id, 1)]


async def test_what_a_task_lacks_is_not_ruled_out(database: Database) -> None:
    claimed, _ = await put(database, "a", "b")
    [claim] = await take(database, worker="db1-7")
    assert claim.task_id == claimed
    other = await ids(database, "crew:b")
    assert await ids(database, "worker:db1*") == [claimed]
    assert await ids(database, "!worker:db1*") == other
    await end(database, claim, RunOutcome.FAILED, error="No answer in 30 s")
    assert await ids(database, 'error:"no ANSWER",timeout') == await ids(database, "error:no error:30") == [claimed]
    assert await ids(database, "!error:answer") == other
    assert await ids(database, "!status:retry") == await ids(database, "-status:retry,failed") == other


async def test_keys_schedules_and_parents_are_found(database: Database) -> None:
    first, second = await put(database, "a", "a")
    await set_task(database, first, key="ORDER-1", key_scope="live", schedule="nightly", parent_id=second)
    for typed in ("key:ORDER-1", "key:ORDER-*", "schedule:nightly", f"parent:{second}", f"id:{first}"):
        assert await ids(database, typed) == [first]


async def test_a_group_of_failures_is_found_by_its_fingerprint(database: Database) -> None:
    for error in ("timeout after 3 s", "timeout after 40 s", "no key"):
        await put(database, "a", max_attempts=1)
        [claim] = await take(database)
        await end(database, claim, RunOutcome.FAILED, error=error)
    failure = await one(database, "SELECT failure FROM crewtop.tasks WHERE error LIKE 'timeout%' LIMIT 1")
    assert len(await ids(database, f"failure:{failure}")) == 2
    assert len(await ids(database, f"status:failed !failure:{failure}")) == 1


@pytest.mark.parametrize("what", ["lease", "budget", "progress", "function", "fine"])
async def test_stuck_is_what_the_line_says_is_stuck(database: Database, what: str) -> None:
    """The judgement in SQL and the one in model.stuck agree."""
    await put(database, "a")
    [claim] = await take(database)
    match what:
        case "lease":
            await expire(database, claim.task_id)
        case "budget":
            await set_task(database, claim.task_id, budget_seconds=10.0)
            await one(database, "UPDATE crewtop.runs SET claimed_at = now() - interval '11 s'")
        case "progress":
            await one(database, "UPDATE crewtop.runs SET progress_at = now() - interval '61 s'")
        case "function":
            await one(
                database, "UPDATE crewtop.runs SET progress_at = now() - interval '61 s', activity = $1", CALLABLE
            )
    page = await tasklist.list_tasks(database, TaskFilter(), "newest", 10, 60)
    stuck = [row.id for row in page.rows if row.stuck]
    assert bool(stuck) == (what in ("lease", "budget", "progress"))
    assert await ids(database, "is:stuck") == stuck
    assert (await operations.price(database, Action.CANCEL, Matching(parse("is:stuck")), 60)).sample == tuple(stuck)
    assert len(await ids(database, "!is:stuck")) == 1 - len(stuck)


async def test_judgements_are_exact(database: Database) -> None:
    running, later, now = await put(database, "a", "b", "b")
    await take(database)
    await set_task(database, running, unpriced_calls=1)
    await one(database, "UPDATE crewtop.tasks SET run_at = now() + interval '1 h' WHERE id = $1", later)
    assert await ids(database, "is:scheduled") == [later]
    assert await ids(database, "is:unpriced") == [running]
    assert await ids(database, "is:cancelling") == []
    await one(database, "UPDATE crewtop.tasks SET cancel_requested_at = now()")
    assert await ids(database, "is:cancelling") == [running]
    assert await ids(database, "is:cancelling,scheduled") == [later, running]
    assert await ids(database, "!is:cancelling,scheduled") == [now]


@pytest.mark.parametrize(
    "typed", ["sk_live_abcdefgh12345", 'error:"api_key=hunter22"', "!key:ghp_abcdefghijklmnopqrst"]
)
async def test_masked_text_is_not_searched_for(database: Database, typed: str) -> None:
    """Case X5: an answer would tell what the mask hides, and the audit would keep the secret."""
    with pytest.raises(Refused, match="masked text cannot be searched for"):
        await ids(database, typed)
    with pytest.raises(Refused, match="masked text cannot be searched for"):
        await operations.price(database, Action.RETRY, Matching(parse(typed)))
    with pytest.raises(Refused, match="masked text cannot be searched for"):
        await operations.begin_matching(database, Order(Action.RETRY), Matching(parse(typed)), "op")
    assert await one(database, "SELECT count(*) FROM crewtop.operations") == 0


@pytest.mark.parametrize(
    "typed", ["'; DROP TABLE crewtop.tasks --", "$1", "crew:$2,a*'", "a\0b", "\ud800", "worker:\\*%"]
)
async def test_whatever_is_typed_stays_data(database: Database, typed: str) -> None:
    await put(database, "a")
    assert await ids(database, typed) == []
    assert not any(char in condition(parse(typed), 1, 60).sql for char in ("DROP", "\0", "a*", "%"))


async def test_a_list_and_an_action_over_it_match_alike(database: Database) -> None:
    await put(database, "re", "sup", queue="bulk")
    await put(database, "re", "sup", queue="fast", priority=1)
    for typed in ("crew:re* priority<=1", "!queue:bulk", "age<1h is:scheduled", "crew:s* queue:bulk,fast re", "up"):
        listed = await ids(database, typed)
        matching = Matching(parse(typed))
        scope = await operations.price(database, Action.CANCEL, matching)
        operation = await operations.begin_matching(database, Order(Action.CANCEL), matching, "op")
        assert sorted(scope.sample) == sorted(listed)
        assert operation.total == len(listed)
        assert operation.scope == words(parse(typed))


async def sorted_rows(database: Database) -> list[int]:
    """Three tasks that differ in every column: the second is the largest, the third the smallest in each."""
    tasks = await put(database, "m", "z", "a")
    for task_id, size in zip(tasks, (2, 3, 1), strict=True):
        await one(
            database,
            """UPDATE crewtop.tasks SET queue = $2, tokens = $3::int, cost = $3::int, failed_runs = $3::int,
                      status = $4,
                      created_at = now() - $3::int * interval '1 h', run_at = now() + $3::int * interval '1 h',
                      finished_at = CASE WHEN $4 IN ('failed', 'completed') THEN now() + $3::int * interval '1 h' END,
                      worker_id = $5
               WHERE id = $1""",
            task_id, f"q{size}", size, ["completed", "failed", "pending"][size - 1], [None, "w1", "w2"][size - 1],
        )  # fmt: skip
    return tasks


async def test_every_column_sorts_on_raw_values_both_ways(database: Database) -> None:
    first, second, third = await sorted_rows(database)
    rising, falling = [third, first, second], [second, first, third]
    for sort in ("crew", "queue", "due"):
        assert await ids(database, "", sort) == rising, sort
        assert await ids(database, "", f"-{sort}") == falling, sort
    for sort in ("cost", "tokens", "age"):
        assert await ids(database, "", sort) == falling, sort
        assert await ids(database, "", f"-{sort}") == rising, sort
    assert await ids(database, "", "-attempts") == [first, third, second]  # the last two are equal
    assert await ids(database, "", "status") == [third, first, second]
    for sort in SORTS:
        assert (
            sorted(await ids(database, "", sort))
            == sorted(await ids(database, "", f"-{sort}"))
            == [first, second, third]
        )


async def test_what_is_not_known_stays_at_the_end(database: Database) -> None:
    first, second, third = await sorted_rows(database)
    assert await ids(database, "", "worker") == [first, second, third]
    assert await ids(database, "", "-worker") == [second, first, third]
    assert (await ids(database, "", "finished"))[-1] == (await ids(database, "", "-finished"))[-1] == second


async def test_equals_are_in_the_order_of_ids(database: Database) -> None:
    tasks = await put(database, *["a"] * 5)
    assert await ids(database, "", "crew") == tasks
    assert await ids(database, "", "-crew") == await ids(database, "", "cost") == tasks[::-1]


@pytest.mark.parametrize(
    ("typed", "index"),
    [
        ("status:failed", "tasks_to_look_at"),
        ("status:running", "tasks_running"),
        ("status:pending queue:q", "tasks_ready"),
        ("failure:3fa92c01", "tasks_by_failure"),
        ("parent:1", "tasks_by_parent"),
        ("id:1", "tasks_pkey"),
        ("", "tasks_pkey"),
    ],
)
async def test_the_filters_used_most_go_by_an_index(database: Database, typed: str, index: str) -> None:
    await one(
        database,
        """INSERT INTO crewtop.tasks (queue, crew, inputs, priority, run_at, max_attempts, status, finished_at)
           SELECT 'q' || n % 50, 'a', '{}', 3, now(), 1,
                  CASE WHEN n % 100 = 0 THEN 'failed' WHEN n % 100 = 1 THEN 'pending' ELSE 'completed' END,
                  CASE WHEN n % 100 <> 1 THEN now() END
           FROM generate_series(1, 20000) AS n""",
    )
    await one(database, "ANALYZE crewtop.tasks")
    where = condition(parse(typed), 2, 60)
    query = filled("list_tasks", {"where": where.sql, "order": "t.id DESC"})
    async with database.connection() as connection:
        plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {query}", 200, *where.arguments))
    assert index in plan, plan
    assert "Seq Scan on tasks" not in plan


async def test_a_list_that_takes_too_long_says_what_helps(dsn: str, database: Database) -> None:
    """Case X3. A lock makes it slow for certain."""
    blocker = await asyncpg.connect(dsn)
    try:
        async with Database(dsn, application_name="test", timeout=0.2) as hasty:
            await hasty.fetch("list_operations", None, 1)
            await blocker.execute("BEGIN; LOCK TABLE crewtop.tasks")
            with pytest.raises(Unavailable, match=r"^too slow: narrow the filter, for instance by status or queue$"):
                await tasklist.list_tasks(hasty, TaskFilter(), "newest", 10, 60)
            with pytest.raises(Unavailable, match=r"^too slow: narrow the filter"):
                await operations.price(hasty, Action.RETRY, Matching(TaskFilter((TaskStatus.FAILED,))))
    finally:
        await blocker.close()
