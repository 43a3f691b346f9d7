"""Reading a task's long texts: one viewer for each part, with search, folding, copying, saving and the pager."""

from __future__ import annotations

from crewtop import words
from crewtop.model.task import RunOutcome
from crewtop.tui.edit import LineEdit
from crewtop.tui.effects import CopyText, Effect, Save, Say, ShowInPager, Whole
from crewtop.tui.folding import INDENT_CELLS, Document, Row
from crewtop.tui.follow import Follow
from crewtop.tui.manner import Manner
from crewtop.tui.paint import Line, Role, Span, clip_spans, joined, line
from crewtop.tui.reading import AT_ONCE_CHARACTERS, Job, Reading
from crewtop.tui.search import Search
from crewtop.tui.views.cells import lead
from crewtop.tui.views.detail_texts import Texts

MARGIN_CELLS = 4
"""Cells to the left and right of a text."""

GLANCE_CHARACTERS = 4_000
"""How much of a text that is longer than AT_ONCE_CHARACTERS is prepared for a glance at it."""


class Reader:
    """The viewers. part is the one that is open; edit is what is typed into while a search is asked for."""

    def __init__(self, manner: Manner, texts: Texts, part: str) -> None:
        self.manner, self.texts, self.part = manner, texts, part
        self.edit: LineEdit | None = None
        self.log = Follow()
        self._readings: dict[str, Reading] = {}
        self._glances: dict[str, Reading] = {}
        self._cells = 80

    @property
    def live(self) -> bool:
        """Whether the open part is the output of a run that goes on."""
        run = self.texts.shown("log") if self.part == "log" else None
        return run is not None and run.outcome == RunOutcome.RUNNING

    @property
    def _reading(self) -> Reading:
        return self._readings.setdefault(self.part, Reading())

    @property
    def _viewer(self) -> Reading | Follow:
        return self.log if self.live else self._reading

    @property
    def search(self) -> Search:
        """What is looked for in the open part."""
        return self._viewer.search

    @property
    def job(self) -> Job | None:
        """Work on the text in sight that has to be done elsewhere."""
        return None if self.live else self._reading.job

    def finish(self, job: Job, rows: Document) -> None:
        """What such a job came to."""
        for reading in self._readings.values():
            if reading.job == job:
                reading.finish(job, rows)

    # Keys

    def press(self, key: str) -> Effect | None:
        """A key while a search is typed."""
        if self.edit is None:
            return None
        if key == "enter":
            self._viewer.look(self.edit.text)
            self.edit = None
        elif key in ("escape", "ctrl+c"):
            self.edit = None
        else:
            self.edit.type(key)
        return None

    def do(self, command: str) -> Effect | None:
        """Obey a command that is about a text."""
        match command:
            case "search":
                self.edit = LineEdit(self.search.wanted, len(self.search.wanted))
            case "next_match" | "previous_match":
                if not self.search.wanted:
                    return Say("nothing is looked for: / asks what")
                self._viewer.step(1 if command == "next_match" else -1)
            case "copy_text" | "copy_all":
                return self._copy(command)
            case "save" | "pager":
                return self._away(command)
            case _:
                moved = self._viewer.scroll(command)
                if not moved and not self.live:
                    self._reading.fold(command)
        return None

    def _copy(self, command: str) -> Effect:
        text = self._viewer.text if command == "copy_all" else self._viewer.sight(self._cells)
        if not text.strip():
            return Say(self.texts.none(self.part))
        size = words.size(len(text.encode("utf-8", "surrogatepass")))
        what = "what is in sight" if command == "copy_text" else f"the {self.part}"
        partly = ", as far as it is loaded" if command == "copy_all" and self.texts.loading(self.part) else ""
        return CopyText(text, f"{what} ({size}{partly})")

    def _away(self, command: str) -> Effect:
        whole = self._live_whole() if self.live else self.texts.whole(self.part)
        if whole is None:
            return Say(self.texts.none(self.part))
        if command == "pager":
            return ShowInPager(whole)
        number = self.texts.number(self.part) if self.part in ("result", "error", "log") else None
        run = f"run{number}-" if number is not None else ""
        return Save(whole, f"crewtop-{self.texts.task_id}-{run}{self.part}.txt")

    def _live_whole(self) -> Whole | None:
        if not self.log.text:
            return None
        lost = f"({words.count(self.log.lost)} earlier lines were not kept)\n" if self.log.lost else ""
        return Whole("text", lost + self.log.text)

    def click(self, row: int) -> Effect | None:
        """A click on a row of the open part: it goes there, or folds what the cursor stands on."""
        if not self.live and self.edit is None and self._reading.point(row):
            self._reading.fold("show")
        return None

    # Drawing

    @property
    def note(self) -> str:
        """How things stand with the open part: which run, what is loaded, what was found."""
        said = [self._run(), self._lost() if self.live else self.texts.loading(self.part), self.search.said]
        return f" {self.manner.glyph('·')} ".join(part for part in said if part)

    def _run(self) -> str:
        number = self.texts.number(self.part) if self.part in ("result", "error", "log") else None
        runs = len(self.texts.runs)
        return f"run {number} of {runs}" if number is not None and runs > 1 else ""

    def _lost(self) -> str:
        lost = f"{words.count(self.log.lost)} lines lost, " if self.log.lost else ""
        return lost + (self.log.note or ("following" if self.log.following else "G follows"))

    def lines(self, cells: int, room: int) -> list[Line]:
        """The open part in so many cells and lines."""
        prompt = [] if self.edit is None else [line("  ", Span("/ ", "accent", True), self.edit.spans())]
        self._cells = max(1, cells - MARGIN_CELLS)
        return [*prompt, *self._text(max(1, room - len(prompt)))]

    def _text(self, room: int) -> list[Line]:
        if self.live:
            rows = self.log.rows(self._cells, room)
            return [self._line(row) for row in rows] or [line("  ", Span("nothing printed yet", "muted"))]
        text, kind = self.texts.content(self.part)
        if not text:
            return [line("  ", Span(self.texts.none(self.part), "muted"))]
        reading = self._reading
        reading.set(text, kind)
        read = reading.rows(self._cells, room)
        if read is None:
            return [line("  ", Span("preparing the text", "muted"))]
        return [self._line(row, (row.line, row.offset) == reading.under, reading.folds) for row in read]

    def _line(self, row: Row, on: bool = False, folds: bool = False) -> Line:
        cause = self.part == "error" and row.line == 0
        role: Role = "wrong" if cause else "text"
        found = self.search.spans(row.line, row.offset, row.text, role, cause)
        sign = (Span(f"{self._sign(row):<{INDENT_CELLS}}", "accent"),) if folds else ()
        spans = joined(" " * row.indent, sign, found, Span(self.manner.own(row.beside), "muted"))
        room = self._cells + 1
        return Line((*lead(on, self.manner), *clip_spans(spans, room, self.manner.cut)), "cursor" if on else "ground")

    def _sign(self, row: Row) -> str:
        if row.opens is None:
            return ""
        if self.manner.ascii_only:
            return "-" if row.opens else "+"
        return "▾" if row.opens else "▸"

    def glance(self, part: str, cells: int, room: int) -> tuple[str, list[str]]:
        """The beginning of a text under its title; of live output the end."""
        if part == "log":
            return "LOG", [row.text for row in self.log.newest(cells, room)]
        text, kind = self.texts.content(part)
        reading = self._glances.setdefault(part, Reading())
        reading.set(text if len(text) <= AT_ONCE_CHARACTERS else text[:GLANCE_CHARACTERS], kind)
        rows = reading.rows(cells, room) if text else None
        return part.upper(), [" " * row.indent + row.text for row in rows] if rows else ["-"]
