"""Whether a worker tells of its runs as traces: only where it is told whom, and the extra is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from crewtop.worker.traces import Traces

log = structlog.get_logger()

STANDARD = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@contextmanager
def tracing(endpoint: str | None) -> Iterator[Traces | None]:
    """The way to the collector while inside; None where there is none. endpoint: [traces] endpoint."""
    if not endpoint and not any(os.environ.get(name) for name in STANDARD):
        yield None
        return
    try:
        from crewtop.worker.traces import collecting
    except ImportError as error:
        log.warning("no traces", missing=error.name, then='install the extra: pip install "crewtop[traces]"')
        yield None
        return
    with ExitStack() as stack:
        try:
            traces = stack.enter_context(collecting(endpoint))
        except ValueError as error:  # of one of OpenTelemetry's own variables
            log.warning("no traces", reason=str(error), then="runs go on")
            traces = None
        yield traces
