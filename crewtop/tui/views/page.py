"""What every view is to the session: plain data that takes answers and keys, and draws lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from crewtop.model.detail import TaskRow
from crewtop.model.operations import Matching
from crewtop.model.snapshot import Snapshot
from crewtop.tui.actions import View
from crewtop.tui.columns import Column
from crewtop.tui.edit import LineEdit
from crewtop.tui.effects import Effect
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Line
from crewtop.tui.reading import Job
from crewtop.tui.views.question import Question
from crewtop.tui.wants import Stream, Want


class Page:
    """A view without anything in it. Each view says what differs.

    want: what it is to be told again and again while it is open; stream: what it follows meanwhile; edit: where keys
    are typed into now; columns: those of its tables, explained on the help page; typed: its filter as the operator
    knows it; loading: it shows nothing yet, or answers of an older question; problem: why it has no newer answer.
    """

    kind: ClassVar[View]
    columns: ClassVar[Sequence[Column]] = ()

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self.snapshot: Snapshot | None = None
        self.edit: LineEdit | None = None
        self.typed = ""
        self.problem = ""

    def take(self, snapshot: Snapshot) -> None:
        """Show a new snapshot."""
        self.snapshot = snapshot

    def come(self, anew: bool) -> None:
        """It is opened from another view: anew by its own name, or as the way back or on to where the operator was."""

    def confirmed(self, effect: Effect) -> None:
        """What was asked about in it is done now."""

    @property
    def want(self) -> Want | None:
        """What it wants to be told now."""
        return None

    def answer(self, want: Want, answer: Any) -> None:
        """What was asked for; answers to what is no longer wanted are dropped."""

    def fail(self, reason: str) -> None:
        """What was asked for did not come; the reason in one line."""
        self.problem = safe(reason)

    @property
    def loading(self) -> bool:
        """Whether an answer is shown even on a frozen screen, since there is none yet."""
        return False

    @property
    def stream(self) -> Stream | None:
        """What it follows now."""
        return None

    def begin(self, stream: Stream) -> None:
        """A stream is followed from its beginning: what it tells now may have been told before."""

    def told(self, stream: Stream, item: Any) -> None:
        """An item of a stream."""

    @property
    def job(self) -> Job | None:
        """Work on a long text that is to be done in a thread."""
        return None

    def finish(self, job: Job, rows: Any) -> None:
        """What such a job came to."""

    @property
    def chosen(self) -> Sequence[TaskRow]:
        """The tasks that an action is for, as last seen."""
        return ()

    @property
    def matching(self) -> Matching | None:
        """All the tasks that the view is about, for an action on all of them."""
        return None

    @property
    def at_rest(self) -> bool:
        """Whether Esc has nothing left to drop here."""
        return True

    def press(self, key: str) -> Effect | None:
        """A key while something is being typed."""
        return None

    def click(self, y: int) -> Effect | Question | None:
        """A click on line y of the view, 0 at its top: the cursor goes there; on the cursor's own line it opens."""
        return None

    def own(self, command: str) -> Effect | Question | None:
        """What a command comes to here where the session would take it for another thing; None where it would not."""
        return None

    def do(self, command: str, height: int) -> Effect | Question | None:
        """Obey a command; height is that of the view in lines."""
        return None

    def lines(self, width: int, height: int) -> list[Line]:
        """The view in so many cells and lines."""
        raise NotImplementedError
