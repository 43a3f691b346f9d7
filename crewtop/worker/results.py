"""What a task gets from those that it depends on: their results, in its inputs."""

from __future__ import annotations

import json
from typing import Any

from crewtop.admission import RESULTS
from crewtop.model.task import Claim
from crewtop.store.database import Database

MAX_RESULT_BYTES = 1024 * 1024
"""Of one result; a longer one is left out, with a word and the id to read it by."""


async def inputs_with_results(database: Database, claim: Claim) -> str:
    """The claim's inputs as JSON text, with inputs['results'] by name where it depends on other tasks.

    A dependency that did not complete (on_failure='continue') or whose result is over MAX_RESULT_BYTES is an object
    with its task_id, its status and what is missing. Raises Unavailable if the database cannot answer.
    """
    if not claim.dependencies:
        return claim.inputs
    rows = await database.fetch("dependency_results", claim.task_id, MAX_RESULT_BYTES)
    inputs: dict[str, Any] = json.loads(claim.inputs)
    inputs[RESULTS] = {row["name"]: _result(row) for row in rows}
    return json.dumps(inputs)


def _result(row: Any) -> Any:
    if row["result"] is not None:
        return json.loads(row["result"])
    missing = f"its result of {row['size']} bytes is over {MAX_RESULT_BYTES}" if row["size"] else "it has no result"
    return {"task_id": row["task_id"], "status": row["status"], "missing": missing}
