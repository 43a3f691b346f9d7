"""Texts that leave the screen: into a file, or into the operator's own pager. Both are masked, as on the screen."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from crewtop import words
from crewtop.model.errors import Refused, Unavailable
from crewtop.text import masked, masked_body
from crewtop.tui.effects import Save, ShowInPager, Whole
from crewtop.tui.reading import readable
from crewtop.tui.source import Source

MOST_CHARACTERS = 64 * 1024 * 1024
"""What is fetched of a text at most."""

FETCH_SECONDS = 60.0
"""How long the whole of a text may take to come."""

PAGER = "less"
"""Where $PAGER says nothing."""


async def save(source: Source, effect: Save, folder: Path) -> str:
    """Write a text to a file in a folder, all of it or nothing, for the operator's eyes alone; says where it is.

    A file of that name is replaced. Its bytes are as stored: control characters are in it, secrets are not.
    Raises Refused if it cannot be written, and what Source.body raises.
    """
    text, short = await _fetched(source, effect.whole)
    path = folder / effect.file
    try:
        size = await asyncio.to_thread(_write, path, text, effect.whole)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror or error}: start crewtop in a folder that can be written to") from None
    return f"saved {words.size(size)} to {path}{short}"


async def page(app: App[Any], source: Source, effect: ShowInPager, environment: Mapping[str, str]) -> str:
    """Lend the terminal to the pager that the environment names until the operator leaves it.

    What runs beside the screen goes on meanwhile. Returns what is to be said afterwards, mostly nothing. Raises Refused
    if there is no such pager or no terminal to lend, and what Source.body raises.
    """
    command = _pager(environment.get("PAGER", ""))
    if shutil.which(command[0], path=environment.get("PATH")) is None:
        raise Refused(f"pager {command[0]!r} is not installed: set PAGER to one that is, or save with w")
    text, short = await _fetched(source, effect.whole)
    safe = await asyncio.to_thread(readable, text, effect.whole.kind)
    try:
        with app.batch_update(), app.suspend(), _deaf():  # nothing is painted while the terminal is another's
            await _run(command, safe.encode("utf-8", "replace"), environment)
    except SuspendNotSupported:
        raise Refused("this terminal cannot be lent to a pager: save with w") from None
    return short.removeprefix(", ")


def _pager(named: str) -> list[str]:
    try:
        return shlex.split(named) or [PAGER]
    except ValueError as error:
        raise Refused(f"PAGER is {named!r}: {error}: mend it, or save with w") from None


async def _fetched(source: Source, whole: Whole) -> tuple[str, str]:
    """The text, and what is to be said of it if that is not all."""
    if whole.rest is None:
        return whole.before + whole.after, ""
    rest = whole.rest
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            excerpt = await source.body(rest.task_id, rest.run_id, rest.body, MOST_CHARACTERS)
    except TimeoutError:
        raise Unavailable(f"the whole text did not come within {FETCH_SECONDS:g} s") from None
    short = "" if excerpt.whole else f", the first {words.count(len(excerpt.text))} characters"
    return whole.before + excerpt.text + whole.after, short


def _write(path: Path, text: str, whole: Whole) -> int:
    """Write a text beside its place and move it there; returns how many bytes it has."""
    hidden = masked_body(text) if whole.kind == "json" else masked(text)
    content = hidden.encode("utf-8", "replace")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # its mode is 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return len(content)


@contextmanager
def _deaf() -> Iterator[None]:
    """Leave ^C to the pager: the terminal sends it to both. A handler, unlike SIG_IGN, is not inherited."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def _run(command: list[str], text: bytes, environment: Mapping[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, env=dict(environment))
    try:
        await process.communicate(text)
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
