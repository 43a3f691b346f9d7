"""Commands in processes that are forked from one that has imported all of them: what takes half a second is done once.

Elsewhere, in test_dumb.py, test_screen.py and test_wheel.py, crewtop is started as a shell does it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from crewtop import commands
from crewtop.__main__ import main

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["crewtop.cli", *(name for _, name, _ in pkgutil.iter_modules(commands.__path__, "crewtop.commands."))]
)
STREAMS = {"stdin": "r", "stdout": "w", "stderr": "w"}


async def crewtop(
    arguments: Sequence[str], stdin: str, env: Mapping[str, str], cwd: Path, folder: Path
) -> tuple[int, str, str]:
    """Run `crewtop ARGUMENTS` to its end, with its streams in a folder: exit code, stdout, stderr."""
    folder.mkdir()
    (folder / "stdin").write_bytes(stdin.encode())
    process = FORKS.Process(target=_become, args=(list(arguments), dict(env), cwd, folder))
    process.start()
    await asyncio.to_thread(process.join)
    out, err = ((folder / name).read_bytes().decode() for name in ("stdout", "stderr"))
    return process.exitcode or 0, out, err


def _become(arguments: list[str], env: dict[str, str], cwd: Path, folder: Path) -> None:
    """In the fork: be what a shell starts."""
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, (name, mode) in enumerate(STREAMS.items()):
        with (folder / name).open(mode) as file:
            os.dup2(file.fileno(), number)
        setattr(sys, name, os.fdopen(number, mode))
    sys.argv = ["crewtop", *arguments]
    main()
