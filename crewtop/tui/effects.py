"""What a key asks of the world outside the picture. The application carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crewtop import words
from crewtop.model.alerts import Alert, Silence
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Matching, Order, Target
from crewtop.tui.actions import View
from crewtop.tui.paint import Role
from crewtop.tui.reading import Kind
from crewtop.tui.source import Body


@dataclass(frozen=True, slots=True)
class Act:
    """Apply an action to tasks as they were seen."""

    order: Order
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Price:
    """Count and price what an action would reach, to ask about it; typed is the filter as the operator knows it."""

    order: Order
    matching: Matching
    typed: str


@dataclass(frozen=True, slots=True)
class ActOnAll:
    """Apply an action to every task that matches and is as the operator saw it; asked: how many they were then."""

    order: Order
    matching: Matching
    asked: int


@dataclass(frozen=True, slots=True)
class Undo:
    """Take an operation back."""

    operation_id: int


@dataclass(frozen=True, slots=True)
class PauseQueue:
    """Let workers claim nothing from a queue, or let them go on."""

    queue: str
    paused: bool


@dataclass(frozen=True, slots=True)
class SilenceAlert:
    """Tell nobody of an alert for so many seconds; None: until it ends."""

    alert: Alert
    seconds: float | None


@dataclass(frozen=True, slots=True)
class LiftSilence:
    """Let people be told again."""

    silence: Silence


@dataclass(frozen=True, slots=True)
class SetSlots:
    """Ask a worker for that many slots."""

    worker_id: str
    slots: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Ask a worker to finish what it runs, and stop."""

    worker_id: str


@dataclass(frozen=True, slots=True)
class Kill:
    """Ask a worker to end at once; what it runs goes back to its queue."""

    worker_id: str


@dataclass(frozen=True, slots=True)
class Halt:
    """Pause or cancel an operation that is under way."""

    operation_id: int
    how: Literal["pause", "cancel"]


@dataclass(frozen=True, slots=True)
class Resume:
    """Work off what is left of an operation."""

    operation_id: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Put a text on the operator's clipboard."""

    text: str


@dataclass(frozen=True, slots=True)
class LoadBody:
    """Fetch more of a long text: its first limit characters."""

    task_id: int
    run_id: int | None
    body: Body
    limit: int


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole text of a task: before and after as they are, with all of what rest asks for (its limit aside) between.

    kind says how it is read.
    """

    kind: Kind
    before: str
    rest: LoadBody | None = None
    after: str = ""


@dataclass(frozen=True, slots=True)
class CopyText:
    """Put a text from a task, masked and safe, on the operator's clipboard; what says what it is."""

    text: str
    what: str


@dataclass(frozen=True, slots=True)
class Save:
    """Write a text to a file in the folder where crewtop was started."""

    whole: Whole
    file: str


@dataclass(frozen=True, slots=True)
class ShowInPager:
    """Let the operator read a text in the pager of their own."""

    whole: Whole


@dataclass(frozen=True, slots=True)
class Open:
    """Show a task's story, at one of its parts if named."""

    task_id: int
    pane: str | None = None


@dataclass(frozen=True, slots=True)
class Go:
    """Show another view; the task list narrowed to a filter if given."""

    view: View
    narrowed: TaskFilter | None = None


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the operator something, at the foot of the screen."""

    words: str
    role: Role = "text"


@dataclass(frozen=True, slots=True)
class Refresh:
    """Ask for everything now, however long the pause until the next tick or attempt would be."""


@dataclass(frozen=True, slots=True)
class Repaint:
    """Send the whole picture again: something else wrote over it."""


@dataclass(frozen=True, slots=True)
class Suspend:
    """Hand the terminal back to the shell until it brings the screen to the foreground again."""


@dataclass(frozen=True, slots=True)
class Quit:
    """End the screen."""


Effect = (
    Act
    | Price
    | ActOnAll
    | Undo
    | PauseQueue
    | SilenceAlert
    | LiftSilence
    | SetSlots
    | Drain
    | Kill
    | Halt
    | Resume
    | Copy
    | CopyText
    | Save
    | ShowInPager
    | LoadBody
    | Open
    | Go
    | Say
    | Refresh
    | Repaint
    | Suspend
    | Quit
)

CHANGES = (Act, Price, ActOnAll, Undo, PauseQueue, SilenceAlert, LiftSilence, SetSlots, Drain, Kill, Halt, Resume)
"""Those that change tasks, queues or workers, or are on the way to it: refused on a screen that may only look."""


def promise(effect: Effect) -> str:
    """What is told the operator while an effect is still on its way; empty where its answer tells enough."""
    match effect:
        case Price():
            return "counting the tasks that it reaches"
        case Copy(what) | CopyText(_, what):
            return f"copied {what}"
        case Save(_, file):
            return f"saving {file}"
        case SetSlots(_, slots):
            return f"asked for {words.count(slots)} slots"
        case Drain():
            return "asked it to drain"
        case Kill():
            return "asked it to end at once"
        case Halt(_, how):
            return f"asked it to {how}"
        case Resume():
            return "goes on with it"
        case PauseQueue(queue, paused):
            return f"asked for {queue} to " + ("pause" if paused else "go on")
    return ""
