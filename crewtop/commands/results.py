"""`crewtop results`: what tasks gave, a JSON object a line, as they come; on disk it goes on where the file ends."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import typer

from crewtop.config import Configuration
from crewtop.model.errors import Refused
from crewtop.model.filters import expand, parse
from crewtop.model.results import START, Cursor, Result, stamp
from crewtop.store import results
from crewtop.stores import stores
from crewtop.text import masked_body, shown

TIMEOUT_SECONDS = 30.0
BLOCK_BYTES = 65_536
_HEAD = re.compile(rb'\{"task_id": (\d{1,19}), "finished_at": "([0-9T:.-]+)Z", ')

Write = Callable[[list[str]], None]


async def print_results(
    configuration: Configuration, words: str, after: str | None, out: Path | None, *, follow: bool
) -> int:
    """Write results of completed tasks that match, in the order of their ends, and the place of the last to stderr.

    after: such a place, to go on from. out: a file, which is gone on with after its last whole line; None: stdout.
    With follow until somebody stops it. Raises Refused for a file that holds anything else.
    """
    settings = configuration.settings
    task_filter = parse(expand(words, settings.views))
    place = Cursor.of(after) if after is not None else START
    with _writer(out) as (write, last):
        place = max(place, last)
        try:
            async with stores(settings, "crewtop", connections=1, timeout=TIMEOUT_SECONDS, prepared=False) as opened:
                pages = results.pages(
                    opened.database, task_filter, settings.screen.no_progress_seconds, place, follow=follow
                )
                async for page in pages:
                    write([line(result) for result in page])
                    place = page[-1].cursor
        except BrokenPipeError:  # the reader has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finally:
            if place != START:
                typer.echo(f"crewtop: up to {place}", err=True)
    return 0


def line(result: Result) -> str:
    """A result as one line of JSON: its value is the text that is stored, without being read."""
    head = {
        "task_id": result.task_id,
        "finished_at": stamp(result.finished_at),
        "crew": result.crew,
        "queue": result.queue,
        "key": result.key,
    }
    value = re.sub(r"[\r\n]+", " ", result.value)  # between tokens: inside of strings JSON has them escaped
    return f'{json.dumps(head)[:-1]}, "result": {value}}}'


@contextmanager
def _writer(out: Path | None) -> Iterator[tuple[Write, Cursor]]:
    """Where lines go, and the place that is written there already."""
    if out is None:
        yield _to_terminal if sys.stdout.isatty() else _to_pipe, START
        return
    with out.open("a+b") as file:
        last = _last(file, out)
        yield lambda lines: _to_file(file, lines), last


def _to_terminal(lines: list[str]) -> None:
    for text in lines:
        sys.stdout.write(shown(masked_body(text)) + "\n")
    sys.stdout.flush()


def _to_pipe(lines: list[str]) -> None:
    sys.stdout.buffer.write("".join(f"{text}\n" for text in lines).encode("utf-8", "surrogatepass"))
    sys.stdout.buffer.flush()


def _to_file(file: BinaryIO, lines: list[str]) -> None:
    file.write("".join(f"{text}\n" for text in lines).encode("utf-8", "surrogatepass"))
    file.flush()


def _last(file: BinaryIO, path: Path) -> Cursor:
    """The place of a file's last whole line; what a writer that died began after it is cut off."""
    end = _line_end(file, file.seek(0, os.SEEK_END))
    if end == 0 and file.seek(0, os.SEEK_END):
        raise _not_ours(path)
    file.truncate(end)
    if end == 0:
        return START
    file.seek(_line_end(file, end - 1))
    head = _HEAD.match(file.read(BLOCK_BYTES))
    if head is None:
        raise _not_ours(path)
    file.seek(0, os.SEEK_END)
    return Cursor(datetime.fromisoformat(f"{head[2].decode()}+00:00"), int(head[1]))


def _not_ours(path: Path) -> Refused:
    return Refused(f"--out {path}: it holds something else than results: name another file")


def _line_end(file: BinaryIO, before: int) -> int:
    """Where the last line that ends before a place ends; 0 where none does."""
    while before > 0:
        start = max(0, before - BLOCK_BYTES)
        file.seek(start)
        found = file.read(before - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        before = start
    return 0
