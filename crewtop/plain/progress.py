"""How far a run is, in words: the same for the overview and for the task list."""

from __future__ import annotations

from crewtop.model.detail import TaskRow
from crewtop.model.snapshot import RunningRow
from crewtop.plain.paper import Paper


def run_state(status: str, *, stuck: str | None, cancelling: bool) -> str:
    """The state to show: what an operator asked for, then what is judged, then what is stored."""
    if cancelling:
        return "cancelling"
    return "stuck" if stuck is not None else status


def step_words(row: RunningRow | TaskRow, paper: Paper) -> str:
    """Where a run is: '2/3 Analyst · gpt-4.1', as far as known; '-' where nothing is."""
    position = ""
    if row.step_position is not None:
        position = str(row.step_position) if row.step_count is None else f"{row.step_position}/{row.step_count}"
    who = " ".join(filter(None, (position, paper.safe(row.agent or ""))))
    return paper.own(" · ").join(filter(None, (who, paper.safe(row.activity or "")))) or "-"
