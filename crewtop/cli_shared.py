"""What every command of the command line needs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from crewtop.config import Configuration

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
CsvFlag = Annotated[bool, typer.Option("--csv", help="Print CSV with exact figures.")]
Since = Annotated[str, typer.Option("--since", metavar="TIME", help="How far back: 90m, 24h, 7d, 4w.")]
LARGEST_ID = 2**63 - 1


def configuration(context: typer.Context, flags: Mapping[str, Any] | None = None) -> Configuration:
    """The settings under this command's flags, nested like the file, and those that stand before it."""
    from crewtop.config import load

    config, everywhere, _ = context.obj
    return load(config, {**everywhere, **(flags or {})})


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run a command to its exit code."""
    return asyncio.run(work)


def not_both(as_csv: bool, as_json: bool) -> None:
    """Raise BadParameter where two formats are asked for."""
    if as_csv and as_json:
        raise typer.BadParameter("say --csv or --json, not both")


def without_jargon(complaint: str) -> str:
    """What the reader of the command line says of a value, without the words of the library below it."""
    return complaint.replace("Value error, ", "")


class Commands(TyperGroup):
    """All commands, which complain without jargon."""

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        """As always, of the flags before a command."""
        with _plainly():
            return super().make_context(*arguments, **extra)

    def invoke(self, *arguments: Any) -> Any:
        """As always, of a command and what follows it."""
        with _plainly():
            return super().invoke(*arguments)


@contextmanager
def _plainly() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if hasattr(error, "message"):
            error.message = without_jargon(error.message)
        raise
