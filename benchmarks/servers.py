"""An embedded pair of its own for each benchmark, thrown away afterwards."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crewtop import embedded
from crewtop.store import schema
from crewtop.store.database import Database


@contextmanager
def fresh_servers() -> Iterator[embedded.Servers]:
    """A running pair with our schema in it."""
    folder = Path(tempfile.mkdtemp(prefix="crewtop-bench-"))
    folder.chmod(0o755)
    try:
        with embedded.running(folder / "data") as servers:
            asyncio.run(_init(servers.dsn))
            yield servers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _init(dsn: str) -> None:
    async with Database(dsn, application_name="crewtop benchmark", connections=1) as database:
        await schema.init(database)


def table(title: str, rows: list[tuple[str, ...]]) -> None:
    """Print rows, the first of them the heading, as a Markdown table."""
    print(f"\n### {title}\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("| " + " | ".join("---" for _ in row) + " |")
