"""The long texts of a task: which of them a part shows, what is loaded of it, and all of it for elsewhere."""

from __future__ import annotations

from crewtop import words
from crewtop.model.detail import Excerpt, RunRow, TaskDetail
from crewtop.tui.effects import Effect, LoadBody, Say, Whole
from crewtop.tui.manner import Manner
from crewtop.tui.reading import MOST_CHARACTERS, Kind
from crewtop.tui.source import Body
from crewtop.tui.views.bars import Key
from crewtop.tui.views.detail_sheets import sheet

NONE = {
    "inputs": "no inputs",
    "result": "no result yet",
    "error": "nothing went wrong so far",
    "log": "nothing was printed",
    "sheet": "no more is known of it",
}
"""What is said where there is no text."""

MOST_LOADED = 4
"""Texts of which more than the first part is kept in memory."""

_BODIES: dict[str, Body] = {"result": "result", "error": "traceback", "log": "log"}


class Texts:
    """The texts of one task.

    run is the number of the run that the operator chose, or None: the newest that tells; sheet the step or LLM call
    that is looked at.
    """

    def __init__(self, manner: Manner, task_id: int) -> None:
        self.manner = manner
        self.task_id = task_id
        self.detail: TaskDetail | None = None
        self.run: int | None = None
        self.sheet: Key | None = None
        self._loaded: dict[tuple[int | None, Body], Excerpt] = {}

    def take_body(self, run_id: int | None, body: Body, excerpt: Excerpt) -> None:
        """More of a text."""
        self._loaded.pop((run_id, body), None)
        self._loaded[run_id, body] = excerpt
        while len(self._loaded) > MOST_LOADED:
            del self._loaded[next(iter(self._loaded))]

    # Runs

    @property
    def runs(self) -> list[RunRow]:
        """The runs in the order in which they began: run 1 is the first of them."""
        return sorted(self.detail.runs, key=lambda run: run.id) if self.detail else []

    def number(self, pane: str) -> int | None:
        """The number of the run that a part shows, or None where there is none."""
        runs = self.runs
        if self.run is not None and self.run <= len(runs):
            return self.run
        telling = [n for n, run in enumerate(runs, start=1) if _tells(run, pane)]
        return telling[-1] if telling else None

    def shown(self, pane: str) -> RunRow | None:
        """That run."""
        number = self.number(pane)
        return self.runs[number - 1] if number is not None else None

    def step(self, pane: str, steps: int) -> Say | None:
        """Show a later run, or an earlier one."""
        runs = len(self.runs)
        if pane not in _BODIES or not runs:
            return Say("result, error and log are those of a run: open one of them first")
        wanted = (self.number(pane) or runs) + steps
        if not 1 <= wanted <= runs:
            return Say("this is the first run" if steps < 0 else "this is the newest run")
        self.run = wanted
        return None

    # Texts

    def excerpt(self, pane: str) -> Excerpt | None:
        """What is loaded of the text of a part."""
        where = self._where(pane)
        if where is None or self.detail is None:
            return None
        if where in self._loaded:
            return self._loaded[where]
        run = self.shown(pane)
        if run is None:
            return self.detail.inputs if pane == "inputs" else None
        return {"log": run.log_tail, "result": run.result, "error": run.traceback}.get(pane)

    def content(self, pane: str) -> tuple[str, Kind]:
        """What a part shows, as it was written: not yet safe."""
        if pane == "error":
            return "\n\n".join(self._error()), "text"
        if pane == "sheet":
            return self._sheet(), "text"
        excerpt = self.excerpt(pane)
        return excerpt.text if excerpt else "", "text" if pane == "log" else "json"

    def none(self, pane: str) -> str:
        """What to say where a part has no text."""
        number = self.number(pane) if self.run is not None else None
        if number is None or pane == "inputs":
            return NONE[pane]
        said = {"result": "no result", "error": "no error", "log": "nothing that it printed"}
        return f"there is {said[pane]} of run {number}"

    def loading(self, pane: str) -> str:
        """How much of the text is loaded where that is not all of it."""
        excerpt = self.excerpt(pane)
        if excerpt is None or excerpt.whole:
            return ""
        here = len(excerpt.text.encode("utf-8", "surrogatepass"))
        folds = ", JSON folds when all is here" if pane in ("inputs", "result") else ""
        key = self.manner.key
        whole = f"{key('save')} saves all, {key('pager')} reads all"
        more = f"{key('more')} loads more{folds}" if len(excerpt.text) < MOST_CHARACTERS else whole
        return f"showing {words.size(here)} of {words.size(excerpt.size)}, {more}"

    def more(self, pane: str) -> Effect:
        """Ask for more of the text of a part."""
        excerpt, where = self.excerpt(pane), self._where(pane)
        if excerpt is None or where is None or excerpt.whole:
            return Say("all of it is here")
        if len(excerpt.text) >= MOST_CHARACTERS:
            whole = f"{self.manner.key('save')} saves all of it, {self.manner.key('pager')} reads it"
            return Say(f"no more than {words.size(MOST_CHARACTERS)} are shown here: {whole}")
        return LoadBody(self.task_id, where[0], where[1], min(MOST_CHARACTERS, max(65_536, len(excerpt.text) * 4)))

    def whole(self, pane: str) -> Whole | None:
        """All of the text of a part, whether or not it is loaded; None where there is none."""
        text, kind = self.content(pane)
        if not text:
            return None
        excerpt, where = self.excerpt(pane), self._where(pane)
        if excerpt is None or where is None or excerpt.whole:
            return Whole(kind, text)
        before, after = ("", "")
        if pane == "error":
            before, _, after = text.partition(excerpt.text)
        return Whole(kind, before, LoadBody(self.task_id, where[0], where[1], 0), after)

    def _where(self, pane: str) -> tuple[int | None, Body] | None:
        if pane == "inputs":
            return None, "inputs"
        run = self.shown(pane)
        return (run.id, _BODIES[pane]) if run is not None and pane in _BODIES else None

    def _sheet(self) -> str:
        if self.sheet is None or self.detail is None:
            return ""
        return sheet(self.detail, self.sheet, self.manner) or ""

    # Errors

    def _error(self) -> list[str]:
        """The cause, where it happened, its traceback, and what went wrong in the other runs, newest first."""
        if self.detail is None:
            return []
        run = self.shown("error")
        if run is None:  # failed by an operator before any run
            return [self.detail.task.error] if self.detail.task.error else []
        if not _tells(run, "error"):
            return []
        excerpt = self.excerpt("error")
        others = [self._attempt(other) for other in reversed(self.runs) if other is not run and _tells(other, "error")]
        parts = [_cause(run), self._when(run), excerpt.text if excerpt else ""]
        parts.append("Other runs\n" + "\n".join(others) if others else "")
        return [part for part in parts if part]

    def _when(self, run: RunRow) -> str:
        number = self.runs.index(run) + 1
        return f"run {number} on {run.worker_id} at {self.manner.clock(run.finished_at or run.claimed_at)}"

    def _attempt(self, run: RunRow) -> str:
        return f"{self._when(run)}: {run.outcome.replace('_', ' ')}: {_cause(run)}"


def _tells(run: RunRow, pane: str) -> bool:
    """Whether a run has what a part shows."""
    if pane == "result":
        return run.result is not None
    if pane == "error":
        return run.error is not None or bool(run.error_type)
    return pane == "log"


def _cause(run: RunRow) -> str:
    return ": ".join(part for part in (run.error_type, run.error.text if run.error else None) if part)
