"""The commands that machines call: metrics for Prometheus, a check for a monitoring system."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from crewtop.cli_shared import configuration, run, without_jargon

machines = typer.Typer()


@machines.command()
def metrics(
    context: typer.Context,
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="0 takes any that is free.")] = 9464,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    once: Annotated[bool, typer.Option("--once", help="Print what a scrape is answered, and end.")] = False,
) -> None:
    """Serve metrics to Prometheus until told to stop."""
    from crewtop.commands.metrics import print_once, serve

    settings = configuration(context)
    raise typer.Exit(run(print_once(settings) if once else serve(settings, host, port)))


class Probe(TyperCommand):
    """A command whose wrong usage is 'unknown' to a monitoring system, not 'critical'."""

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        """As always, but what cannot be read is said in the line that the monitoring system shows."""
        try:
            return super().make_context(*arguments, **extra)
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            from crewtop.commands.check import Status, say

            raise typer.Exit(say(Status.UNKNOWN, without_jargon(error.format_message()))) from None


@machines.command(cls=Probe)
def check(
    context: typer.Context,
    queue: Annotated[str | None, typer.Option("--queue", help="Only this queue.")] = None,
    oldest: Annotated[
        str | None, typer.Option("--oldest", metavar="[WARN:]CRIT", help="The longest wait, such as 2m:5m.")
    ] = None,
    stuck: Annotated[
        str | None, typer.Option("--stuck", metavar="[WARN:]CRIT", help="Stuck tasks: more are too many.")
    ] = None,
    failed: Annotated[
        str | None, typer.Option("--failed", metavar="[WARN:]CRIT", help="Failed tasks: more are too many.")
    ] = None,
    error_rate: Annotated[
        str | None, typer.Option("--error-rate", metavar="[WARN:]CRIT", help="Of ended runs, such as 2%:5%.")
    ] = None,
    workers: Annotated[
        str | None, typer.Option("--workers", metavar="[WARN:]CRIT", help="Workers: fewer are too few.")
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.1, max=600, help="Then it is unknown.")
    ] = 10.0,
) -> None:
    """Say in one line how things stand. Exit codes: 0 ok, 1 warning, 2 critical, 3 unknown."""
    from crewtop.commands.check import print_check

    limits = {"oldest": oldest, "stuck": stuck, "failed": failed, "error_rate": error_rate, "workers": workers}
    raise typer.Exit(run(print_check(lambda: configuration(context), queue, limits, timeout)))
