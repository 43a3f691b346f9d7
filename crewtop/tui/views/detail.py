"""One task's whole story, in parts: story, inputs, result, error, log, history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from crewtop import words
from crewtop.model.snapshot import Excerpt, HistoryRow, RunRow, TaskDetail, TaskRow
from crewtop.model.task import RunOutcome
from crewtop.tui.actions import View
from crewtop.tui.columns import Cell, Column, fit, heading, row
from crewtop.tui.effects import Copy, Effect, LoadBody, Say
from crewtop.tui.follow import Follow
from crewtop.tui.manner import Manner, data, safe
from crewtop.tui.paint import BLANK, Line, Span, joined, line, spread
from crewtop.tui.reading import AT_ONCE_CHARACTERS, MOST_CHARACTERS, Job, Kind, Reading
from crewtop.tui.source import Body
from crewtop.tui.views import story
from crewtop.tui.views.cells import STATUS_ROLES
from crewtop.tui.views.page import Page
from crewtop.tui.views.taskrows import status_span, why
from crewtop.tui.wants import RunLog, Story, Stream, Want

PANES = {"story": "s", "inputs": "i", "result": "o", "error": "e", "log": "l", "history": "h"}
"""The parts, with the keys that the registry gives them."""

HISTORY_COLUMNS = (
    Column("STATUS", 24, most=28),
    Column("RUN", 8, 3, right=True),
    Column("BY", 14, 1, most=30),
    Column("WHY", 12, 2, most=120),
)


class Detail(Page):
    """State of the view: the task, which part is open, and where each part is scrolled to."""

    kind = View.DETAIL

    def __init__(self, manner: Manner, task_id: int, pane: str | None = None) -> None:
        super().__init__(manner)
        self.task_id = task_id
        self.detail: TaskDetail | None = None
        self.gone = False
        self.pane = pane or "story"
        self.log = Follow()
        self._log_run: int | None = None
        self._readings: dict[str, Reading] = {}
        self._loaded: dict[tuple[int | None, Body], Excerpt] = {}
        self._top = 0
        self._end = 0
        self._height = 1

    @property
    def want(self) -> Want:
        """The task's story."""
        return Story(self.task_id)

    def answer(self, want: Want, answer: Any) -> None:
        """Show what was asked for."""
        if want == self.want:
            self.gone = answer is None
            if answer is not None:
                self.detail = answer

    @property
    def loading(self) -> bool:
        """Whether there is nothing to show yet."""
        return self.detail is None and not self.gone

    @property
    def chosen(self) -> Sequence[TaskRow]:
        """The task."""
        return (self.detail.task,) if self.detail is not None else ()

    @property
    def stream(self) -> Stream | None:
        """The output of the run that goes on, or None."""
        run = self._newest
        return RunLog(run.id) if run is not None and run.outcome == RunOutcome.RUNNING else None

    def told(self, stream: Stream, item: Any) -> None:
        """More output of a run; another run than before begins anew."""
        if isinstance(stream, RunLog):
            if stream.run_id != self._log_run:
                self._log_run, self.log = stream.run_id, Follow()
            self.log.take(item)

    def take_body(self, run_id: int | None, body: Body, excerpt: Excerpt) -> None:
        """More of a long text."""
        self._loaded[run_id, body] = excerpt

    @property
    def job(self) -> Job | None:
        """Work on the text in sight that has to be done elsewhere."""
        reading = self._readings.get(self.pane)
        return reading.job if reading else None

    def finish(self, job: Job, rows: Any) -> None:
        """The rows of such a job."""
        for reading in self._readings.values():
            if reading.job == job:
                reading.finish(job, rows)

    def do(self, command: str, height: int) -> Effect | None:
        """Obey a command."""
        match command:
            case "next_pane" | "previous_pane":
                step = 1 if command == "next_pane" else -1
                names = list(PANES)
                self.pane = names[(names.index(self.pane) + step) % len(names)]
                self._top = 0
            case "story" | "inputs" | "result" | "error" | "log" | "history":
                self.pane, self._top = command, 0
            case "more":
                return self._more()
            case "copy":
                return Copy(str(self.task_id))
            case _:
                self._scroll(command)
        return None

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        if self.detail is None:
            text = f"there is no task {self.task_id} any more" if self.gone else "loading the task"
            return [line("  ", Span(text, "muted"))]
        airy = [BLANK] if height >= 12 else []
        head = [self._title(width), *self._reason(width), *self._ties(width), *airy, self._tabs(width), *airy]
        room = max(1, height - len(head))
        return [*head, *self._pane_lines(self.detail, width, room)]

    # Head

    def _title(self, width: int) -> Line:
        assert self.detail is not None
        left = story.title(self.detail, width, status_span(self.detail.task, self.manner))
        right = Span(story.facts(self.detail, self.manner) + " ", "muted")
        gone = Span("   deleted since", "watch") if self.gone else Span("")
        return Line(spread(joined(left, gone), (right,), width, self.manner.cut))

    def _reason(self, width: int) -> list[Line]:
        assert self.detail is not None
        reason = joined("  ", why(self.detail.task, self.detail.at, self.manner))
        return [Line(spread(reason, (), width, self.manner.cut))] if Line(reason).text.strip() else []

    def _ties(self, width: int) -> list[Line]:
        assert self.detail is not None
        clauses = safe("   ".join(words.ties(self.detail.ties)))
        said = joined("  ", Span(clauses, "muted"))
        return [Line(spread(said, (), width, self.manner.cut))] if clauses else []

    def _tabs(self, width: int) -> Line:
        spans: list[Span] = [Span("  ")]
        for name, key in PANES.items():
            on = name == self.pane
            spans += [
                Span(f"{key} ", "accent", on),
                Span(name.capitalize(), "text" if on else "muted", on),
                Span("   "),
            ]
        return Line(spread(tuple(spans), (Span(self._beside_tabs(), "muted"), Span(" ")), width, self.manner.cut))

    def _beside_tabs(self) -> str:
        if self.pane == "log":
            lost = f"{words.count(self.log.lost)} lines lost, " if self.log.lost else ""
            return lost + ("following" if self.log.following else "G follows") if self._live else ""
        excerpt = self._excerpt()
        if excerpt is None or excerpt.whole:
            return ""
        here = len(excerpt.text.encode("utf-8", "surrogatepass"))
        return f"showing {words.size(here)} of {words.size(excerpt.size)}, m loads more"

    # Panes

    def _pane_lines(self, detail: TaskDetail, width: int, room: int) -> list[Line]:
        if self.pane == "story":
            return self._story(detail, width, room)
        if self.pane == "history":
            return self._windowed(_history(detail.history, detail.at, width, self.manner), room)
        if self.pane == "log" and self._live:
            rows = self.log.rows(width - 4, room)
            return [line("  ", Span(text)) for text in rows] or [line("  ", Span("nothing printed yet", "muted"))]
        return self._text(width, room)

    def _story(self, detail: TaskDetail, width: int, room: int) -> list[Line]:
        drawn = story.lines(detail, width, self.manner)
        left = room - len(drawn) - 1
        if left >= 4:
            drawn += [
                BLANK,
                *story.beside(self._glance("inputs", width), self._glance_right(width, left), width, left, self.manner),
            ]
        return self._windowed(drawn, room)

    def _glance_right(self, width: int, height: int) -> tuple[str, list[str]]:
        if self._live:
            return "LOG", self.log.rows(width // 2 - 4, height - 1)
        task = self.detail.task if self.detail else None
        return self._glance("result" if task is not None and task.status == "completed" else "error", width)

    def _glance(self, pane: str, width: int) -> tuple[str, list[str]]:
        text, kind = self._content(pane)
        if not text:
            return pane.upper(), ["-"]
        return pane.upper(), Job(
            text if len(text) <= AT_ONCE_CHARACTERS else text[:4_000], kind, (width - 6) // 2
        ).rows()

    def _text(self, width: int, room: int) -> list[Line]:
        text, kind = self._content(self.pane)
        if not text:
            return [line("  ", Span(_NONE[self.pane], "muted"))]
        reading = self._readings.setdefault(self.pane, Reading())
        reading.set(text, kind)
        rows = reading.rows(width - 4, room)
        if rows is None:
            return [line("  ", Span("preparing the text", "muted"))]
        first = self.pane == "error" and reading.top == 0
        return [
            line("  ", Span(text, "wrong" if first and i == 0 else "text", first and i == 0))
            for i, text in enumerate(rows)
        ]

    def _windowed(self, drawn: list[Line], room: int) -> list[Line]:
        self._height, self._end = room, len(drawn)
        self._top = min(max(0, self._top), max(0, self._end - room))
        return drawn[self._top : self._top + room]

    # Texts

    @property
    def _newest(self) -> RunRow | None:
        return max(self.detail.runs, key=lambda run: run.id, default=None) if self.detail else None

    @property
    def _live(self) -> bool:
        return self.stream is not None

    def _where(self, pane: str) -> tuple[int | None, Body] | None:
        """Which long text a part shows: of which run, and which."""
        if pane == "inputs":
            return None, "inputs"
        runs = sorted(self.detail.runs, key=lambda run: -run.id) if self.detail else []
        if pane == "log":
            return (runs[0].id, "log") if runs else None
        for run in runs:
            if pane == "result" and run.result is not None:
                return run.id, "result"
            if pane == "error" and (run.error is not None or run.error_type):
                return run.id, "traceback"
        return None

    def _excerpt(self, pane: str | None = None) -> Excerpt | None:
        where = self._where(pane or self.pane)
        if where is None or self.detail is None:
            return None
        if where in self._loaded:
            return self._loaded[where]
        run_id, body = where
        if body == "inputs":
            return self.detail.inputs
        run = next(run for run in self.detail.runs if run.id == run_id)
        return {"log": run.log_tail, "result": run.result, "traceback": run.traceback}.get(body)

    def _content(self, pane: str) -> tuple[str, Kind]:
        excerpt = self._excerpt(pane)
        text = excerpt.text if excerpt else ""
        if pane != "error":
            return text, "text" if pane == "log" else "json"
        where = self._where("error")
        if self.detail is None:
            return "", "text"
        if where is None:  # failed by an operator before any run
            return self.detail.task.error or "", "text"
        run = next(run for run in self.detail.runs if run.id == where[0])
        cause = ": ".join(part for part in (run.error_type, run.error.text if run.error else None) if part)
        late = f"run {run.id} on {run.worker_id} at {self.manner.clock(run.finished_at or run.claimed_at)}"
        return "\n\n".join(part for part in (cause, late, text) if part), "text"

    def _more(self) -> Effect | None:
        excerpt, where = self._excerpt(), self._where(self.pane)
        if excerpt is None or where is None or excerpt.whole:
            return Say("all of it is here")
        if len(excerpt.text) >= MOST_CHARACTERS:
            return Say(
                f"no more than {words.size(MOST_CHARACTERS)} are shown here: crewtop show {self.task_id} has all"
            )
        return LoadBody(self.task_id, where[0], where[1], min(MOST_CHARACTERS, max(65_536, len(excerpt.text) * 4)))

    def _scroll(self, command: str) -> None:
        if self.pane == "log" and self._live:
            self.log.scroll(command)
        elif self.pane in ("story", "history"):
            page = max(1, self._height - 1)
            steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "first": -self._end, "last": self._end}
            self._top += steps.get(command, 0)
            self._top = min(max(0, self._top), max(0, self._end - self._height))
        elif self.pane in self._readings:
            self._readings[self.pane].scroll(command)


_NONE = {
    "inputs": "no inputs",
    "result": "no result yet",
    "error": "nothing went wrong so far",
    "log": "nothing was printed",
}


def _history(history: tuple[HistoryRow, ...], at: datetime, width: int, manner: Manner) -> list[Line]:
    today = all(change.at.date() == at.date() for change in history)
    fitted = fit((Column("AT", 13 if today else 24), *HISTORY_COLUMNS), width - 3)
    drawn = [heading(fitted, "  ")]
    for change in history:
        before = Span(f"{safe(change.old_status)} {manner.glyph('→')} " if change.old_status else "", "muted")
        new = Span(manner.status(change.new_status), STATUS_ROLES.get(change.new_status, "text"))
        cells: list[Cell] = [
            Span(manner.clock(change.at) if today else manner.stamp(change.at), "muted"),
            joined(before, new),
            Span(str(change.run_id) if change.run_id is not None else words.NOTHING, "muted"),
            data(change.actor),
            data(change.reason or "", "muted"),
        ]
        drawn.append(row(fitted, cells, "ground", (Span("  "),), manner.cut))
    return drawn
