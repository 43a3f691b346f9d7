"""The question before something is done that cannot be taken back lightly."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from crewtop.model.errors import Refused


def confirm(told: Sequence[str], typed: int | None = None) -> None:
    """Tell what would happen, and ask. typed: a number that has to be typed to agree, where much is at stake.

    Raises Refused unless it is confirmed.
    """
    typer.echo("\n".join(told), err=True)
    if not sys.stdin.isatty():
        raise Refused("nothing was changed: there is no terminal to ask on; add --yes")
    if typed is not None:
        answer = typer.prompt(f"type {typed} to go on", err=True, default="", show_default=False)
        agreed = answer.strip() == str(typed)
    else:
        agreed = typer.confirm("go on?", err=True)
    if not agreed:
        raise Refused("nothing was changed")
