"""What runs have reported and is not written yet, in portions that a statement can carry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from crewtop.model.ledger import CallEntry, KeptSteps, Progress, StepEntry, ToolEntry
from crewtop.model.task import Finish
from crewtop.worker.story import Entry

T = TypeVar("T")

PORTION = 1_000
PORTION_CHARACTERS = 16 * 1024 * 1024
"""What one statement carries at most, but for one entry that is larger by itself."""


@dataclass(slots=True)
class Pending:
    """What waits to be written; later news of the same call, step or run replaces earlier ones."""

    calls: dict[tuple[int, str], CallEntry] = field(default_factory=dict)
    steps: dict[tuple[int, int], StepEntry] = field(default_factory=dict)
    tools: dict[tuple[int, int], ToolEntry] = field(default_factory=dict)
    kept: dict[int, KeptSteps] = field(default_factory=dict)
    progress: dict[int, Progress] = field(default_factory=dict)
    finishes: dict[int, tuple[Finish, bool]] = field(default_factory=dict)

    def __len__(self) -> int:
        marks = len(self.kept) + len(self.progress) + len(self.finishes)
        return len(self.calls) + len(self.steps) + len(self.tools) + marks

    def add(self, entry: Entry) -> None:
        """Take what is to be written."""
        match entry:
            case CallEntry():
                self.calls[entry.run_id, entry.call_id] = entry
            case StepEntry():
                self.steps[entry.run_id, entry.position] = entry
            case ToolEntry():
                self.tools[entry.run_id, entry.number] = entry
            case KeptSteps():
                self.kept[entry.run_id] = entry
            case Progress():
                self.progress[entry.run_id] = _newest(self.progress.get(entry.run_id), entry)

    def completed_a_step(self, run_id: int) -> bool:
        """Whether the end of a step of this run waits here."""
        return any(run == run_id and step.status != "running" for (run, _), step in self.steps.items())

    def take_back(self, older: Pending) -> None:
        """Put back what could not be written, under what came since."""
        self.calls = older.calls | self.calls
        self.steps = older.steps | self.steps
        self.tools = older.tools | self.tools
        self.kept = older.kept | self.kept
        self.finishes = older.finishes | self.finishes
        self.progress = {
            run_id: _newest(older.progress.get(run_id), self.progress[run_id])
            if run_id in self.progress
            else older.progress[run_id]
            for run_id in older.progress.keys() | self.progress.keys()
        }


def _newest(old: Progress | None, new: Progress) -> Progress:
    if old is None:
        return new
    return replace(
        new,
        step_position=new.step_position if new.step_position is not None else old.step_position,
        agent=new.agent if new.agent is not None else old.agent,
    )


def bare_entry(entry: T) -> T:
    """The same news without texts and without a price that the database could refuse; a call stays a call."""
    match entry:
        case CallEntry():
            unknown = "unknown: the call could not be recorded as it was"
            return replace(
                entry, agent=None, usage=None, finish_reason=None, error=None, cost=None, price_source=unknown,
                route=None, context_cut=None, key_tail=None,
            )  # fmt: skip
        case StepEntry():
            return replace(entry, agent=None, description=None, output=None, error=None, receipt=None)
        case ToolEntry():
            return replace(entry, tool="a tool", error=None)
        case Progress():
            return replace(entry, agent=None, activity=None)
    return entry


def portions(entries: list[T]) -> Iterator[list[T]]:
    """Entries in portions that one statement can carry: by number and by the length of their texts."""
    portion: list[T] = []
    size = 0
    for entry in entries:
        length = _length(entry)
        if portion and (len(portion) >= PORTION or size + length > PORTION_CHARACTERS):
            yield portion
            portion, size = [], 0
        portion.append(entry)
        size += length
    if portion:
        yield portion


def _length(entry: object) -> int:
    """How many characters of text an entry brings."""
    match entry:
        case Finish():
            texts = (entry.result, entry.error, entry.traceback, entry.log_tail)
        case StepEntry():
            texts = (entry.description, entry.output, entry.error, entry.receipt)
        case _:
            return 0
    return sum([len(text) for text in texts if text])
