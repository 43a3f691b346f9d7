"""The screen in a terminal: feeds fill a Session, keys go into it, its frames come out on one canvas."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from textual.app import App, ComposeResult

from crewtop.model.operations import Operation
from crewtop.model.snapshot import Snapshot, TaskDetail, TaskPage
from crewtop.tui.canvas import Canvas
from crewtop.tui.driver import calm_driver
from crewtop.tui.effects import (
    Act,
    ActOnAll,
    Copy,
    Drain,
    Effect,
    LoadBody,
    PauseQueue,
    Price,
    Quit,
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
from crewtop.tui.views.tasks import Request

Background = Callable[[], Awaitable[None]]


class CrewtopApp(App[int], inherit_bindings=False):
    """Carries out what the session asks for. Nothing here waits on the way from a key to the paint."""

    TITLE = "crewtop"
    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { overflow: hidden; }"

    def __init__(
        self,
        source: Source,
        session: Session,
        themes: dict[str, Theme],
        colours: Colours,
        background: Background | None = None,
    ) -> None:
        super().__init__(driver_class=calm_driver(), ansi_color=colours in ("16", "none"))
        self.source, self.session = source, session
        self._themes, self._colours, self._background = themes, colours, background
        self._look = Look(themes[session.theme], colours)
        self.canvas = Canvas(session.frame, self.press, self.paste, self._look)
        self._tasks: set[asyncio.Task[None]] = set()
        self._orders: set[asyncio.Task[None]] = set()
        self._following: tuple[int, asyncio.Task[None]] | None = None
        self._job: Job | None = None
        interval = lambda: session.interval  # noqa: E731
        self._snapshots: Feed[Snapshot] = Feed(source.snapshot, self._told, self._failed, interval)
        self._pages: Feed[tuple[Request, TaskPage]] = Feed(self._ask_page, self._told_page, self._quiet, interval)
        self._details: Feed[tuple[int, TaskDetail | None]] = Feed(
            self._ask_detail, self._told_detail, self._quiet, interval
        )

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
        for feed in (self._snapshots, self._pages, self._details):
            self._spawn(feed.run())
        if (background := self._background) is not None:
            # Not before the first frame is out: what starts there imports a good deal. Nothing is returned, since
            # Textual would wait for a task that it is given, and this one lasts as long as the screen.
            def begin() -> None:
                self._spawn(self._in_background(background))

            self.call_after_refresh(begin)
        self.set_interval(1.0, self.canvas.paint)

    async def on_unmount(self) -> None:
        """Stop asking."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Keys

    def press(self, key: str) -> None:
        """Obey a key and show what it did."""
        before = self.session.theme, self.session.tasks.request, self._detail_id
        effect = self.session.press(key)
        if effect is not None:
            self._carry_out(effect)
        if self.session.theme != before[0]:
            self._wear(Look(self._themes[self.session.theme], self._colours))
        if self.session.tasks.request != before[1]:
            self._pages.poke()
        if self._detail_id != before[2]:
            self._details.poke()
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
            case PauseQueue(queue, paused):
                self._order(self._tell(self.source.pause_queue(queue, paused=paused)))
            case SetSlots(worker_id, slots):
                self._order(self._tell(self.source.set_slots(worker_id, slots)))
            case Drain(worker_id):
                self._order(self._tell(self.source.drain(worker_id)))

    async def _act(self, effect: Act) -> None:
        async with self._reporting("nothing done"):
            self.session.acted(await self.source.act(effect.order, effect.targets))
        self._pages.poke()
        self._details.poke()

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
        self._pages.poke()
        self._details.poke()

    async def _tell(self, order: Awaitable[None]) -> None:
        async with self._reporting("nothing done"):
            await order
        self._snapshots.poke()

    async def _load(self, effect: LoadBody) -> None:
        async with self._reporting("not loaded"):
            excerpt = await self.source.body(effect.task_id, effect.run_id, effect.body, effect.limit)
            if self.session.detail is not None and self.session.detail.task_id == effect.task_id:
                self.session.detail.take_body(effect.run_id, effect.body, excerpt)

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

    def _quiet(self, reason: str) -> None:
        """The banner follows the snapshots; lists and details that fail with them add nothing to it."""
        self.session.tasks.problem = reason
        self._show()

    async def _ask_page(self) -> tuple[Request, TaskPage]:
        request = self.session.tasks.request
        return request, await self.source.tasks(*request)

    def _told_page(self, answer: tuple[Request, TaskPage]) -> None:
        # Frozen is what was on the screen; what the operator asks for since is still answered, once.
        if not self.session.frozen or self.session.tasks.loading:
            self.session.tasks.take(answer[1], answer[0])
            self._show()

    @property
    def _detail_id(self) -> int:
        return self.session.detail.task_id if self.session.detail is not None else 0

    async def _ask_detail(self) -> tuple[int, TaskDetail | None]:
        task_id = self._detail_id
        return task_id, await self.source.detail(task_id) if task_id else None

    def _told_detail(self, answer: tuple[int, TaskDetail | None]) -> None:
        if self.session.detail is not None and (not self.session.frozen or self.session.detail.detail is None):
            self.session.detail.take(*answer)
            self._show()

    # Logs and long texts

    def _follow(self) -> None:
        """Follow the output of the run that is open, and of no other."""
        run_id = self.session.detail.log_run if self.session.detail is not None else None
        if self._following is not None and self._following[0] != run_id:
            self._following[1].cancel()
            self._following = None
        if run_id is not None and self._following is None:
            self._following = run_id, self._spawn(self._read_log(run_id))

    async def _read_log(self, run_id: int) -> None:
        try:
            async for more in self.source.log(run_id):
                if self.session.detail is not None:
                    self.session.detail.take_log(run_id, more)
                    self._show()
        except Unavailable:
            await asyncio.sleep(self.session.interval)
            self._following = None

    def _prepare(self) -> None:
        """Cut a long text into rows in a thread; a key never waits for it."""
        job = self.session.detail.job if self.session.detail is not None else None
        if job is not None and self._job is None:
            self._job = job
            self._spawn(self._run_job(job))

    async def _run_job(self, job: Job) -> None:
        rows = await asyncio.to_thread(job.rows)
        self._job = None
        if self.session.detail is not None:
            self.session.detail.finish(job, rows)
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


def run_screen(source: Source, options: ScreenOptions, *, background: Background | None = None) -> int:
    """Show the screen until the operator leaves it; returns the exit code.

    background runs beside it on the same event loop, for the embedded pool, and is cancelled at the end.
    """
    screen = build(source, options, background=background)
    return screen.run() or 0


def build(
    source: Source,
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
    return CrewtopApp(source, session, themes, colours or colours_of(os.environ, options.colour), background)
