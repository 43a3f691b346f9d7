"""All that is known of one step, of one LLM call or of tools that were used, as a text to read."""

from __future__ import annotations

from crewtop import words
from crewtop.model.detail import CallRow, StepRow, TaskDetail, ToolRow
from crewtop.tui.manner import Manner
from crewtop.tui.views.bars import Key

NAME_CELLS = 16


def sheet(detail: TaskDetail, key: Key, manner: Manner) -> str | None:
    """The text for a step, a call or tools, not yet safe to show; None where it is gone from what is loaded."""
    if key.kind == "call":
        call = next((c for c in detail.calls if (c.run_id, c.call_id) == (key.run_id, key.name)), None)
        return _call(call, detail, manner) if call is not None else None
    if key.kind in ("tool", "tools"):
        tool = next((t for t in detail.tools if (t.run_id, str(t.number)) == (key.run_id, key.name)), None)
        return (
            None
            if tool is None
            else _tool(tool, detail, manner)
            if key.kind == "tool"
            else _tools(tool, detail, manner)
        )
    step = next((s for s in detail.steps if (s.run_id, str(s.position)) == (key.run_id, key.name)), None)
    return _step(step, detail, manner) if step is not None else None


def _call(call: CallRow, detail: TaskDetail, manner: Manner) -> str:
    waiting = call.outcome == "started"
    facts = {
        "LLM call": call.model,
        "provider": call.provider or words.UNKNOWN,
        "outcome": "waiting for its answer" if waiting else call.outcome.replace("_", " "),
        "error": call.error or "",
        "run": _run(call.run_id, detail),
        "step": str(call.step_position) if call.step_position is not None else "none",
        "agent": call.agent or words.NOTHING,
        "began": manner.stamp(call.started_at),
        "took": "" if waiting else words.duration(call.seconds),
        "cost": manner.money(call.cost),
        "price from": call.price_source,
        "in, not cached": _tokens(call.input_tokens),
        "in, cached": _tokens(call.cache_read_tokens),
        "in, written": _tokens(call.cache_write_tokens),
        "out": _tokens(call.output_tokens),
        "  reasoning": _tokens(call.reasoning_tokens),
        "call": call.call_id,
    }
    return _told(facts)


def _tool(tool: ToolRow, detail: TaskDetail, manner: Manner) -> str:
    facts = {
        "tool": tool.tool,
        "outcome": "" if tool.outcome == "started" else tool.outcome,
        "error": tool.error or "",
        "run": _run(tool.run_id, detail),
        "step": str(tool.step_position) if tool.step_position is not None else "none",
        "began": manner.stamp(tool.started_at),
        "took": words.duration(tool.seconds) if tool.seconds is not None else "it has no end",
    }
    return _told(facts)


def _tools(first: ToolRow, detail: TaskDetail, manner: Manner) -> str:
    """Those of the same step of the same run, one below the other."""
    place = first.run_id, first.step_position
    used = [_tool(tool, detail, manner) for tool in detail.tools if (tool.run_id, tool.step_position) == place]
    return "\n\n".join(used)


def _step(step: StepRow, detail: TaskDetail, manner: Manner) -> str:
    kept = f"kept: {_run(step.resumed_from, detail)} did it" if step.resumed_from is not None else ""
    facts = {
        f"step {step.position}": step.name,
        "agent": step.agent or words.NOTHING,
        "outcome": kept or step.status,
        "error": step.error or "",
        "run": _run(step.run_id, detail),
        "began": manner.stamp(step.started_at),
        "took": words.duration(step.seconds) if step.seconds is not None else "",
    }
    output = step.output
    said = ""
    if output is not None:
        size = "" if output.whole else f" (the beginning of {words.size(output.size)})"
        said = f"Output{size}\n{output.text}"
    description = f"Description\n{step.description}" if step.description else ""
    return "\n\n".join(part for part in (_told(facts), description, said) if part)


def _run(run_id: int, detail: TaskDetail) -> str:
    numbers = {run.id: n for n, run in enumerate(sorted(detail.runs, key=lambda run: run.id), start=1)}
    return f"{numbers[run_id]} of {len(numbers)} (id {run_id})" if run_id in numbers else f"id {run_id}"


def _tokens(number: int | None) -> str:
    return words.UNKNOWN if number is None else words.count(number)


def _told(facts: dict[str, str]) -> str:
    return "\n".join(f"{name:<{NAME_CELLS}}{value}" for name, value in facts.items() if value)
