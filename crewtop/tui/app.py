"""The screen in a terminal: feeds fill a Session, keys go into it, its frames come out on one canvas."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from textual.app import App, ComposeResult

from crewtop.model.operations import Operation
from crewtop.model.snapshot import Snapshot
from crewtop.tui.canvas import Canvas
from crewtop.tui.driver import calm_driver, hung_up
from crewtop.tui.effects import (
    Act,
    ActOnAll,
    Copy,
    Drain,
    Effect,
    Halt,
    Kill,
    LoadBody,
    PauseQueue,
    Price,
    Quit,
    Resume,
    SetSlots,
    Undo,
)
from crewtop.tui.feed import TIMEOUT_SECONDS, Feed
from crewtop.tui.look import Colours, Look, colours_of
from crewtop.tui.options import ScreenOptions
from crewtop.tui.reading import Job
from crewtop.tui.session import Session
from crewtop.tui.source import Refused, Source, Unavailable
from crewtop.tui.theme import Theme, load
from crewtop.tui.views.detail import Detail
from crewtop.tui.wants import Stream, Want, ask, follow

HUNG_UP = 128 + signal.SIGHUP
"""The exit code of a screen whose terminal is gone, whether or not a signal said so."""

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
        themes: dict[str, Theme],
        colours: Colours,
        background: Background | None = None,
    ) -> None:
        super().__init__(driver_class=calm_driver(), ansi_color=colours in ("16", "none"))
        self._reach, self.session = reach, session
        self._themes, self._colours, self._background = themes, colours, background
        self._look = Look(themes[session.theme], colours)
        self.canvas = Canvas(session.frame, self.press, self.paste, self.click, self._look)
        self._tasks: set[asyncio.Task[None]] = set()
        self._orders: set[asyncio.Task[None]] = set()
        self._followed: tuple[Stream, asyncio.Task[None]] | None = None
        self.heard: Stream | None = None
        self._job: Job | None = None
        interval = lambda: session.interval  # noqa: E731
        self._snapshots: Feed[Snapshot] = Feed(self._ask_snapshot, self._told, self._failed, interval)
        self._answers: Feed[Answered] = Feed(self._ask, self._told_answer, self._failed_answer, interval)

    @property
    def source(self) -> Source:
        """What the screen reads from. Raises Unavailable while it is not there."""
        return self._reach()

    @property
    def answered(self) -> bool:
        """Whether nothing that the operator asked for is still on its way."""
        return not self._orders

    def compose(self) -> ComposeResult:
        """One canvas."""
        yield self.canvas

    def on_mount(self) -> None:
        """Start asking. The first frame is painted before the first answer."""
        self._wear(self._look)
        self.canvas.focus()
        self._spawn(self._snapshots.run())
        self._spawn(self._answers.run())
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
        """Let time show, and look whether the terminal and the files that were read are still as they were."""
        if not self.is_headless and hung_up():
            self.exit(HUNG_UP)
        self.canvas.paint()

    # Keys

    def press(self, key: str) -> None:
        """Obey a key and show what it did."""
        self._obey(lambda: self.session.press(key))

    def click(self, y: int) -> None:
        """Obey a click on a line and show what it did."""
        self._obey(lambda: self.session.click(y))

    def _obey(self, order: Callable[[], Effect | None]) -> None:
        session = self.session
        before = session.theme, session.page.want
        if (effect := order()) is not None:
            self._carry_out(effect)
        if session.theme != before[0]:
            self._wear(Look(self._themes[session.theme], self._colours))
        if session.page.want != before[1]:
            self._answers.poke()
        self._show()

    def paste(self, text: str) -> None:
        """Put pasted text where one types."""
        self.session.paste(text)
        self._show()

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Quit():
                self.exit(0)
            case Copy(text):
                self.copy_to_clipboard(text)
            case LoadBody():
                self._order(self._load(effect))
            case _:
                self._send(effect)

    def _send(self, effect: Effect) -> None:
        """Carry out what changes tasks, queues or workers, or asks about it."""
        match effect:
            case Act():
                self._order(self._act(effect))
            case Price():
                self._order(self._price(effect))
            case ActOnAll(order, matching):
                self._spawn(self._follow_operation(lambda: self.source.act_on_all(order, matching)))
            case Undo(operation_id):
                self._spawn(self._follow_operation(lambda: self.source.undo(operation_id)))
            case Resume(operation_id):
                self._spawn(self._follow_operation(lambda: self.source.resume(operation_id)))
            case _:
                self._order(self._tell(effect))

    async def _act(self, effect: Act) -> None:
        async with self._reporting("nothing done"):
            self.session.acted(await self.source.act(effect.order, effect.targets))
        self._answers.poke()

    async def _price(self, effect: Price) -> None:
        async with self._reporting("nothing done"):
            self.session.priced(effect, await self.source.price(effect.order.action, effect.matching))

    async def _follow_operation(self, begin: Callable[[], AsyncIterator[Operation]]) -> None:
        """Show how far an operation has come, for as long as it takes; a worker carries it on if this screen ends."""
        async with self._reporting("the operation stands still", seconds=None):
            async for operation in begin():
                self.session.acting.progress = operation
                self._show()
            self.session.ended(operation, await self.source.refusals(operation.id))
        self.session.acting.progress = None
        self._show()
        self._answers.poke()

    async def _tell(self, effect: Effect) -> None:
        async with self._reporting("nothing done"):
            match effect:
                case PauseQueue(queue, paused):
                    await self.source.pause_queue(queue, paused=paused)
                case SetSlots(worker_id, slots):
                    await self.source.set_slots(worker_id, slots)
                case Drain(worker_id):
                    await self.source.drain(worker_id)
                case Kill(worker_id):
                    await self.source.kill(worker_id)
                case Halt(operation_id, how):
                    await self.source.halt(operation_id, how)
        self._snapshots.poke()
        self._answers.poke()

    async def _load(self, effect: LoadBody) -> None:
        async with self._reporting("not loaded"):
            excerpt = await self.source.body(effect.task_id, effect.run_id, effect.body, effect.limit)
            page = self.session.page
            if isinstance(page, Detail) and page.task_id == effect.task_id:
                page.take_body(effect.run_id, effect.body, excerpt)

    @contextlib.asynccontextmanager
    async def _reporting(self, what: str, seconds: float | None = TIMEOUT_SECONDS) -> Any:
        """Say in a line why something asked for was not done; paint in any case."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except (Refused, Unavailable) as error:
            self.session.say(f"{what}: {error}", "wrong")
        except TimeoutError:
            self.session.say(f"{what} as far as is known: no answer within {TIMEOUT_SECONDS:g} s", "wrong")
        except Exception as error:  # a defect below must not take the screen down with it
            self.session.say(f"{what}: unexpected {type(error).__name__}: {error}", "wrong")
        self._show()

    # Answers

    def _told(self, snapshot: Snapshot) -> None:
        self.session.take(snapshot)
        self._show()

    def _failed(self, reason: str) -> None:
        self.session.fail(reason)
        self._show()

    async def _ask_snapshot(self) -> Snapshot:
        return await self.source.snapshot()

    async def _ask(self) -> Answered:
        want = self.session.page.want
        return want, await ask(self.source, want) if want is not None else None

    def _told_answer(self, answered: Answered) -> None:
        want, answer = answered
        page = self.session.page
        # Frozen is what was on the screen; what the operator asks for since is still answered, once.
        if want is not None and want == page.want and (not self.session.picture.frozen or page.loading):
            page.answer(want, answer)
            self._show()

    def _failed_answer(self, reason: str) -> None:
        """The banner follows the snapshots; what fails with them adds nothing to it."""
        self.session.page.fail(reason)
        self._show()

    # Streams and long texts

    def _follow(self) -> None:
        """Follow what the open view follows, and nothing else."""
        stream = self.session.page.stream
        if self._followed is not None and self._followed[0] != stream:
            self._followed[1].cancel()
            self._followed = None
        if stream is not None and self._followed is None:
            self._followed = stream, self._spawn(self._read_stream(stream))

    async def _read_stream(self, stream: Stream) -> None:
        try:
            async for item in follow(self.source, stream):
                if self.session.page.stream == stream:
                    self.heard = stream
                    self.session.page.told(stream, item)
                    self._show()
        except Unavailable:
            await asyncio.sleep(self.session.interval)
            self._followed = None

    def _prepare(self) -> None:
        """Cut a long text into rows in a thread; a key never waits for it."""
        job = self.session.page.job
        if job is not None and self._job is None:
            self._job = job
            self._spawn(self._run_job(job))

    async def _run_job(self, job: Job) -> None:
        rows = await asyncio.to_thread(job.rows)
        self._job = None
        self.session.page.finish(job, rows)
        self._show()

    # The picture

    def _show(self) -> None:
        self.canvas.paint()
        self._follow()
        self._prepare()

    def _wear(self, look: Look) -> None:
        self._look = look
        self.screen.styles.background = look.ground or "ansi_default"
        self.canvas.paint(look)

    def _order(self, work: Any) -> None:
        task = self._spawn(work)
        self._orders.add(task)
        task.add_done_callback(self._orders.discard)

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


def run_screen(reach: Callable[[], Source], options: ScreenOptions, *, background: Background | None = None) -> int:
    """Show the screen until the operator leaves it; returns the exit code.

    reach answers what the screen reads from, or raises Unavailable with the reason while that is not there.
    background runs beside it on the same event loop, for the embedded pool, and is cancelled at the end.
    """
    screen = build(reach, options, background=background)
    return screen.run() or 0


def build(
    reach: Callable[[], Source],
    options: ScreenOptions,
    *,
    colours: Colours | None = None,
    background: Background | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> CrewtopApp:
    """The application, ready to run. colours overrides what the environment says; clock is monotonic seconds."""
    themes, problems = load(options.theme_folder)
    session = Session(options, list(themes), clock)
    if options.theme not in themes:
        problems.append(f"theme {options.theme!r} is unknown: use one of {', '.join(themes)}")
    session.message = [(safe_line, "watch") for safe_line in problems]
    return CrewtopApp(reach, session, themes, colours or colours_of(os.environ, options.colour), background)
