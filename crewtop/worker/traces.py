"""A run, its steps, LLM calls and tools as OpenTelemetry spans, by the GenAI semantic conventions; never what they say.

Where runs happen nothing is waited for: a span that has ended goes into a bounded queue, which a thread of its own
empties towards the collector. What finds it full is dropped.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

import crewtop
from crewtop.model.events import CallEnded, CallStarted, Event, StepEnded, StepStarted, ToolUsed
from crewtop.model.pricing import tokens
from crewtop.model.task import Claim, Finish, RunOutcome
from crewtop.text import masked, storable

log = structlog.get_logger()

QUEUE_SPANS = 4_096
EXPORT_TIMEOUT_SECONDS = 10.0
FAREWELL_SECONDS = 3.0
"""How long a worker that ends waits for the collector to take its last spans."""

NAME_CHARACTERS = 200

PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai", "bedrock": "aws.bedrock", "gemini": "gcp.gemini", "google": "gcp.gemini",
    "mistral": "mistral_ai", "vertex": "gcp.vertex_ai", "vertex_ai": "gcp.vertex_ai", "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}  # fmt: skip
"""What the conventions call providers that CrewAI calls otherwise."""

Attributes = dict[str, str | int]


@contextmanager
def collecting(endpoint: str | None) -> Iterator[Traces]:
    """Traces towards an OTLP/HTTP collector while inside.

    endpoint: its address without /v1/traces; None: as OTEL_EXPORTER_OTLP_ENDPOINT says.
    """
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)  # one line from here is enough of a trouble
    address = f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None
    exporter = _TellsOnce(OTLPSpanExporter(address, timeout=EXPORT_TIMEOUT_SECONDS))
    processor = BatchSpanProcessor(exporter, max_queue_size=QUEUE_SPANS)
    traces = Traces(processor)
    try:
        yield traces
    finally:
        # By itself it waits for half a minute where the collector is away; what hangs then ends with the process.
        farewell = threading.Thread(target=processor.shutdown, daemon=True)
        farewell.start()
        farewell.join(FAREWELL_SECONDS)


class Traces:
    """Makes the spans of one worker's runs. processor: where they go."""

    def __init__(self, processor: SpanProcessor) -> None:
        service = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "crewtop"}
        provider = TracerProvider(
            resource=Resource.create({"service.version": crewtop.__version__, **service}), shutdown_on_exit=False
        )
        provider.add_span_processor(processor)
        self._tracer = provider.get_tracer("crewtop", crewtop.__version__)

    def run(self, claim: Claim, started: float) -> RunTrace:
        """The trace of a run that started at a monotonic second."""
        return RunTrace(self, claim, started)

    def begin(
        self, name: str, kind: SpanKind, parent: Span | None, at: float, attributes: Mapping[str, str | int]
    ) -> Span:
        """A span from a monotonic second on; parent None: of a trace of its own."""
        return self._tracer.start_span(
            name,
            context=set_span_in_context(parent) if parent is not None else Context(),
            kind=kind,
            attributes=attributes,
            start_time=_nanoseconds(at),
        )


