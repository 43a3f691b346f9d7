"""What CrewAI calls runnable: crews, @CrewBase classes and flows."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from crewai import Crew
from crewai.flow import Flow
from crewai.project.crew_loader import load_crew
from crewai.types.streaming import StreamingOutputBase, StreamSession

from crewtop.executor.loader import InputsError, Work
from crewtop.executor.resume import resume
from crewtop.model.events import DoneStep, Event

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]*")
"""What CrewAI fills in. Crew.fetch_inputs() also names every other text in braces, such as JSON in a description."""


def as_work(found: Any) -> Work | None:
    """The work of a Crew, a Flow, a @CrewBase class (its instance too) or a crew file; None for anything else."""
    if isinstance(found, Path):
        crew, defaults = load_crew(found)
        return _crew_work(crew, defaults)
    if inspect.isclass(found) and (issubclass(found, Flow) or hasattr(found, "crew")):
        found = found()
    if not isinstance(found, (Crew, Flow)) and callable(getattr(found, "crew", None)):
        found = found.crew()
    if isinstance(found, Crew):
        return _crew_work(found, {})
    if isinstance(found, Flow):
        return _flow_work(found)
    return None


def copied(found: Any) -> Any:
    """A Crew or a Flow of its own where found is one that others may be running; anything else as it is."""
    if isinstance(found, Crew):
        return found.copy()
    if isinstance(found, Flow):
        return type(found)()
    if not inspect.isclass(found) and callable(getattr(found, "crew", None)):
        return found.crew().copy()
    return found


def _flow_work(flow: Flow[Any]) -> Work:
    async def run_async(inputs: Any) -> object:
        return await _drained_later(await flow.kickoff_async(inputs=_object(inputs, "flow")))

    def run(inputs: Any) -> object:
        return _drained(flow.kickoff(inputs=_object(inputs, "flow")))

    return Work("flow", run, run_async=run_async)


def _crew_work(crew: Crew, defaults: dict[str, Any]) -> Work:
    def run(inputs: Any) -> object:
        return _drained(crew.kickoff(inputs=complete(inputs)))

    def go_on(inputs: Any, done: Sequence[DoneStep], tell: Callable[[Event], None]) -> object:
        given = complete(inputs)
        resume(crew, done, tell)
        return _drained(crew.kickoff(inputs=given))

    def complete(inputs: Any) -> dict[str, Any]:
        given = defaults | _object(inputs, "crew")
        _require(crew, given)
        return given

    async def run_async(inputs: Any) -> object:
        return await _drained_later(await crew.akickoff(inputs=complete(inputs)))

    return Work("crew", run, tuple(crew.tasks), go_on, run_async)


def _object(inputs: Any, kind: str) -> dict[str, Any]:
    if isinstance(inputs, dict):
        return inputs
    raise InputsError(
        f'the inputs of a {kind} are a JSON object such as {{"topic": "..."}}; this task has {json.dumps(inputs)[:100]}'
    )


def _require(crew: Crew, inputs: dict[str, Any]) -> None:
    """Refuse a run that CrewAI would break off at the first text that it cannot fill in."""
    if crew.before_kickoff_callbacks:
        return  # they may add what is missing
    missing = {name for name in crew.fetch_inputs() if _VARIABLE.fullmatch(name)} - inputs.keys()
    if missing:
        raise InputsError(f"the crew needs inputs that this task does not have: {', '.join(sorted(missing))}")


def _drained(output: Any) -> object:
    """The result of a kickoff. A streaming one has not even begun: it runs while its pieces are taken."""
    if isinstance(output, (StreamingOutputBase, StreamSession)):
        for _piece in output:
            pass
        return output.result
    return output


async def _drained_later(output: Any) -> object:
    """The same of a kickoff within an event loop."""
    if isinstance(output, StreamingOutputBase):
        async for _piece in output:
            pass
        return output.result
    return output
