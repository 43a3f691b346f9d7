"""Cells and habits that several views share."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from crewtop import words
from crewtop.model.durations import coarse as coarse
from crewtop.model.durations import left as left
from crewtop.model.money import Money
from crewtop.model.task import TaskStatus
from crewtop.tui.effects import Say
from crewtop.tui.manner import Manner, safe
from crewtop.tui.paint import Role, Span, Spans
from crewtop.tui.selection import Selection

Key = TypeVar("Key", bound=Hashable)


STATUS_ROLES: dict[str, Role] = {
    TaskStatus.WAITING: "muted",
    TaskStatus.PENDING: "waiting",
    TaskStatus.RUNNING: "moving",
    TaskStatus.RETRY: "watch",
    TaskStatus.COMPLETED: "muted",
    TaskStatus.FAILED: "wrong",
    TaskStatus.CANCELLED: "muted",
}

NO_TASK_HERE = Say("that key acts on tasks: open a list or a task first")
"""The answer to R, F, U, C and their like where the cursor stands on no task."""


def lead(on: bool, manner: Manner, mark: str = "") -> Spans:
    """The left edge of a line: a bar under the cursor, then room for a mark."""
    return (Span(manner.glyph("▌") if on else " ", "accent"), Span(mark or " ", "watch"))


def moved(selection: Selection[Key], command: str, height: int) -> bool:
    """Whether command moves a cursor; if so, it has."""
    page = max(1, height - 2)
    lines = {"up": -1, "down": 1, "page_up": -page, "page_down": page}
    if command in lines:
        selection.move(lines[command])
    elif command == "first":
        selection.place(0)
    elif command == "last":
        selection.place(len(selection.keys) - 1)
    else:
        return False
    return True


def count(number: int, role: Role = "text") -> Span:
    """A number of things; none at all draws back."""
    return Span(words.compact(number), role if number else "faint")


def said(figure: str, role: Role = "text") -> Span:
    """A figure in words; where there is nothing to say it draws back."""
    return Span(figure, "faint" if figure == words.NOTHING else role)


def seconds(length: float) -> str:
    """A duration that grows before one's eyes, in whole seconds."""
    return words.duration(float(int(length)))


def aged(age: float | None, role: Role = "text") -> Span:
    """An age in steps, or a dash where there is none."""
    return Span(words.NOTHING, "faint") if age is None else Span(coarse(age), role)


def amount(money: Money | None, manner: Manner) -> Span:
    """Money, or '?' where nothing of it is known."""
    return Span(words.UNKNOWN, "muted") if money is None else said(manner.money(money), "money")


def step_words(
    position: int | None,
    of: int | None,
    agent: str | None,
    activity: str | None,
    manner: Manner,
    *,
    ended: bool = False,
) -> Span:
    """Where a run stands, such as '2/3 Analyst · gpt-4.1'; of one that ended, how far it came: it does nothing now."""
    activity = None if ended else activity
    steps = f"{position}/{of}" if position and of else f"step {position}" if position else ""
    what = f" {manner.glyph('·')} ".join(safe(part) for part in (agent, activity) if part)
    return said(" ".join(part for part in (steps, what) if part) or words.NOTHING)
