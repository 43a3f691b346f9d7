"""A worker that starts one run, prints process ids, and waits to be killed. Usage: worker_to_kill.py TARGETS FOLDER"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from crewtop.executor.client import Zygote
from crewtop.model.events import Assignment


async def main(targets: str, folder: str) -> None:
    zygote = await Zygote.start(path=Path(targets), log=None)
    process = await zygote.run(Assignment(1, 1, "billing", "jobs:sleep_with_child", "{}", folder, {}))
    first = await anext(aiter(process.log))
    print(zygote.pid, process.pid, first.decode().split()[-1], flush=True)
    await process.wait()


asyncio.run(main(*sys.argv[1:]))
