"""The screen in a terminal: feeds fill a Session, keys go into it, its frames come out on one canvas."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from textual.app import App, ComposeResult

from crewtop.model.snapshot import Snapshot
from crewtop.tui.canvas import Canvas
from crewtop.tui.driver import calm_driver, hung_up
from crewtop.tui.effects import ActOnAll, Copy, CopyText, Effect, Quit, Refresh, Repaint, Resume, Suspend, Undo
from crewtop.tui.feed import Feed
from crewtop.tui.files import Files
from crewtop.tui.following import Following
from crewtop.tui.look import Colours, Look, colours_of
from crewtop.tui.options import ScreenOptions
from crewtop.tui.orders import Orders
from crewtop.tui.session import Session
from crewtop.tui.signals import Signals
from crewtop.tui.source import Source
from crewtop.tui.sparing import SparingScreen
from crewtop.tui.wants import Stream, Want, ask

if TYPE_CHECKING:
    from crewtop.tui.tape import Tape

HUNG_UP = 128 + signal.SIGHUP
"""The exit code of a screen whose terminal is gone, whether or not a signal said so."""

STREAM_SECONDS = 0.05
"""Between two paintings of what a stream tells."""

SILENT_SECONDS = 2.0
"""Without an answer for so long, the picture is painted for its age alone."""

FILES_SECONDS = 2.0
"""How often it is looked whether themes or keys were saved."""

Background = Callable[[], Awaitable[None]]
Answered = tuple[Want | None, Any]


class CrewtopApp(App[int], inherit_bindings=False):
    """Carries out what the session asks for. Nothing here waits on the way from a key to the paint."""

    TITLE = "crewtop"
    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { overflow: hidden; }"

    def __init__(
        self,
        reach: Callable[[], Source],
        session: Session,
        files: Files,
        colours: Colours,
        background: Background | None = None,
    ) -> None:
        super().__init__(driver_class=calm_driver(), ansi_color=colours in ("16", "none"))
        self._reach, self.session = reach, session
        self._files, self._colours, self._background = files, colours, background
        self._themes = files.themes
        self._worn = files.themes[session.wardrobe.theme]
        self._look = Look(self._worn, colours)
        self._asked: Want | None = session.page.want
        self._questioned = session.page
        self.canvas = Canvas(session.frame, self.press, self.paste, self.click, self._look)
        self._tasks: set[asyncio.Task[None]] = set()
        self._awaited: set[asyncio.Task[None]] = set()
        self._signals = Signals(session, self._write, self._spawn)
        self._orders = Orders(self, session, reach, self._show, self._settled)
        self._following = Following(session, reach, self._spawn, self._show_soon, self._show)
        self._pressed = self._lent = False
        self._soon = False
        interval = lambda: session.interval  # noqa: E731
        self._snapshots: Feed[Snapshot] = Feed(self._ask_snapshot, self._told, self._failed, interval)
        self._answers: Feed[Answered] = Feed(self._ask, self._told_answer, self._failed_answer, interval)

    @property
    def answered(self) -> bool:
        """Whether nothing that the operator asked for is still on its way."""
        return not self._awaited

    @property
    def heard(self) -> Stream | None:
        """The stream that told something last."""
        return self._following.heard

    def get_default_screen(self) -> SparingScreen:
        """What the canvas lies on."""
        return SparingScreen(self.canvas)

    def compose(self) -> ComposeResult:
        """One canvas."""
        yield self.canvas

    def on_mount(self) -> None:
        """Start asking. The first frame is painted before the first answer."""
        self._wear(self._look)
        self.canvas.focus()
        self._spawn(self._snapshots.run())
        self._spawn(self._answers.run())
        self._spawn(self._watch_files())
        if (background := self._background) is not None:
            # Not before the first frame is out: what starts there imports a good deal. Nothing is returned, since
            # Textual would wait for a task that it is given, and this one lasts as long as the screen.
            def begin() -> None:
                self._spawn(self._in_background(background))

            self.call_after_refresh(begin)
        self.set_interval(1.0, self._each_second)

    async def on_unmount(self) -> None:
        """Stop asking."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _each_second(self) -> None:
        """Let time show, and look whether the terminal is still there."""
        if not self.is_headless and hung_up():
            self.exit(HUNG_UP)
        if self.session.picture.age >= SILENT_SECONDS:  # else what has come meanwhile has painted everything
            self._show()

    async def _watch_files(self) -> None:
        """Put themes and keys in force once they are saved. In a thread: a home on a network may hang."""
        while True:
            await asyncio.sleep(FILES_SECONDS)
            if await asyncio.to_thread(self._files.changed):
                await asyncio.to_thread(self._files.read)
                self._themes = self._files.themes
                self.session.adopt(self._files)
                self._show()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """Lend the terminal to another program: until it is back, no title and no bell is sent either."""
        self._lent = True
        try:
            with super().suspend():
                yield
        finally:
            self._lent = False

    # Keys

    def press(self, key: str) -> None:
        """Obey a key and show what it did."""
        self._carry_out(self.session.press(key))
        self._show_next()

    def click(self, y: int) -> None:
        """Obey a click on a line and show what it did."""
        self._carry_out(self.session.click(y))
        self._show_next()

    def paste(self, text: str) -> None:
        """Put pasted text where one types."""
        self.session.paste(text)
        self._show_next()

    def _carry_out(self, effect: Effect | None) -> None:
        match effect:
            case None:
                pass
            case Quit():
                self.exit(0)
            case Copy(text) | CopyText(text):
                self._signals.copy(text)
            case Refresh():
                self._settled()
            case Repaint():
                self._wear(self._look)
            case Suspend():
                self.action_suspend_process()
            case ActOnAll() | Undo() | Resume():  # as long as it takes: nobody waits for these
                self._spawn(self._orders.work(effect))
            case _:
                self._order(self._orders.work(effect))

    # Answers

    def _told(self, snapshot: Snapshot) -> None:
        self.session.pause = self._snapshots.pause
        self.session.take(snapshot)
        self._show()

    def _failed(self, reason: str) -> None:
        self.session.fail(reason)
        self._show()

    def _settled(self) -> None:
        """Something was changed: look at once what has become of it."""
        self._snapshots.poke()
        self._answers.poke()

    async def _ask_snapshot(self) -> Snapshot:
        return await self._reach().snapshot()

    @property
    def _want(self) -> Want | None:
        """What the open view wants to be told now. A frozen one keeps what it has; one opened since is told once."""
        page = self.session.page
        return page.want if page.loading or not self.session.picture.frozen else None

    async def _ask(self) -> Answered:
        want, self._questioned = self._want, self.session.page
        return want, await ask(self._reach(), want) if want is not None else None

    def _told_answer(self, answered: Answered) -> None:
        want, answer = answered
        if want is not None and want == self._want:
            self.session.page.answer(want, answer)
            self._asked = self._want  # what an answer makes it want has time until the next question
            self._show()

    def _failed_answer(self, reason: str) -> None:
        """The banner follows the snapshots; what fails with them adds nothing to it."""
        self._questioned.fail(reason)
        self._show()

    # The picture

    def _show(self) -> None:
        """Bring everything that the operator sees or hears in line with the session."""
        if self._lent:
            return
        session = self.session
        theme = self._themes[session.wardrobe.theme]
        if theme != self._worn:
            self._worn = theme
            self._wear(Look(theme, self._colours))
        else:
            self.canvas.paint()
        if self._want != self._asked:
            self._asked = self._want
            self._answers.poke()
        self._signals.show()
        self._following.attend()

    def _show_next(self) -> None:
        """Show what keys did, once for all that came together: a flick of the wheel is worth one frame, not thirty."""
        if not self._pressed:
            self._pressed = True
            self.call_later(self._show_pressed)

    def _show_pressed(self) -> None:
        self._pressed = False
        self._show()

    def _show_soon(self) -> None:
        """Show what a stream told, but not more often than anybody could read."""
        if not self._soon:
            self._soon = True
            self.set_timer(STREAM_SECONDS, self._show_now)

    def _show_now(self) -> None:
        self._soon = False
        self._show()

    def _wear(self, look: Look) -> None:
        self._look = look
        self.screen.styles.background = look.ground or "ansi_default"
        self.canvas.paint(look)

    def _write(self, sequence: str) -> None:
        """Send something to the terminal that is no picture."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)

    def _order(self, work: Any) -> None:
        task = self._spawn(work)
        self._awaited.add(task)
        task.add_done_callback(self._awaited.discard)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _in_background(self, background: Background) -> None:
        try:
            await background()
        except Exception as error:  # it is not the screen's business to die with it
            self.session.say(f"in the background: {type(error).__name__}: {error}", "wrong")
            self._show()


def run_screen(
    reach: Callable[[], Source],
    options: ScreenOptions,
    *,
    background: Background | None = None,
    tape: Tape | None = None,
) -> int:
    """Show the screen until the operator leaves it; returns the exit code.

    reach answers what the screen reads from, or raises Unavailable with the reason while that is not there.
    background runs beside it on the same event loop, for the embedded pool, and is cancelled at the end. tape: the
    recording that is replayed.
    """
    screen = build(reach, options, background=background, tape=tape)
    return screen.run(mouse=options.mouse) or 0


def build(
    reach: Callable[[], Source],
    options: ScreenOptions,
    *,
    colours: Colours | None = None,
    background: Background | None = None,
    clock: Callable[[], float] = time.monotonic,
    tape: Tape | None = None,
) -> CrewtopApp:
    """The application, ready to run. colours overrides what the environment says; clock is monotonic seconds."""
    files = Files(options)
    session = Session(options, clock, tape)
    session.adopt(files)
    return CrewtopApp(reach, session, files, colours or colours_of(os.environ, options.colour), background)
