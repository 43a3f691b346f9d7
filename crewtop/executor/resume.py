"""What a crew need not do again: the steps that an earlier run of its task completed.

A completed step leaves a receipt, which is stored with its output. The next run hands both to the crew's kickoff, and
CrewAI, told that it resumes, goes through its tasks as always but passes over those that have their output: later
tasks meet the same context, and the result names all outputs, as if the run had never been cut off.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from crewai import Crew, Process, Task, TaskOutput
from crewai.tasks.conditional_task import ConditionalTask
from crewai.tasks.output_format import OutputFormat

from crewtop.model.events import DoneStep, Event, Resumed
from crewtop.text import storable, storable_json

_LOG = logging.getLogger(__name__)


def receipt(task: Task, output: TaskOutput) -> str | None:
    """What has to be stored beside the raw output of a completed task, as JSON text.

    None where an output that is restored from it would not be equal: such a step has to be done again.
    """
    facts: dict[str, Any] = {"asked": _asked(task), "agent": output.agent, "format": output.output_format.value}
    try:
        if output.pydantic is not None:
            facts["pydantic"] = output.pydantic.model_dump(mode="json")
        if output.json_dict is not None:
            facts["json"] = output.json_dict
        if output.tool_failures:
            facts["tool_failures"] = [failure.model_dump(mode="json") for failure in output.tool_failures]
        text = storable_json(json.dumps(facts, allow_nan=False))[0]
        again = _restored(task, storable(output.raw)[0], json.loads(text))
    except Exception:  # whatever a model of the crew's own does when it is written or read
        return None
    return text if again == output.model_copy(update={"messages": []}) else None


def resume(crew: Crew, done: Sequence[DoneStep], tell: Callable[[Event], None]) -> None:
    """Let the crew's next kickoff begin after the steps that an earlier run completed, where it can.

    done: in the order of their positions, all of one run. Which it was, or why it starts from scratch, is told to the
    run's log, and in the first case to `tell`. It is found out within the kickoff, since only there the inputs are
    whole: the crew's own callbacks may change them.
    """

    def begin(inputs: dict[str, Any]) -> dict[str, Any]:
        for task in crew.tasks:
            task.interpolate_inputs_and_add_conversation_history(inputs)
        try:
            outputs = _outputs(crew, done)
        except _FromScratch as reason:
            _LOG.info("from scratch: %s", reason)
            return inputs
        _give(crew, outputs, {step["position"] for step in done})
        run_id, count = done[0]["run_id"], len(outputs)
        _LOG.info("resumed after step %d of %d, which run %d completed", count, len(crew.tasks), run_id)
        tell(Resumed(time.monotonic(), run_id, count))
        return inputs

    crew.before_kickoff_callbacks.append(begin)


class _FromScratch(Exception):
    """Why a crew cannot be resumed."""


def _outputs(crew: Crew, done: Sequence[DoneStep]) -> list[TaskOutput]:
    """The outputs of the crew's first tasks, as far as they are there without a gap."""
    if crew.process is not Process.sequential:
        raise _FromScratch(f"a crew with the {crew.process.value} process is not resumed")
    if crew.planning:
        raise _FromScratch("a crew that plans is not resumed: each plan changes its tasks")
    steps = {step["position"]: (step, json.loads(step["receipt"] or "null")) for step in done}
    for position, (_, facts) in steps.items():
        if position > len(crew.tasks) or (facts and facts["asked"] != _asked(crew.tasks[position - 1])):
            raise _FromScratch(f"the crew's step {position} is not the one that an earlier run completed")
    outputs: list[TaskOutput] = []
    for position, task in enumerate(crew.tasks, start=1):
        output = _output(task, *steps[position]) if position in steps else _passed_over(task, position < max(steps))
        if output is None:
            break
        outputs.append(output)
    if not outputs:
        raise _FromScratch("what became of the crew's first step could not be stored as it was")
    return outputs


def _output(task: Task, step: DoneStep, facts: dict[str, Any] | None) -> TaskOutput | None:
    try:
        return _restored(task, step["output"] or "", facts) if facts else None
    except ValueError:  # its model has other fields now
        return None


def _passed_over(task: Task, later_one_began: bool) -> TaskOutput | None:
    """A conditional task leaves no step where its condition did not hold, which was so if a later task is done."""
    return task.get_skipped_task_output() if later_one_began and isinstance(task, ConditionalTask) else None


def _give(crew: Crew, outputs: Sequence[TaskOutput], executed: Collection[int]) -> None:
    """Leave the crew as an earlier run left it when these outputs were there; executed: the positions that ran."""
    passed_over = set()
    for position, (task, output) in enumerate(zip(crew.tasks, outputs, strict=False), start=1):
        task.output = output
        if position not in executed:
            passed_over.add(task.id)
        elif task.output_file:
            structured = output.pydantic.model_dump_json() if output.pydantic else None
            task._save_file(output.json_dict or structured or output.raw)  # each run has a folder of its own
    for task in crew.tasks:
        if isinstance(task.context, list):  # to which a task that was passed over adds nothing
            task.context = [earlier for earlier in task.context if earlier.id not in passed_over]
    # Whatever its value: a crew that has one begins with its first task that has no output.
    crew.checkpoint_kickoff_event_id = "resumed"


def _restored(task: Task, raw: str, facts: dict[str, Any]) -> TaskOutput:
    model = task.output_pydantic
    return TaskOutput(
        name=task.name or task.description,
        description=task.description,
        expected_output=task.expected_output,
        raw=raw,
        pydantic=model.model_validate(facts["pydantic"]) if model and "pydantic" in facts else None,
        json_dict=facts.get("json"),
        agent=facts["agent"],
        output_format=OutputFormat(facts["format"]),
        tool_failures=facts.get("tool_failures", []),
    )


def _asked(task: Task) -> str:
    """What a task is to do, its inputs filled in, and in which form, as a digest: another one is another task."""
    forms = [form and form.__qualname__ for form in (task.output_pydantic, task.output_json)]
    words = [task.name, task.description, task.expected_output, *forms]
    return hashlib.sha256(json.dumps(words).encode("ascii")).hexdigest()
