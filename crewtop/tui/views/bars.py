"""What a timeline shows: each wait, run, step, LLM call and use of a tool as a bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from crewtop import words
from crewtop.model.detail import CallRow, RunRow, StepRow, TaskDetail, ToolRow
from crewtop.model.money import total
from crewtop.model.task import TaskStatus
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Role

CALLS_APART = 6
"""A step with more LLM calls than this shows them in one row; likewise its uses of tools."""

SHORTEST_WAIT_SECONDS = 0.5
"""Waits shorter than this are not worth a bar."""

_RUN_ROLES: dict[str, Role] = {"running": "moving", "completed": "moving", "interrupted": "watch", "returned": "watch"}
_RUN_ROLES |= {"throttled": "watch", "cancelled": "muted", "superseded": "muted"}
_STEP_ROLES: dict[str, Role] = {"completed": "link", "running": "moving"}
_TOOL_ROLES: dict[str, Role] = {"ok": "accent", "started": "moving"}
_CALL_ROLES: dict[str, Role] = {"ok": "link", "started": "moving", "rate_limited": "watch"}


class Key(NamedTuple):
    """What a row of a story stands for: kind is run, step, call, calls, tool or tools.

    name is a step's position, the id of a call, or the number of a tool's use, the first one of several;
    table tells the row of a call in the table from the one in the timeline.
    """

    kind: str
    run_id: int
    name: str = ""
    table: bool = False


class Piece(NamedTuple):
    """A stretch of time.

    picture is '░' for waiting, '█' for a run, '▅' for a step, '─' for an LLM call, '╌' for a tool.
    """

    start: datetime
    end: datetime
    picture: str
    role: Role
    open_end: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of the timeline; note stands in the place of pieces."""

    label: str
    pieces: tuple[Piece, ...]
    glyph: str = ""
    took: str = ""
    cost: str = ""
    key: Key | None = None
    note: str = ""

    @property
    def start(self) -> datetime:
        """When it begins."""
        return self.pieces[0].start

    @property
    def end(self) -> datetime:
        """When it ends."""
        return self.pieces[-1].end

    @property
    def picture(self) -> str:
        """What its last piece shows."""
        return self.pieces[-1].picture

    @property
    def role(self) -> Role:
        """That of its last piece."""
        return self.pieces[-1].role


def bars(detail: TaskDetail, manner: Manner, *, calls: bool = False) -> list[Bar]:
    """The rows of a task's timeline, oldest first; with its LLM calls and tools if calls."""
    found: list[Bar] = []
    free, label = detail.task.created_at, "waiting"
    for number, run in enumerate(sorted(detail.runs, key=lambda run: run.claimed_at), start=1):
        end = run.finished_at or detail.at
        found += _wait(free, run.claimed_at, label)
        found.append(_run_bar(number, run, end, detail, manner))
        found += _within(run, end, detail, manner, calls)
        free, label = end, "backing off" if _backs_off(run, detail) else "waiting again"
    if detail.task.status in (TaskStatus.WAITING, TaskStatus.PENDING, TaskStatus.RETRY):
        now = {TaskStatus.RETRY: "backing off", TaskStatus.WAITING: "for others"}.get(detail.task.status, "waiting")
        found += _wait(free, detail.at, now)
    return found


def _backs_off(run: RunRow, detail: TaskDetail) -> bool:
    return any(change.run_id == run.id and change.new_status == TaskStatus.RETRY for change in detail.history)


def _wait(start: datetime, end: datetime, label: str) -> list[Bar]:
    seconds = (end - start).total_seconds()
    if seconds < SHORTEST_WAIT_SECONDS:
        return []
    return [Bar(label, (Piece(start, end, "░", "muted"),), took=words.duration(seconds))]


def _run_bar(number: int, run: RunRow, end: datetime, detail: TaskDetail, manner: Manner) -> Bar:
    spent = total(call.cost for call in detail.calls if call.run_id == run.id)
    late = " late result" if run.late else ""
    role = _RUN_ROLES.get(run.outcome, "wrong")
    return Bar(
        f"run {number}  {safe(run.worker_id)}{late}",
        (Piece(run.claimed_at, end, "█", role, run.finished_at is None),),
        words.glyph(run.outcome, ascii=manner.ascii_only),
        words.duration((end - run.claimed_at).total_seconds()),
        manner.money(spent),
        Key("run", run.id),
    )


def _within(run: RunRow, end: datetime, detail: TaskDetail, manner: Manner, with_calls: bool) -> list[Bar]:
    """The steps of a run, each with its calls and tools; before them those that belong to no step."""
    steps = [step for step in detail.steps if step.run_id == run.id]
    calls = [call for call in detail.calls if call.run_id == run.id] if with_calls else []
    tools = [tool for tool in detail.tools if tool.run_id == run.id] if with_calls else []
    numbers = {step.position: step.position for step in steps}

    def inside(position: int | None) -> list[Bar]:
        own = [call for call in calls if numbers.get(call.step_position or 0) == position]
        used = [tool for tool in tools if numbers.get(tool.step_position or 0) == position]
        return sorted([*_calls(own, end, manner), *_tools(used, end, manner)], key=lambda bar: bar.start)

    found = inside(None)
    for step in steps:
        found += [_step_bar(step, run, end, detail, manner), *inside(step.position)]
    if run.finished_at is None and "started" not in {
        *(call.outcome for call in calls),
        *(tool.outcome for tool in tools),
    }:
        found += _now(run, detail)
    return found


