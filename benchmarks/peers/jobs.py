"""The jobs, the same for every queue. Each takes its inputs; a queue without such a notion unpacks its own."""

from __future__ import annotations

import asyncio
import functools
import os
import time
from contextlib import suppress
from typing import Any


async def noop(inputs: dict[str, Any]) -> None:
    """Nothing; but the first one in a process says when it began, in the file STARTED, unless another was first."""
    _say_started()


@functools.cache
def _say_started() -> None:
    now = time.time()
    with suppress(FileExistsError), open(os.environ["STARTED"], "x") as file:
        file.write(repr(now))


async def stamp(inputs: dict[str, Any]) -> None:
    """Say into the pipe STAMPS when it began."""
    now = time.time()
    os.write(_pipe(), f"{inputs['n']} {now!r}\n".encode())


@functools.cache
def _pipe() -> int:
    return os.open(os.environ["STAMPS"], os.O_WRONLY)


async def work(inputs: dict[str, Any]) -> None:
    """Sleep for inputs["seconds"], and leave a line in the file MARKS as it begins and one as it ends."""
    _mark("began", inputs["n"])
    await asyncio.sleep(inputs["seconds"])
    _mark("ended", inputs["n"])


def _mark(what: str, number: object) -> None:
    # One write in append mode: lines of many processes neither mix nor get lost.
    file = os.open(os.environ["MARKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, f"{what} {number} {time.time()!r}\n".encode())
    os.close(file)


JOBS = {"noop": noop, "stamp": stamp, "work": work}
