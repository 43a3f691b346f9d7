"""The executor's end of asking: a call to a model asks its worker whether it may go out, and tells how it ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from crewtop.executor.wire import answered
from crewtop.llm.asking import CallAsk, Denied, Outcome, Permit, Settled
from crewtop.model.events import CallAsked, CallSettled, Event, fields_of

CANCELLED = Denied("the run is cancelled", None, terminal=True)


class Desk:
    """One run's. send: tells the worker of an event, send_soon of one that nobody waits for; what the worker answers is
    handed to answer, from whatever thread.
    """

    def __init__(self, send: Callable[[Event], None], send_soon: Callable[[Event], None]) -> None:
        self._send, self._send_soon = send, send_soon
        self._lock = threading.Lock()
        self._waiting: dict[str, Future[Permit | Denied]] = {}
        self._closed = False

    def ask(self, ask: CallAsk) -> Future[Permit | Denied]:
        """Ask; the future gets the answer, which may take as long as a limit lasts."""
        future: Future[Permit | Denied] = Future()
        with self._lock:
            if self._closed:
                future.set_result(CANCELLED)
                return future
            self._waiting[ask.call_id] = future
        prompt = fields_of(ask.prompt) if ask.prompt is not None else None
        self._send(CallAsked(time.monotonic(), {**fields_of(ask), "prompt": prompt}))
        return future

    def answer(self, message: dict[str, Any]) -> None:
        """Hand an answer to the call that waits for it; a permit for one that waits no more is given back."""
        with self._lock:
            future = self._waiting.pop(message["call_id"], None)
        answer = answered(message)
        if future is not None and future.set_running_or_notify_cancel():
            future.set_result(answer)
        else:
            self._give_back(answer)

    def close(self) -> None:
        """The run is cancelled: who waits for an answer is denied, and nothing goes out any more.

        A thread that waits cannot be cancelled, and would keep its run, and in the end its host, from ending.
        """
        with self._lock:
            self._closed = True
            waiting, self._waiting = list(self._waiting.values()), {}
        for future in waiting:
            if future.set_running_or_notify_cancel():
                future.set_result(CANCELLED)

    def forsake(self, asked: Future[Permit | Denied]) -> None:
        """Nobody waits for this answer any more: what it permits is given back, now or as soon as it comes."""
        if not asked.cancel():
            self._give_back(asked.result())

    def settle(self, settled: Settled) -> None:
        """Tell how a permitted call ended."""
        self._send_soon(CallSettled(time.monotonic(), fields_of(settled)))

    def _give_back(self, answer: Permit | Denied) -> None:
        if isinstance(answer, Permit):
            self.settle(Settled(answer.call_id, Outcome.UNSENT, None))
