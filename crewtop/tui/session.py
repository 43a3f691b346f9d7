"""The whole screen as plain data: what was told, where the operator is, and the picture of it. Knows no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from crewtop import words
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import Action, Operation, OperationResult, Scope
from crewtop.model.snapshot import Snapshot
from crewtop.tui.acting import Acting
from crewtop.tui.actions import Command, View, command_for
from crewtop.tui.effects import Copy, Drain, Effect, Go, Open, PauseQueue, Price, Quit, Say, SetSlots
from crewtop.tui.manner import Manner, safe
from crewtop.tui.options import INTERVALS_SECONDS, ScreenOptions
from crewtop.tui.paint import Line, Role, Span
from crewtop.tui.theme import DEFAULT
from crewtop.tui.views import frame
from crewtop.tui.views.detail import Detail
from crewtop.tui.views.header import Steady
from crewtop.tui.views.help import Help, Palette
from crewtop.tui.views.overview import Overview
from crewtop.tui.views.question import Blank, Question, about_all
from crewtop.tui.views.tasks import Tasks
from crewtop.tui.views.workers import Workers

STARTING_SECONDS = 3.0
"""How long the first answer may take before its absence is called trouble."""

LATE_SECONDS = 5.0
"""Data older than this and than three intervals is stale, whether or not its source said so."""


class Session:
    """Feed it snapshots and keys, ask it for frames. press returns what is to be done outside.

    clock is monotonic seconds. themes are the names that t goes through.
    """

    def __init__(self, options: ScreenOptions, themes: list[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.options = options
        self.manner = Manner(options.ascii, options.utc)
        self.interval = options.interval
        self.themes = themes
        self.theme = options.theme if options.theme in themes else DEFAULT
        self.overview = Overview(self.manner)
        self.tasks = Tasks(self.manner)
        self.workers = Workers(self.manner, options.pool_worker)
        self.acting = Acting(self.manner)
        self.detail: Detail | None = None
        self.view = View.OVERVIEW
        self.snapshot: Snapshot | None = None
        self.trouble: str | None = None
        self.frozen = False
        self.message: list[tuple[str, Role]] = []
        self.overlay: Help | Palette | Question | None = None
        self.latencies = (Steady(), Steady())
        self.body_height = 20
        self._behind: list[View] = []
        self._waiting: Snapshot | None = None
        self._clock = clock
        self._told_at = clock()

    # What the sources say

    def take(self, snapshot: Snapshot) -> None:
        """A new snapshot. While the picture is frozen it waits."""
        self._told_at, self.trouble = self._clock(), None
        if self.frozen:
            self._waiting = snapshot
            return
        if self.options.title:
            snapshot = replace(snapshot, database=self.options.title)
        self.snapshot = snapshot
        self.latencies[0].take(snapshot.postgres.latency)
        self.latencies[1].take(snapshot.redis.latency)
        self.overview.take(snapshot)
        self.workers.take(snapshot)

    def fail(self, reason: str) -> None:
        """No snapshot this time; the reason in one line. The last one stays."""
        self.trouble = safe(reason)

    def acted(self, result: OperationResult) -> None:
        """What became of an operation."""
        self.tasks.unmark()
        self.message = self.acting.acted(result)

    def priced(self, asked: Price, scope: Scope) -> None:
        """What an action on all that match would reach: now it can be asked about."""
        if self.overlay is None:
            self._carry_out(about_all(asked, scope, self.manner))

    def ended(self, operation: Operation, refusals: Mapping[str, int]) -> None:
        """What became of an operation over all that matched, or of an undoing."""
        self.tasks.unmark()
        self.message = self.acting.ended(operation, refusals)

    def say(self, text: str, role: Role = "text") -> None:
        """Tell the operator one line."""
        self.message = [(safe(text), role)]

    # How old it is

    @property
    def age(self) -> float:
        """Seconds since the last snapshot."""
        return self._clock() - self._told_at

    @property
    def starting(self) -> bool:
        """Whether no answer is no trouble yet: stores take a moment to open."""
        return self.snapshot is None and self.age < STARTING_SECONDS

    @property
    def stale(self) -> bool:
        """Whether what is shown may no longer be true."""
        if self.snapshot is None or not self.snapshot.postgres.up:
            return True
        return self.trouble is not None or self.age > max(LATE_SECONDS, 3 * self.interval)

    def refusal(self) -> str | None:
        """Why acting keys refuse now, or None."""
        if self.options.read_only:
            return "read-only: this screen only looks"
        if self.snapshot is not None and self.snapshot.read_only:
            return "read-only: the database lets this role only look"
        if self.stale:
            return f"not done: the data is {words.duration(float(int(self.age)))} old and the database does not answer"
        return None

    # Keys

    def press(self, key: str) -> Effect | None:
        """Obey a key."""
        told, self.message = bool(self.message), []
        if told and key == "escape" and self.overlay is None:
            return None
        if self.tasks.edit is not None and self.view is View.TASKS:
            self.tasks.press(key)
            return None
        if self.overlay is not None:
            return self._press_overlay(key)
        command = command_for(key, self.view)
        return self.run(command) if command is not None else None

    def paste(self, text: str) -> None:
        """Pasted text goes where one types, and nowhere else."""
        edit = self.tasks.edit
        if isinstance(self.overlay, Palette):
            edit = self.overlay.edit
        elif isinstance(self.overlay, Blank):
            edit = self.overlay.answer
        if edit is not None:
            edit.insert(text)

    def run(self, command: Command) -> Effect | None:
        """Carry out a command as far as it concerns the screen; what is left is returned."""
        if command.acting and (reason := self.refusal()) is not None:
            self.say(reason, "watch")
            return None
        if command.name not in tuple(Action) and command.name != "everything":
            self.acting.all_matching = False
        own = getattr(self, f"_do_{command.name}", None)
        effect = own() if own is not None else self._in_view(command.name)
        return self._carry_out(effect)

    def _press_overlay(self, key: str) -> Effect | None:
        assert self.overlay is not None
        outcome = self.overlay.press(key)
        if outcome is True:
            return None
        self.overlay = None
        if isinstance(outcome, Command):
            return self.run(outcome)
        if outcome is False:
            return None
        if (reason := self.refusal()) is not None:
            self.say(reason, "watch")
            return None
        return self._carry_out(outcome)

    def _in_view(self, name: str) -> Effect | Question | None:
        if name in tuple(Action):
            return self._about(Action(name))
        view = self._open
        return view.do(name, self.body_height) if view is not None else None

    def _about(self, action: Action) -> Effect | Question:
        chosen = self.tasks.chosen
        if self.view is View.DETAIL:
            chosen = (self.detail.detail.task,) if self.detail and self.detail.detail else ()
        return self.acting.about(action, chosen, self.tasks.matching, self.tasks.typed)

    def _do_everything(self) -> Effect:
        return self.acting.everything(self.tasks.typed)

    def _do_undo(self) -> Effect | Question:
        return self.acting.undo()

    def _carry_out(self, effect: Effect | Question | None) -> Effect | None:
        match effect:
            case Question():
                self.overlay = effect
            case Say(text, role):
                self.say(text, role)
            case Open(task_id, pane):
                self.detail = Detail(self.manner, task_id, pane)
                self._to(View.DETAIL)
            case Go(view, narrowed):
                self._go(view, narrowed)
            case None:
                pass
            case _:
                self._promise(effect)
                return effect
        return None

    def _promise(self, effect: Effect) -> None:
        match effect:
            case Copy(text):
                self.say(f"copied {text}")
            case SetSlots(_, slots):
                self.say(f"asked for {words.count(slots)} slots")
            case Drain():
                self.say("asked it to drain")
            case PauseQueue(queue, paused):
                self.say(f"asked for {queue} to " + ("pause" if paused else "go on"))

    # Ways

    def _to(self, view: View) -> None:
        if view is not self.view:
            self._behind.append(self.view)
            self.view = view

    def _go(self, view: View, narrowed: TaskFilter | None = None) -> None:
        self._behind = [] if view is View.OVERVIEW else [View.OVERVIEW]
        self.view = view
        if narrowed is not None:
            self.tasks.narrow(narrowed)

    def _do_back(self) -> None:
        if self.view is View.TASKS and not self.tasks.at_rest:
            self.tasks.do("back", self.body_height)
        elif self._behind:
            self.view = self._behind.pop()

    def _do_leave(self) -> Effect | None:
        if not self._behind:
            return Quit()
        self.view = self._behind.pop()
        return None

    def _do_quit(self) -> Effect:
        return Quit()

    def _do_overview(self) -> Effect:
        return Go(View.OVERVIEW)

    def _do_tasks(self) -> Effect:
        return Go(View.TASKS)

    def _do_workers(self) -> Effect:
        return Go(View.WORKERS)

    def _do_filter(self) -> None:
        if self.view is not View.TASKS:
            self._go(View.TASKS)
        self.tasks.do("filter", self.body_height)

    def _do_help(self) -> None:
        self.overlay = Help(self.view)

    def _do_palette(self) -> None:
        self.overlay = Palette(self.view)

    # The screen itself

    def _do_freeze(self) -> None:
        self.frozen = not self.frozen
        if not self.frozen and self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self.take(waiting)

    def _do_utc(self) -> None:
        self.manner.utc = not self.manner.utc

    def _do_theme(self) -> None:
        self.theme = self.themes[(self.themes.index(self.theme) + 1) % len(self.themes)]
        self.say(f"theme {self.theme}")

    def _do_slower(self) -> None:
        self.interval = next((i for i in INTERVALS_SECONDS if i > self.interval), self.interval)

    def _do_faster(self) -> None:
        self.interval = next((i for i in reversed(INTERVALS_SECONDS) if i < self.interval), self.interval)

    def frame(self, width: int, height: int) -> list[Line]:
        """The picture: exactly height lines."""
        return frame.lines(self, width, height)

    def body(self, width: int, height: int) -> list[Line]:
        """The open view, or the page that covers it."""
        self.body_height = height
        if isinstance(self.overlay, Help | Palette):
            return self.overlay.lines(width, height, self.manner)
        view = self._open
        return view.lines(width, height) if view is not None else []

    @property
    def _open(self) -> Overview | Tasks | Workers | Detail | None:
        match self.view:
            case View.OVERVIEW:
                return self.overview
            case View.TASKS:
                return self.tasks
            case View.WORKERS:
                return self.workers
        return self.detail

    def marks(self) -> list[Span]:
        """What stands beside the clock."""
        marks = []
        if self.options.read_only or (self.snapshot is not None and self.snapshot.read_only):
            marks.append(Span("read-only", "watch"))
        if self.acting.words:
            marks.append(Span(self.acting.words, "moving" if self.acting.progress else "watch", True))
        if self.frozen:
            marks.append(Span("frozen", "watch", True))
        return marks
