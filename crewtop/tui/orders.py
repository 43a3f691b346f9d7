"""What the operator asked of the world outside the picture: carried out beside the screen, and told when it is done."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from textual.app import App

from crewtop.model.operations import Operation
from crewtop.tui import outside
from crewtop.tui.effects import (
    Act,
    ActOnAll,
    Drain,
    Effect,
    Halt,
    Kill,
    LiftSilence,
    LoadBody,
    PauseQueue,
    Price,
    Resume,
    Save,
    SetSlots,
    ShowInPager,
    SilenceAlert,
    Undo,
)
from crewtop.tui.feed import TIMEOUT_SECONDS
from crewtop.tui.session import Session
from crewtop.tui.source import Refused, Source, Unavailable
from crewtop.tui.views.detail import Detail


class Orders:
    """Sends effects to the source and its answers to the session.

    reach answers the source or raises Unavailable; changed is called whenever there is something new to show; settled
    when something was changed that the views want to be told.
    """

    def __init__(
        self,
        app: App[Any],
        session: Session,
        reach: Callable[[], Source],
        changed: Callable[[], None],
        settled: Callable[[], None],
    ) -> None:
        self._app, self._session = app, session
        self._reach, self._changed, self._settled = reach, changed, settled

    def work(self, effect: Effect) -> Coroutine[Any, Any, None]:
        """The carrying out of an effect."""
        match effect:
            case Act():
                return self._act(effect)
            case Price():
                return self._price(effect)
            case ActOnAll() | Undo() | Resume():
                return self._follow(effect)
            case LoadBody():
                return self._load(effect)
            case Save():
                return self._save(effect)
            case ShowInPager():
                return self._page(effect)
        return self._tell(effect)

    async def _act(self, effect: Act) -> None:
        async with self._reporting("nothing done"):
            self._session.acted(await self._reach().act(effect.order, effect.targets))
        self._settled()

    async def _price(self, effect: Price) -> None:
        async with self._reporting("nothing done"):
            self._session.priced(effect, await self._reach().price(effect.order.action, effect.matching))

    async def _follow(self, effect: ActOnAll | Undo | Resume) -> None:
        """Show how far an operation has come, for as long as it takes; a worker carries it on if this screen ends."""
        async with self._reporting("the operation stands still", seconds=None):
            source = self._reach()
            async for operation in _begun(source, effect):
                self._session.acting.progress = operation
                self._changed()
            asked = effect.asked if isinstance(effect, ActOnAll) else None
            self._session.ended(operation, await source.refusals(operation.id), asked)
        self._session.acting.progress = None
        self._changed()
        self._settled()

    async def _tell(self, effect: Effect) -> None:
        async with self._reporting("nothing done"):
            source = self._reach()
            match effect:
                case PauseQueue(queue, paused):
                    if held := await source.pause_queue(queue, paused=paused):
                        self._session.say(held, "watch")
                case SilenceAlert(alert, length):
                    await source.silence(alert, length)
                    self._session.say(f"nobody is told of {alert.rule} on {alert.subject}")
                case LiftSilence(silence):
                    await source.unsilence(silence)
                    self._session.say("whoever is told of alerts is told again")
                case SetSlots(worker_id, slots):
                    await source.set_slots(worker_id, slots)
                case Drain(worker_id):
                    await source.drain(worker_id)
                case Kill(worker_id):
                    await source.kill(worker_id)
                case Halt(operation_id, how):
                    await source.halt(operation_id, how)
        self._settled()

    async def _load(self, effect: LoadBody) -> None:
        async with self._reporting("not loaded"):
            excerpt = await self._reach().body(effect.task_id, effect.run_id, effect.body, effect.limit)
            page = self._session.page
            if isinstance(page, Detail) and page.task_id == effect.task_id:
                page.take_body(effect.run_id, effect.body, excerpt)

    async def _save(self, effect: Save) -> None:
        async with self._reporting("not saved", seconds=None):
            self._session.say(await outside.save(self._reach(), effect, Path.cwd()))

    async def _page(self, effect: ShowInPager) -> None:
        async with self._reporting("not shown", seconds=None):
            if said := await outside.page(self._app, self._reach(), effect, os.environ):
                self._session.say(said, "watch")

    @contextlib.asynccontextmanager
    async def _reporting(self, what: str, seconds: float | None = TIMEOUT_SECONDS) -> Any:
        """Say in a line why something asked for was not done; paint in any case."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except (Refused, Unavailable) as error:
            self._session.say(f"{what}: {error}", "wrong")
        except TimeoutError:
            self._session.say(f"{what} as far as is known: no answer within {TIMEOUT_SECONDS:g} s", "wrong")
        except Exception as error:  # a defect below must not take the screen down with it
            self._session.say(f"{what}: unexpected {type(error).__name__}: {error}", "wrong")
        self._changed()


def _begun(source: Source, effect: ActOnAll | Undo | Resume) -> AsyncIterator[Operation]:
    match effect:
        case ActOnAll(order, matching):
            return source.act_on_all(order, matching)
        case Undo(operation_id):
            return source.undo(operation_id)
        case Resume(operation_id):
            return source.resume(operation_id)
