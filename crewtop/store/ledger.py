"""What a worker writes while runs go on: LLM calls, steps, progress."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop.model.events import DoneStep
from crewtop.model.ledger import CallEntry, KeptSteps, Progress, StepEntry, ToolEntry
from crewtop.store.database import Database, columns


async def record_calls(database: Database, entries: Sequence[CallEntry]) -> None:
    """Write calls as they start and end, one entry a call. Not fenced: the money is spent whoever holds the lease."""
    rows = [
        (
            e.run_id, e.call_id, e.task_id, e.step_position, e.agent, e.provider, e.model, e.outcome, e.started_ago,
            e.seconds, e.tokens and e.tokens.input, e.tokens and e.tokens.cache_read, e.tokens and e.tokens.cache_write,
            e.tokens and e.tokens.output, e.tokens and e.tokens.reasoning, e.cost, e.price_source, e.usage,
            e.finish_reason, e.error, e.tokens and e.tokens.clamped, e.route, e.estimated_tokens, e.context_cut,
            e.waited_seconds, e.key_tail,
        )
        for e in entries
    ]  # fmt: skip
    if rows:
        await database.fetch("record_calls", *columns(rows, 26))


START_CALLS = "start_calls"
"""Writes calls that are about to go out: started() makes its arguments. One that is known already is left as it is."""


def started(entries: Sequence[CallEntry]) -> list[list[object]]:
    """Calls that are about to go out, at least one, as the arguments of START_CALLS."""
    rows = [
        (
            e.run_id, e.call_id, e.task_id, e.step_position, e.provider, e.model, e.price_source, e.route,
            e.estimated_tokens, e.waited_seconds, e.key_tail,
        )
        for e in entries
    ]  # fmt: skip
    return columns(rows, 11)


async def take_back_calls(database: Database, entries: Sequence[CallEntry]) -> None:
    """Forget starts of calls that never went out."""
    if entries:
        await database.fetch("take_back_calls", *columns([(e.run_id, e.call_id) for e in entries], 2))


async def record_steps(database: Database, entries: Sequence[StepEntry]) -> None:
    """Write steps as they start and end, at most one entry a step, under the fence of their run."""
    rows = [
        (
            e.run_id, e.position, e.task_id, e.name, e.agent, e.description, e.status, e.output, e.error,
            e.started_ago, e.seconds, e.receipt,
        )
        for e in entries
    ]  # fmt: skip
    if rows:
        await database.fetch("record_steps", *columns(rows, 12))


async def record_tools(database: Database, entries: Sequence[ToolEntry]) -> None:
    """Write uses of tools as they start and end, at most one entry a use, under the fence of their run."""
    rows = [
        (e.run_id, e.number, e.task_id, e.step_position, e.tool, e.outcome, e.error, e.started_ago, e.seconds)
        for e in entries
    ]
    if rows:
        await database.fetch("record_tools", *columns(rows, 9))


async def keep_steps(database: Database, entries: Sequence[KeptSteps]) -> None:
    """Enter what runs took over from earlier ones among their own steps, under the fence, at most one entry a run."""
    rows = [(e.run_id, e.task_id, e.from_run, e.position) for e in entries]
    if rows:
        await database.fetch("keep_steps", *columns(rows, 4))


async def finished_steps(database: Database, task_id: int, run_id: int) -> list[DoneStep]:
    """What a task's newest run before run_id with a completed first step had completed, by position.

    Of one run alone: what another made of the same task may rest on other answers.
    """
    rows = await database.fetch("finished_steps", task_id, run_id)
    return [
        DoneStep(run_id=r["run_id"], position=r["position"], output=r["output"], receipt=r["receipt"]) for r in rows
    ]


async def record_progress(database: Database, entries: Sequence[Progress]) -> None:
    """Move the progress clocks of runs, at most one entry a run."""
    rows = [(e.run_id, e.task_id, e.step_position, e.step_count, e.agent, e.activity, e.ago) for e in entries]
    if rows:
        await database.fetch("record_progress", *columns(rows, 7))


async def close_calls(database: Database, run_ids: Sequence[int] | None, older_than_seconds: float = 0.0) -> None:
    """Mark unanswered calls of ended runs as killed at unknown cost; None: of every run that ended that long ago."""
    await database.fetch("close_calls", run_ids, older_than_seconds)