def _now(run: RunRow, detail: TaskDetail) -> list[Bar]:
    """What a run does now, where no bar says it."""
    activity = detail.task.activity
    if not activity:
        return []
    piece = Piece(detail.at, detail.at, "─", "moving")
    return [Bar("    now", (piece,), note=safe(activity))]


def _step_bar(step: StepRow, run: RunRow, run_end: datetime, detail: TaskDetail, manner: Manner) -> Bar:
    key = Key("step", run.id, str(step.position))
    label = f"  {safe(step.agent or step.name)}"
    if step.resumed_from is not None:  # an earlier run completed it, and this one went on after it: no time passed
        tick = words.glyph("completed", ascii=manner.ascii_only)
        return Bar(label, (Piece(run.claimed_at, run.claimed_at, tick, "muted"),), tick, "kept", key=key)
    seconds = step.seconds
    end = run_end if seconds is None else min(run_end, step.started_at + timedelta(seconds=seconds))
    spent = total(c.cost for c in detail.calls if c.run_id == run.id and c.step_position == step.position)
    role = "watch" if detail.task.stuck and seconds is None else _STEP_ROLES.get(step.status, "wrong")
    open_end = seconds is None and run.finished_at is None
    return Bar(
        label,
        (Piece(step.started_at, max(end, step.started_at), "▅", role, open_end),),
        words.glyph(step.status, ascii=manner.ascii_only),
        words.duration((end - step.started_at).total_seconds()),
        manner.money(spent),
        key,
    )


def _calls(calls: Sequence[CallRow], end: datetime, manner: Manner) -> list[Bar]:
    """The calls of a step: a row for each, or one for all of them."""
    pieces = [_call_pieces(before, call, end) for before, call in zip([None, *calls], calls, strict=False)]
    if len(calls) <= CALLS_APART:
        return [_call_bar([call], own, safe(call.model), manner) for call, own in zip(calls, pieces, strict=True)]
    everything = tuple(piece for own in pieces for piece in own)
    return [_call_bar(calls, everything, f"{words.count(len(calls))} calls", manner)]


def _tools(tools: Sequence[ToolRow], end: datetime, manner: Manner) -> list[Bar]:
    """The uses of tools in a step: a row for each, or one for all of them."""
    pieces = [_tool_piece(tool, end) for tool in tools]
    if len(tools) <= CALLS_APART:
        named = zip(tools, pieces, strict=True)
        return [_tool_bar("tool", [tool], (own,), f"tool {safe(tool.tool)}", manner) for tool, own in named]
    return [_tool_bar("tools", tools, tuple(pieces), f"{words.count(len(tools))} uses of tools", manner)]


def _tool_piece(tool: ToolRow, end: datetime) -> Piece:
    goes_on = tool.seconds is None
    stop = end if goes_on else min(end, tool.started_at + timedelta(seconds=tool.seconds or 0.0))
    return Piece(tool.started_at, max(stop, tool.started_at), "╌", _TOOL_ROLES.get(tool.outcome, "wrong"), goes_on)


def _tool_bar(kind: str, tools: Sequence[ToolRow], pieces: tuple[Piece, ...], label: str, manner: Manner) -> Bar:
    outcome = next((tool.outcome for tool in tools if tool.outcome != "ok"), "ok")
    return Bar(
        f"    {label}",
        pieces,
        words.glyph(outcome, ascii=manner.ascii_only),
        words.duration(sum((piece.end - piece.start).total_seconds() for piece in pieces)),
        "",
        Key(kind, tools[0].run_id, str(tools[0].number)),
    )


def _call_pieces(before: CallRow | None, call: CallRow, end: datetime) -> tuple[Piece, ...]:
    """A call, and the time since the one before it where that failed: what passed until it was tried again."""
    waits = call.outcome == "started"
    stop = end if waits else max(call.started_at, min(end, _ended(call)))
    piece = Piece(call.started_at, stop, "─", _CALL_ROLES.get(call.outcome, "wrong"), waits)
    if before is None or before.outcome in ("ok", "started"):
        return (piece,)
    gap = (call.started_at - _ended(before)).total_seconds()
    return (Piece(_ended(before), call.started_at, "░", "muted"), piece) if gap >= SHORTEST_WAIT_SECONDS else (piece,)


def _ended(call: CallRow) -> datetime:
    return call.started_at + timedelta(seconds=call.seconds or 0.0)


def _call_bar(calls: Sequence[CallRow], pieces: tuple[Piece, ...], label: str, manner: Manner) -> Bar:
    kind = "call" if len(calls) == 1 else "calls"
    times = [call.seconds for call in calls if call.seconds is not None]
    times += [(piece.end - piece.start).total_seconds() for piece in pieces if piece.open_end]
    outcome = next((call.outcome for call in calls if call.outcome != "ok"), "ok")
    return Bar(
        f"    {label}",
        pieces,
        words.glyph(outcome, ascii=manner.ascii_only),
        words.duration(sum(times) if times else None),
        manner.money(total(call.cost for call in calls)),
        Key(kind, calls[0].run_id, calls[0].call_id),
    )
