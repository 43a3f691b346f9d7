"""What is said of an alert, as text and as JSON, and how it is delivered: to a webhook or to a command."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from http.client import HTTPException
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

from crewtop.config_alerts import Delivery
from crewtop.model.alerts import Alert, Event
from crewtop.model.durations import duration
from crewtop.text import masked, shown

ERROR_CHARACTERS = 300
"""Of what a target said."""

SECRET_CHARACTERS = 6
"""A part of a webhook's address that is as long may be the secret in it."""

_SIGNS = {"fired": {"wrong": "🔴", "watch": "🟠"}, "ended": {"wrong": "🟢", "watch": "🟢"}}


class NotDelivered(Exception):
    """A target did not take it; the text says why, without the address, which is a secret."""


def message(alert: Alert, event: Event, source: str) -> dict[str, Any]:
    """What a target gets: text for people, and the fields under "alert" for programs.

    id is the same however often it is delivered. source: which database. Secrets are masked.
    """
    said = {name: _safe(getattr(alert, name)) for name in ("rule", "subject", "words")}
    return {
        "text": _text(alert, event, _safe(source)),
        "alert": {
            "id": f"{alert.id}-{event}",
            "alert": alert.id,
            "event": event,
            **said,
            "queue": _safe(alert.queue) if alert.queue is not None else None,
            "severity": alert.severity,
            "value": alert.value,
            "since": _stamp(alert.since),
            "fired_at": _stamp(alert.fired_at),
            "ended_at": _stamp(alert.ended_at),
            "source": _safe(source),
        },
    }


def _text(alert: Alert, event: Event, source: str) -> str:
    subject, words, rule = _safe(alert.subject), _safe(alert.words), _safe(alert.rule)
    if event == "test":
        return _slack(f"✅ {source}: {words}")
    sign = _SIGNS[event][alert.severity]
    if event == "fired":
        return _slack(f"{sign} {source}: {subject}: {words} ({rule})")
    lasted = duration((alert.ended_at - alert.fired_at).total_seconds()) if alert.ended_at and alert.fired_at else "?"
    return _slack(f"{sign} {source}: over after {lasted}: {subject}, was: {words} ({rule})")


def _slack(text: str) -> str:
    """A text in which no name calls for anybody. Slack obeys what stands in <> ("Formatting text"), Mattermost and
    Rocket.Chat a bare @all.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "＠")


def _safe(text: str) -> str:
    return shown(masked(text))


def _stamp(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None


async def deliver(to: Delivery, what: dict[str, Any]) -> None:
    """Hand a message to a target. Raises NotDelivered."""
    body = json.dumps(what, allow_nan=False).encode()
    try:
        async with asyncio.timeout(to.timeout_seconds):
            if to.webhook is not None:
                await _in_a_thread(partial(_post, to.webhook.get_secret_value(), body, to.timeout_seconds))
            else:
                await _run(to.command, body)
    except TimeoutError:
        raise NotDelivered(f"no answer within {to.timeout_seconds:g} s") from None


async def _in_a_thread(do: Callable[[], None]) -> None:
    """Do it in a thread of its own, which is left behind where it hangs: the loop's own look up the names of databases
    too, and a process that ends waits for them.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if not done.done():
            done.set_exception(error) if error is not None else done.set_result(None)

    def work() -> None:
        error: BaseException | None = None
        try:
            do()
        except BaseException as it:  # it is raised where it is waited for
            error = it
        with suppress(RuntimeError):  # the loop is over
            loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=work, name="webhook", daemon=True).start()
    await done


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        """Whoever is sent elsewhere would send a GET without the message."""


_OPENER = urllib.request.build_opener(_NoRedirects)


def _post(url: str, body: bytes, timeout: float) -> None:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", "User-Agent": "crewtop"})
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            answer.read(1)
    except urllib.error.HTTPError as error:
        said = ""
        with error, suppress(OSError, HTTPException):
            said = error.read(10 * ERROR_CHARACTERS).decode("utf-8", "replace")
        _refused(f"HTTP {error.code}", _without(url, said))
    except TimeoutError:
        raise
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise error.reason from None
        _refused("no connection", _without(url, str(error.reason)))
    except (OSError, HTTPException, ValueError) as error:
        _refused("no answer", type(error).__name__)


def _without(url: str, said: str) -> str:
    """What a server said without the parts of its address, one of which is the secret."""
    parts = urlsplit(url)
    words = {url, *re.split("[/?&=;]", f"{parts.path}?{parts.query}")}
    for word in sorted(words | set(map(unquote, words)), key=len, reverse=True):
        said = said.replace(word, "…") if len(word) >= SECRET_CHARACTERS else said
    return said


async def _run(command: Sequence[str], body: bytes) -> None:
    """Run it in a process group of its own, which is killed where it takes too long."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            _refused(f"{command[0]} cannot be run", str(error))
        try:
            await process.communicate(body)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - ERROR_CHARACTERS))
            _refused(f"{command[0]} ended with {process.returncode}", errors.read().decode("utf-8", "replace"))


def _refused(what: str, said: str) -> NoReturn:
    said = shown(masked(" ".join(said.split())))[:ERROR_CHARACTERS]
    raise NotDelivered(f"{what}: {said}" if said else what) from None
