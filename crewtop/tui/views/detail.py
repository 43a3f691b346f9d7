"""One task's whole story, in parts: story, inputs, result, error, log, history, related."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crewtop.model.detail import Excerpt, TaskDetail, TaskRow
from crewtop.model.task import RunOutcome, TaskStatus
from crewtop.tui.actions import View
from crewtop.tui.effects import Copy, Effect, Say
from crewtop.tui.follow import Follow
from crewtop.tui.manner import Manner
from crewtop.tui.paint import BLANK, Line, Span, clip_spans, line
from crewtop.tui.reading import Job
from crewtop.tui.source import Body
from crewtop.tui.views import detail_head, detail_history, story
from crewtop.tui.views.bars import Key
from crewtop.tui.views.detail_head import PANES
from crewtop.tui.views.detail_reader import Reader
from crewtop.tui.views.detail_related import Related
from crewtop.tui.views.detail_texts import Texts
from crewtop.tui.views.page import Page
from crewtop.tui.wants import RunLog, Story, Stream, Want

GLANCE_LINES = 4
"""A page of the story with fewer free lines than this shows nothing of input and output."""

_ABOUT_TEXTS = ("search", "next_match", "previous_match", "copy_text", "copy_all", "save", "pager")


class Detail(Page):
    """State of the view: the task, which part is open, and where each part is scrolled to."""

    kind = View.DETAIL
    columns = (*story.CALL_COLUMNS, *detail_history.HISTORY_COLUMNS)

    def __init__(self, manner: Manner, task_id: int, pane: str | None = None) -> None:
        super().__init__(manner)
        self.task_id = task_id
        self.detail: TaskDetail | None = None
        self.gone = False
        self.pane = pane or "story"
        self._texts = Texts(manner, task_id)
        self._reader = Reader(manner, self._texts, self.pane)
        self._story = story.Story(manner)
        self._related = Related(manner)
        self._log_begins = True
        self._top = 0
        self._end = 0
        self._height = 1
        self._head = 0

    # What the source says

    @property
    def want(self) -> Want:
        """The task's story."""
        return Story(self.task_id)

    def answer(self, want: Want, answer: Any) -> None:
        """Show what was asked for."""
        if want == self.want:
            self.gone, self.problem = answer is None, ""
            if answer is not None:
                self.detail = self._texts.detail = answer

    @property
    def loading(self) -> bool:
        """Whether there is nothing to show yet."""
        return self.detail is None

    @property
    def chosen(self) -> Sequence[TaskRow]:
        """The task."""
        return (self.detail.task,) if self.detail is not None else ()

    @property
    def stream(self) -> Stream | None:
        """The output of the run that goes on, or None."""
        newest = self._texts.runs[-1:]
        return RunLog(newest[0].id) if newest and newest[0].outcome == RunOutcome.RUNNING else None

    def begin(self, stream: Stream) -> None:
        """The output of a run is told once more from its first line; until it comes, what is shown stays."""
        self._log_begins = True

    def told(self, stream: Stream, item: Any) -> None:
        """More output of a run."""
        if self._log_begins:
            self._log_begins, self._reader.log = False, Follow()
        self.log.take(item)

    def take_body(self, run_id: int | None, body: Body, excerpt: Excerpt) -> None:
        """More of a long text."""
        self._texts.take_body(run_id, body, excerpt)

    @property
    def job(self) -> Job | None:
        """Work on the text in sight that has to be done elsewhere."""
        return self._reader.job if self._reads else None

    def finish(self, job: Job, rows: Any) -> None:
        """The rows of such a job."""
        self._reader.finish(job, rows)

    @property
    def log(self) -> Follow:
        """The output of the run that goes on."""
        return self._reader.log

    # Keys

    @property
    def _reads(self) -> bool:
        """Whether a long text is open: one of the task's, or all about a step or a call."""
        return self.pane in ("inputs", "result", "error", "log") or self._texts.sheet is not None

    @property
    def at_rest(self) -> bool:
        """Whether no search and no sheet is open."""
        return self._texts.sheet is None and not (self._reads and self._reader.search.wanted)

    def press(self, key: str) -> Effect | None:
        """A key while a search is typed."""
        effect = self._reader.press(key)
        self.edit = self._reader.edit
        return effect

    def click(self, y: int) -> Effect | None:
        """A click on a line goes there; on the cursor's own line it opens."""
        row = y - self._head
        if row < 0:
            return None
        if self._reads:
            return self._reader.click(row)
        if self.pane == "story" and self._story.click(row):
            return self._open(self._story.under)
        return self._related.open() if self.pane == "related" and self._related.click(row) else None

    def do(self, command: str, height: int) -> Effect | None:
        """Obey a command."""
        match command:
            case "next_pane" | "previous_pane":
                step = 1 if command == "next_pane" else -1
                names = list(PANES)
                self._turn(names[(names.index(self.pane) + step) % len(names)])
            case name if name in PANES:
                self._turn(name)
            case "more":
                return self._texts.more(self._part)
            case "copy":
                return Copy(str(self.task_id))
            case "older_run" | "newer_run":
                return self._texts.step(self.pane, -1 if command == "older_run" else 1)
            case "back":
                self._back()
            case _:
                return self._in_pane(command)
        return None

    @property
    def _part(self) -> str:
        return "sheet" if self._texts.sheet is not None else self.pane

    def _turn(self, pane: str) -> None:
        self.pane, self._top = pane, 0
        self._texts.sheet = None
        self._reader.part = self._part

    def _back(self) -> None:
        if self._reader.search.wanted:
            self._reader.search.drop()
        else:
            self._turn(self.pane)

    def _in_pane(self, command: str) -> Effect | None:
        if self._reads:
            effect = self._reader.do(command)
            self.edit = self._reader.edit
            return effect
        if command in _ABOUT_TEXTS:
            return Say("that is for texts: inputs, result, error and log")
        match self.pane:
            case "story" if command == "show":
                return self._open(self._story.under)
            case "story" if command == "expand":
                self._story.expand()
            case "story":
                self._story.scroll(command)
            case "related" if command == "show":
                return self._related.open()
            case "related":
                self._related.scroll(command)
            case _:
                self._scroll(command)
        return None

    def _open(self, key: Key | None) -> Effect | None:
        """Show more of what is under the cursor of the story."""
        if key is None:
            return Say("nothing to open here")
        match key.kind:
            case "run":
                self._open_run(key.run_id)
            case "calls":
                self._story.go(Key("call", key.run_id, key.name, table=True))
            case _:
                self._texts.sheet = key
                self._reader.part = self._part
        return None

    def _open_run(self, run_id: int) -> None:
        """What matters most of a run: its output while it runs, then its result or its error."""
        runs = self._texts.runs
        number = next(n for n, run in enumerate(runs, start=1) if run.id == run_id)
        run = runs[number - 1]
        pane = "result" if run.result is not None else "error" if run.error is not None or run.error_type else "log"
        self._turn("log" if run.outcome == RunOutcome.RUNNING else pane)
        self._texts.run = number

    def _scroll(self, command: str) -> None:
        page = max(1, self._height - 1)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "first": -self._end, "last": self._end}
        self._top += steps.get(command, 0)

    # Drawing

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        if self.detail is None:
            text = f"there is no task {self.task_id}" if self.gone else self.problem or "loading the task"
            return [line("  ", Span(text, "muted"))]
        note = self.problem or (self._reader.note if self._reads else "")
        head = detail_head.lines(self.detail, self.pane, note, width, height, self.manner, self.gone)
        self._head = len(head)
        room = max(1, height - len(head))
        drawn = [*head, *self._pane_lines(self.detail, width, room)]
        return [each._replace(spans=clip_spans(each.spans, width, self.manner.cut)) for each in drawn]

    def _pane_lines(self, detail: TaskDetail, width: int, room: int) -> list[Line]:
        if self._reads:
            return self._reader.lines(width, room)
        match self.pane:
            case "story":
                return self._story_lines(detail, width, room)
            case "related":
                return self._related.lines(detail.ties, width, room)
        return self._windowed(detail_history.lines(detail.history, detail.at, width, self.manner), room)

    def _story_lines(self, detail: TaskDetail, width: int, room: int) -> list[Line]:
        drawn = self._story.lines(detail, width, room)
        left = room - len(drawn) - 1
        if left < GLANCE_LINES:
            return drawn
        cells = (width - 6) // 2
        after = "result" if detail.task.status is TaskStatus.COMPLETED else "error"
        right = self._reader.glance("log" if self.stream is not None else after, cells, left - 1)
        glanced = self._reader.glance("inputs", cells, left - 1)
        return [*drawn, BLANK, *story.beside(glanced, right, width, left, self.manner)]

    def _windowed(self, drawn: list[Line], room: int) -> list[Line]:
        self._height, self._end = room, len(drawn)
        self._top = min(max(0, self._top), max(0, self._end - room))
        return drawn[self._top : self._top + room]
