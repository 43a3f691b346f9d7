"""A run as a trace: a tree of spans with real times, by the GenAI conventions, and nothing of what was said."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import structlog
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from crewtop.model.events import CallEnded, CallStarted, Event, StepEnded, StepStarted, ToolUsed
from crewtop.model.task import Claim, Finish, RunOutcome
from crewtop.worker.traces import Traces, collecting
from crewtop.worker.tracing import tracing

CLAIM = Claim(7, 70, "support", "triage", "{}")
USAGE = {"input_tokens": 30, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 20, "output_tokens": 9}
BEGAN = time.monotonic() - 100


def traced(*events: Event, outcome: RunOutcome = RunOutcome.COMPLETED, **facts: Any) -> dict[str, ReadableSpan]:
    """The spans of a run by their names."""
    memory = InMemorySpanExporter()
    trace = Traces(SimpleSpanProcessor(memory)).run(CLAIM, BEGAN)
    for event in events:
        trace.tell(event)
    trace.ended(Finish(70, 7, outcome, 100.0, **facts))
    return {span.name: span for span in memory.get_finished_spans()}


STEP = StepStarted(BEGAN + 10, 1, "look", "Agent", "a description with a secret")
CALL = CallStarted(BEGAN + 20, "c1", "anthropic", "claude", "Agent", 1)


def test_a_run_its_step_and_its_call_are_one_tree_with_their_real_times() -> None:
    spans = traced(STEP, CALL, CallEnded(BEGAN + 25, "c1", "ok", USAGE, "stop"), StepEnded(BEGAN + 30, 1, "out", None))
    run, step, call = (spans[name] for name in ("invoke_workflow triage", "invoke_agent Agent", "chat claude"))
    assert run.parent is None
    assert (step.parent, call.parent) == (run.context, step.context)
    began = time.time() - (time.monotonic() - BEGAN)
    for span, start, end in ((step, 10, 30), (call, 20, 25)):
        assert (span.start_time or 0) / 1e9 == pytest.approx(began + start, abs=0.1)
        assert (span.end_time or 0) / 1e9 == pytest.approx(began + end, abs=0.1)
    about = dict(call.attributes or {})
    assert about["gen_ai.operation.name"] == "chat"
    assert about["gen_ai.provider.name"] == "anthropic"
    assert about["gen_ai.request.model"] == "claude"
    assert (about["gen_ai.usage.input_tokens"], about["gen_ai.usage.output_tokens"]) == (100, 9)
    for span in spans.values():
        named = dict(span.attributes or {})
        assert (named["crewtop.task.id"], named["crewtop.run.id"]) == (7, 70)
        assert (named["crewtop.queue"], named["crewtop.crew"]) == ("support", "triage")
        assert "error.type" not in named


def test_a_use_of_a_tool_is_a_span_of_its_step() -> None:
    began = ToolUsed(BEGAN + 12, "Search the web", None, use_id="t1", position=1)
    failed = ToolUsed(BEGAN + 15, "Search the web", "error", "no answer to: a secret", "t1", 1)
    spans = traced(
        STEP, began, failed, ToolUsed(BEGAN + 16, "unheard of", "ok", use_id="t2"), StepEnded(1.0, 1, "", None)
    )
    tool, step = spans["execute_tool Search the web"], spans["invoke_agent Agent"]
    assert tool.parent == step.context
    assert ((tool.end_time or 0) - (tool.start_time or 0)) / 1e9 == pytest.approx(3, abs=0.1)
    about = dict(tool.attributes or {})
    assert (about["gen_ai.operation.name"], about["gen_ai.tool.name"]) == ("execute_tool", "Search the web")
    assert about["error.type"] == "tool_failed"
    assert "secret" not in tool.to_json()
    assert len(spans) == 3


def test_nothing_of_what_was_said_is_told() -> None:
    told = [STEP, CALL, CallEnded(BEGAN + 25, "c1", "error", None, None, "prompt: a secret")]
    spans = traced(*told, StepEnded(BEGAN + 30, 1, None, "a secret"), outcome=RunOutcome.FAILED, error="a secret")
    assert not any("secret" in span.to_json() for span in spans.values())
    assert dict(spans["chat claude"].attributes or {})["error.type"] == "error"
    assert not spans["chat claude"].status.is_ok


def test_unknown_usage_has_no_attribute() -> None:
    spans = traced(CALL, CallEnded(BEGAN + 25, "c1", "ok"))
    assert not [name for name in spans["chat claude"].attributes or () if "usage" in name]


def test_what_a_killed_run_left_open_ends_with_it() -> None:
    spans = traced(STEP, CALL, ToolUsed(BEGAN + 21, "search", None, use_id="t1"), outcome=RunOutcome.OVER_BUDGET)
    assert {dict(span.attributes or {})["error.type"] for span in spans.values()} == {"over_budget"}
    assert len(spans) == 4


def test_an_end_without_a_start_changes_nothing() -> None:
    assert list(traced(StepEnded(1.0, 3, None, None), CallEnded(1.0, "x", "ok"))) == ["invoke_workflow triage"]


def test_off_unless_there_is_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    with tracing(None) as traces:
        assert traces is None


def test_without_the_extra_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "crewtop.worker.traces", None)
    with structlog.testing.capture_logs() as logged, tracing("http://127.0.0.1:9") as traces:
        assert traces is None
    [line] = logged
    assert "crewtop[traces]" in line["then"]


def test_a_collector_that_is_away_is_told_of_once_and_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crewtop.worker.traces.FAREWELL_SECONDS", 0.2)
    monkeypatch.setattr("crewtop.worker.traces.EXPORT_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    with structlog.testing.capture_logs() as logged, collecting("http://127.0.0.1:9") as traces:
        before = time.process_time()
        for number in range(6_000):
            traces.run(CLAIM._replace(run_id=number), BEGAN).ended(Finish(number, 7, RunOutcome.COMPLETED, 1.0))
        spent = time.process_time() - before
        deadline = time.monotonic() + 30
        while not logged and time.monotonic() < deadline:
            threading.Event().wait(0.02)
    assert [line["event"] for line in logged] == ["traces are lost: the collector does not take them"]
    assert spent < 30  # nothing waits for the collector; how much it costs is measured elsewhere


def test_a_setting_that_opentelemetry_refuses_costs_the_traces_and_not_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "many")
    with structlog.testing.capture_logs() as logged, tracing("http://127.0.0.1:9") as traces:
        assert traces is None
    [line] = logged
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in line["reason"]


def test_a_collector_takes_them_by_otlp() -> None:
    with receiver() as (address, taken):
        with collecting(address) as traces:
            traces.run(CLAIM, BEGAN).ended(Finish(70, 7, RunOutcome.COMPLETED, 1.0))
        assert [span.name for span in taken] == ["invoke_workflow triage"]


@contextmanager
def receiver() -> Iterator[tuple[str, list[Any]]]:
    """An OTLP/HTTP collector on this host: its address and the spans that it took."""
    taken: list[Any] = []

    class Take(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.path == "/v1/traces"
            request = ExportTraceServiceRequest.FromString(body)
            taken.extend(s for r in request.resource_spans for scope in r.scope_spans for s in scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quietly."""

    server = HTTPServer(("127.0.0.1", 0), Take)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
