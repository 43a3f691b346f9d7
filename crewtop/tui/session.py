"""The whole screen as plain data: what was told, where the operator is, and the picture of it. Knows no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from crewtop import words
from crewtop.model.filters import TaskFilter
from crewtop.model.operations import ON_TASKS, Action, Operation, OperationResult, Scope
from crewtop.model.problems import problems
from crewtop.model.snapshot import Snapshot
from crewtop.tui import title
from crewtop.tui.acting import Acting
from crewtop.tui.actions import Command, View
from crewtop.tui.doing import DOES
from crewtop.tui.effects import CHANGES, Effect, Go, Open, Price, Say, promise
from crewtop.tui.files import Files
from crewtop.tui.keymap import Keymap
from crewtop.tui.manner import Manner, safe
from crewtop.tui.options import ScreenOptions
from crewtop.tui.pages import pages
from crewtop.tui.paint import Line, Role
from crewtop.tui.picture import LATE_SECONDS, Picture
from crewtop.tui.views import frame
from crewtop.tui.views.detail import Detail
from crewtop.tui.views.header import Steady
from crewtop.tui.views.help import Help, Palette
from crewtop.tui.views.page import Page
from crewtop.tui.views.question import Blank, Question, about_all
from crewtop.tui.views.tasks import Tasks
from crewtop.tui.wardrobe import Wardrobe
from crewtop.tui.ways import Ways

if TYPE_CHECKING:
    from crewtop.tui.tape import Tape

FIRST_RUN = "Arrows and Enter look around, Esc goes back, ? explains the keys, : finds every command, q quits."


class Session:
    """Feed it snapshots and keys, ask it for frames. press returns what is to be done outside.

    clock is monotonic seconds. alarms counts the problems that have appeared so far, for whoever rings a bell. bare:
    the picture leaves out rules, tabs and keys. interval: how often the operator wants a snapshot, in seconds; pause:
    how long it is until the next one is asked for. tape: the recording that is replayed, None where the screen is live.
    """

    def __init__(
        self, options: ScreenOptions, clock: Callable[[], float] = time.monotonic, tape: Tape | None = None
    ) -> None:
        self.options, self.tape = options, tape
        self.manner = Manner(options.ascii, options.utc)
        self.interval = self.pause = options.interval
        self.wardrobe = Wardrobe(options)
        self.alarms = 0
        self._alarming: set[str] = set()
        self.ways = Ways(pages(self.manner, options))
        self.acting = Acting(self.manner)
        self.picture = Picture(clock)
        self.message: list[tuple[str, Role]] = [(FIRST_RUN, "accent")] if options.first_run else []
        self._wrong_in_files: list[tuple[str, Role]] = []
        self.overlay: Help | Palette | Question | None = None
        self.latencies = (Steady(), Steady())
        self.body_top, self.body_height = 3, 20
        self.bare = False

    @property
    def page(self) -> Page:
        """The view that is open."""
        return self.ways.page

    @property
    def view(self) -> View:
        """Its name."""
        return self.page.kind

    @property
    def keymap(self) -> Keymap:
        """What each key does."""
        return self.manner.keymap

    @property
    def commands(self) -> list[Command]:
        """What can be done in the open view; on a screen that only looks nothing that acts."""
        commands = self.keymap.commands_in(self.view)
        if self.tape is not None:
            commands = self.keymap.replayed(commands)
        return [command for command in commands if not command.acting] if self.read_only else commands

    @property
    def tasks(self) -> Tasks:
        """The task list, open or not."""
        return self.ways.tasks

    # What the sources say

    def take(self, snapshot: Snapshot) -> None:
        """A new snapshot. While the picture is frozen it is only kept."""
        if problem := self.wardrobe.recognise(snapshot):
            self.say(problem, "watch")
        if self.options.title:
            snapshot = replace(snapshot, database=self.options.title, host="")
        alarming = {f"{p.kind} {p.name}" for p in problems(snapshot) if p.severity == "wrong" and not p.silence}
        self.alarms += len(alarming - self._alarming)
        self._alarming = alarming
        if self.picture.take(snapshot):
            self.show()

    def show(self) -> None:
        """Let every view have the snapshot that the screen shows."""
        if (snapshot := self.picture.shown) is not None:
            self.latencies[0].take(snapshot.postgres.latency)
            self.latencies[1].take(snapshot.redis.latency)
            for page in self.ways.all:
                page.take(snapshot)

    def adopt(self, files: Files) -> None:
        """Take over the user's themes and keys, and say what is wrong in their files."""
        self.manner.keymap = files.keymap
        problem = self.wardrobe.stock(list(files.themes))
        wrong: list[tuple[str, Role]] = [(safe(told), "watch") for told in (*files.problems, problem) if told]
        self.message = [told for told in self.message if told not in self._wrong_in_files] + wrong
        self._wrong_in_files = wrong

    def fail(self, reason: str) -> None:
        """No snapshot this time; the reason in one line. The last one stays."""
        self.picture.trouble = safe(reason)

    def acted(self, result: OperationResult) -> None:
        """What became of an operation on chosen tasks: their marks have done their work."""
        self.tasks.unmark(item.task_id for item in result.items)
        self.message = self.acting.acted(result)

    def priced(self, asked: Price, scope: Scope) -> None:
        """What an action on all that match would reach: now it can be asked about, unless keys are for other things."""
        if self.acting.counting != asked:
            self.say("not asked: a key was pressed meanwhile: give the order again", "watch")
            return
        self.acting.counting, self.message = None, []
        self._carry_out(about_all(asked, scope, self.manner))

    def ended(self, operation: Operation, refusals: Mapping[str, int], asked: int | None = None) -> None:
        """What became of an operation over all that matched (asked: how many did when it was asked), or an undoing."""
        self.message = self.acting.ended(operation, refusals, asked)

    def say(self, text: str, role: Role = "text") -> None:
        """Tell the operator one line."""
        self.message = [(safe(text), role)]

    # What it says about itself

    @property
    def stale(self) -> bool:
        """Whether what is shown may no longer be true."""
        return self.picture.stale(max(self.interval, self.pause))

    @property
    def pace(self) -> float:
        """Seconds between two snapshots, as the header tells: the interval, or what a slow database makes of it."""
        if self.tape is not None:
            return self.tape.recording.about.interval
        return float(round(self.pause)) if self.pause >= max(LATE_SECONDS, 2 * self.interval) else self.interval

    @property
    def read_only(self) -> bool:
        """Whether nothing can be changed from here."""
        shown = self.picture.shown
        return self.options.read_only or (shown is not None and shown.read_only)

    @property
    def title(self) -> str:
        """What the terminal's own title says."""
        shown = self.picture.shown
        if shown is None:
            return title.words("")
        return title.words(shown.database, shown.host, read_only=self.read_only, stale=self.stale)

    def refusal(self) -> str | None:
        """Why acting keys refuse now, or None."""
        if self.tape is not None:
            return "not done: this is a recording: nothing can be done to what was"
        if self.options.read_only:
            return "read-only: this screen only looks"
        if self.read_only:
            return "read-only: the database lets this role only look"
        if self.picture.back_in_time:
            return f"not done: this picture is of the past: {self.manner.key('freeze')} shows what is now"
        if self.stale:
            age = words.duration(float(int(self.picture.age)))
            return f"not done: the data is {age} old and the database does not answer"
        return None

    # Keys

    def press(self, key: str) -> Effect | None:
        """Obey a key."""
        told, self.message, self.acting.counting = bool(self.message), [], None
        if told and key == "escape" and self.overlay is None:
            return None
        if self.overlay is not None:
            return self._press_overlay(key)
        if self.page.edit is not None:
            return self._carry_out(self.page.press(key))
        command = self.keymap.command_for(key, View.REPLAY) if self.tape is not None else None
        command = command or self.keymap.command_for(key, self.view)
        return self.run(command) if command is not None else None

    def paste(self, text: str) -> None:
        """Pasted text goes where one types, and nowhere else."""
        self.acting.counting = None
        edit = self.page.edit
        if isinstance(self.overlay, Palette):
            edit = self.overlay.edit
        elif isinstance(self.overlay, Blank):
            edit = self.overlay.answer
        if edit is not None:
            edit.insert(text)

    def click(self, y: int) -> Effect | None:
        """Obey a click on a line of the screen; where something is asked or typed it means nothing."""
        if self.overlay is not None or self.page.edit is not None or y < self.body_top:
            return None
        self.message, self.acting.counting, self.acting.all_matching = [], None, False
        return self._carry_out(self.page.click(y - self.body_top))

    def run(self, command: Command) -> Effect | None:
        """Carry out a command as far as it concerns the screen; what is left is returned."""
        if command.acting and (reason := self.refusal()) is not None:
            self.say(reason, "watch")
            return None
        if command.name not in ON_TASKS and command.name != "everything":
            self.acting.all_matching = False
        effect = self.page.own(command.name)
        if effect is None:
            does = DOES.get(command.name)
            effect = does(self) if does is not None else self._in_view(command.name)
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
        if isinstance(outcome, CHANGES) and (reason := self.refusal()) is not None:
            self.say(reason, "watch")
            return None
        if not isinstance(outcome, Question):
            self.page.confirmed(outcome)
        return self._carry_out(outcome)

    def _in_view(self, name: str) -> Effect | Question | None:
        if name in ON_TASKS:
            return self.acting.about(Action(name), self.page.chosen, self.page.matching, self.page.typed)
        if name in self.ways.pages:
            return Go(View(name))
        return self.page.do(name, self.body_height)

    def _carry_out(self, effect: Effect | Question | None) -> Effect | None:
        match effect:
            case Question():
                self.overlay = effect
            case Say(text, role):
                self.say(text, role)
            case Open(task_id, pane):
                self._open(Detail(self.manner, task_id, pane))
            case Go(_, TaskFilter() as narrowed):
                self.ways.narrowed(narrowed)
            case Go(view):
                self.ways.go(view)
            case None:
                pass
            case _:
                if words_for := promise(effect):
                    self.say(words_for)
                self.acting.counting = effect if isinstance(effect, Price) else None
                return effect
        return None

    # Ways

    def _open(self, page: Page) -> None:
        self.ways.open(page)
        if self.picture.shown is not None:
            page.take(self.picture.shown)

    # The picture

    def frame(self, width: int, height: int) -> list[Line]:
        """The picture: exactly height lines."""
        return frame.lines(self, width, height)

    def body(self, width: int, height: int) -> list[Line]:
        """The open view, or the page that covers it."""
        self.body_height = height
        if isinstance(self.overlay, Help | Palette):
            return self.overlay.lines(width, height, self.manner)
        return self.page.lines(width, height)
