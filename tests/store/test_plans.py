"""What is asked all the time goes by indexes, whatever the statistics say: plans are kept, and tables grow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from crewtop.store.database import Database, statement
from tests.store.helpers import one

HOT = [
    "claim",
    "close_calls",
    "finish",
    "heartbeat",
    "look_at_items",
    "missing_tasks",
    "operate",
    "record_calls",
    "record_progress",
    "record_steps",
    "record_tools",
    "reopen_dependencies",
    "rescue",
    "settle_dependents",
    "start_calls",
    "take_back_calls",
    "targets",
    "task_result",
    "task_status",
    "undo",
]
GROWING = {"tasks", "runs", "steps", "llm_calls", "tool_uses", "transitions", "task_dependencies"}

ON_PURPOSE = {
    ("close_calls", "llm_calls_open"),  # all calls that are out
    ("finish", "task_dependencies_open"),  # whether there is any
    ("rescue", "tasks_running"),  # whose lease ran out, of all that run
}

FILL = """
WITH task AS (
    INSERT INTO crewtop.tasks (queue, crew, priority, status, inputs, finished_at)
    SELECT 'q', 'a', 1, 'completed', '{}', now() FROM generate_series(1, 5000) RETURNING id
), run AS (
    INSERT INTO crewtop.runs (task_id, worker_id, claimed_version, old_status, waited_seconds, outcome, finished_at)
    SELECT id, 'w', 2, 'pending', 1, 'completed', now() FROM task RETURNING id, task_id
), step AS (
    INSERT INTO crewtop.steps (run_id, position, task_id, name, status, started_at)
    SELECT id, 1, task_id, 's', 'completed', now() FROM run
), tie AS (
    INSERT INTO crewtop.task_dependencies (depends_on, task_id, name, settled) SELECT id, id + 1, 'd', true FROM task
)
INSERT INTO crewtop.llm_calls (run_id, call_id, task_id, provider, model, outcome, started_at, price_source)
SELECT id, 'c', task_id, 'p', 'm', 'ok', now(), 'none' FROM run
"""


async def _as_it_begins(database: Database) -> None:
    pass


async def _many_have_ended(database: Database) -> None:
    await one(database, "INSERT INTO crewtop.queues (name) VALUES ('q')")
    await one(database, FILL)
    await one(database, "ANALYZE")


async def _many_had_ended_and_are_gone(database: Database) -> None:
    await _many_have_ended(database)
    await one(database, f"TRUNCATE {', '.join(f'crewtop.{name}' for name in sorted(GROWING))}")


@pytest.mark.parametrize("past", [_as_it_begins, _many_have_ended, _many_had_ended_and_are_gone])
async def test_no_statement_that_is_asked_all_the_time_reads_a_whole_table(database: Database, past: Any) -> None:
    await past(database)
    async with database.connection() as connection:
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        for name in HOT:
            text = statement(name)
            nulls = ["NULL"] * max(map(int, re.findall(r"\$(\d+)", text)))
            await connection.execute(f"PREPARE {name} AS {text}")
            [row] = await connection.fetch(f"EXPLAIN (FORMAT JSON) EXECUTE {name}({', '.join(nulls)})")
            for node in _nodes(json.loads(row[0])[0]["Plan"]):
                looked_up = "Index Cond" in node or node["Relation Name"] not in GROWING
                assert looked_up or (name, node.get("Index Name")) in ON_PURPOSE, (name, node)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every node that looks into a table; of a bitmap scan it is the index's."""
    for below in plan.get("Plans", []):
        if plan["Node Type"] == "Bitmap Heap Scan" and below["Parent Relationship"] == "Outer":
            yield {**below, "Relation Name": plan["Relation Name"]}
        yield from _nodes(below)
    if "Relation Name" in plan and plan["Node Type"] not in ("ModifyTable", "Bitmap Heap Scan"):
        yield plan
