"""Coroutines that end-to-end tests register as crews: they share a process with others."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any


async def wait(inputs: dict[str, Any]) -> int:
    """Say in which process it runs, wait until the test opens the gate, and answer its number."""
    folder = Path(inputs["folder"])
    with (folder / f"began-{inputs['n']}").open("a") as began:
        began.write(f"{os.getpid()}\n")
    print(f"number {inputs['n']} waits")
    while not (folder / "open").exists():  # noqa: ASYNC110  the test is another process
        await asyncio.sleep(0.02)
    return int(inputs["n"])


async def deaf(inputs: dict[str, Any]) -> None:
    """Hold up the loop, so that no cancellation is heard."""
    (Path(inputs["folder"]) / "deaf").touch()
    time.sleep(600)  # noqa: ASYNC251  what must not be done is what this is about


async def die(inputs: dict[str, Any]) -> None:
    """End the process, and all that share it."""
    folder = Path(inputs["folder"])
    (folder / f"dies-{len(list(folder.glob('dies-*')))}").touch()
    os.kill(os.getpid(), 9)


def stalls() -> None:
    """A factory that never gets its crew together."""
    time.sleep(600)
