"""What every command of the command line needs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from crewtop.config import Configuration

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
LARGEST_ID = 2**63 - 1


def configuration(context: typer.Context, flags: Mapping[str, Any] | None = None) -> Configuration:
    """The settings under this command's flags, nested like the file, and those that stand before it."""
    from crewtop.config import load

    config, everywhere, _ = context.obj
    return load(config, {**everywhere, **(flags or {})})


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run a command to its exit code."""
    return asyncio.run(work)