class RunTrace:
    """The spans of one run: the run, its steps, their calls and uses of tools. Times are monotonic seconds."""

    __slots__ = ("_about", "_calls", "_run", "_steps", "_tools", "_traces")

    def __init__(self, traces: Traces, claim: Claim, started: float) -> None:
        self._traces = traces
        self._about: Attributes = {
            "crewtop.task.id": claim.task_id,
            "crewtop.run.id": claim.run_id,
            "crewtop.queue": _name(claim.queue),
            "crewtop.crew": _name(claim.crew),
        }
        crew = _name(claim.crew)
        about: Attributes = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": crew}
        self._run = traces.begin(f"invoke_workflow {crew}", SpanKind.CONSUMER, None, started, self._about | about)
        self._steps: dict[int, Span] = {}
        self._calls: dict[str, Span] = {}
        self._tools: dict[str, Span] = {}

    def tell(self, event: Event) -> None:
        """Take note of an event of the run."""
        match event:
            case StepStarted():
                self._step_started(event)
            case StepEnded():
                step = self._steps.pop(event.position, None)
                if step is not None:
                    _end(step, event.at, "step_failed" if event.error is not None else None)
            case CallStarted():
                self._call_started(event)
            case CallEnded():
                self._call_ended(event)
            case ToolUsed(outcome=None):
                self._tool_began(event)
            case ToolUsed():
                tool = self._tools.pop(event.use_id, None)
                if tool is not None:
                    _end(tool, event.at, None if event.outcome == "ok" else "tool_failed")

    def ended(self, report: Finish) -> None:
        """The run is over, and whatever of it had not ended."""
        now = time.monotonic()
        why = None if report.outcome is RunOutcome.COMPLETED else _name(report.error_type or str(report.outcome))
        for span in (*self._calls.values(), *self._tools.values(), *self._steps.values()):
            _end(span, now, str(report.outcome) if why else "no_end")
        self._run.set_attribute("crewtop.run.outcome", str(report.outcome))
        _end(self._run, now, why)

    def _step_started(self, event: StepStarted) -> None:
        agent = _name(event.agent or "agent")
        about: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": agent,
            "crewtop.step.position": event.position,
            "crewtop.step.name": _name(event.name),
        }
        self._steps[event.position] = self._traces.begin(
            f"invoke_agent {agent}", SpanKind.INTERNAL, self._run, event.at, self._about | about
        )

    def _call_started(self, event: CallStarted) -> None:
        model = _name(event.model)
        about: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model}
        if event.provider:
            about["gen_ai.provider.name"] = PROVIDERS.get(event.provider, _name(event.provider))
        if event.agent:
            about["gen_ai.agent.name"] = _name(event.agent)
        self._calls[event.call_id] = self._traces.begin(
            f"chat {model}", SpanKind.CLIENT, self._within(event.position), event.at, self._about | about
        )

    def _tool_began(self, event: ToolUsed) -> None:
        tool = _name(event.tool)
        about: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        self._tools[event.use_id] = self._traces.begin(
            f"execute_tool {tool}", SpanKind.INTERNAL, self._within(event.position), event.at, self._about | about
        )

    def _within(self, position: int | None) -> Span:
        """The span of the step at a position; the run's, where none is under way there."""
        return self._steps.get(position, self._run) if position is not None else self._run

    def _call_ended(self, event: CallEnded) -> None:
        call = self._calls.pop(event.call_id, None)
        if call is None:
            return
        if (used := tokens(event.usage)) is not None:
            # The conventions count cached tokens among the input; the ledger keeps them beside it.
            call.set_attribute("gen_ai.usage.input_tokens", used.input + used.cache_read + used.cache_write)
            call.set_attribute("gen_ai.usage.output_tokens", used.output)
            call.set_attribute("gen_ai.usage.cache_read.input_tokens", used.cache_read)
            call.set_attribute("gen_ai.usage.cache_creation.input_tokens", used.cache_write)
        if event.finish_reason:
            call.set_attribute("gen_ai.response.finish_reasons", [_name(event.finish_reason)])
        _end(call, event.at, None if event.outcome == "ok" else event.outcome)


class _TellsOnce(SpanExporter):
    """An exporter that says once that the collector does not take spans, and once that it does again."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self._lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Hand spans to the collector; those that it does not take are gone."""
        result = self._inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            if self._lost:
                log.info("traces are taken again", lost=self._lost)
            self._lost = 0
        else:
            if not self._lost:
                log.warning("traces are lost: the collector does not take them", then="said once; runs go on")
            self._lost += len(spans)
        return result

    def shutdown(self) -> None:
        """End at once: a retry that waits is given up."""
        self._inner.shutdown()


def _end(span: Span, at: float, error: str | None) -> None:
    """error: its type, never its text, which may repeat what was asked or answered."""
    if error is not None:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
    span.end(_nanoseconds(at))


def _nanoseconds(at: float) -> int:
    """A monotonic second as Unix nanoseconds of this host's clock."""
    return time.time_ns() - round((time.monotonic() - at) * 1e9)


def _name(text: str) -> str:
    return storable(masked(text[:NAME_CHARACTERS]))[0]
