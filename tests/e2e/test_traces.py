"""A real worker runs a real crew, and a collector takes the trace of it."""

from __future__ import annotations

from crewtop.demo.provider import Behaviour, serve
from tests.e2e.conftest import Site
from tests.worker.test_traces import receiver


async def test_a_real_run_is_a_trace_of_run_steps_and_calls(site: Site) -> None:
    with receiver() as (collector, taken):
        path = site.folder / "crewtop.toml"
        path.write_text(f'{path.read_text()}\n[traces]\nendpoint = "{collector}"\n')
        async with serve(Behaviour()) as provider:
            worker = site.worker("--burst", CREWTOP_DEMO_PROVIDER=provider.url)
            question = "a question that no collector may see"
            task_id = await site.queue.enqueue("product", {"customer": "Ada", "question": question})
            await site.until_ended()
            await site.until(lambda: _ended(worker))
    by_id = {span.span_id: span for span in taken}
    [run] = [span for span in taken if not span.parent_span_id]
    about = {pair.key: pair.value for pair in run.attributes}
    assert run.name == "invoke_workflow product"
    assert about["crewtop.task.id"].int_value == task_id
    calls = [span for span in taken if span.name.startswith("chat ")]
    assert len(calls) == await site.sql("SELECT count(*) FROM crewtop.llm_calls")
    for call in calls:
        step = by_id[call.parent_span_id]
        assert step.name.startswith("invoke_agent ")
        assert by_id[step.parent_span_id] is run
        assert run.start_time_unix_nano <= step.start_time_unix_nano <= call.start_time_unix_nano
        assert call.start_time_unix_nano < call.end_time_unix_nano <= run.end_time_unix_nano
    told = sum(v.value.int_value for s in calls for v in s.attributes if v.key == "gen_ai.usage.output_tokens")
    assert told == await site.sql("SELECT sum(output_tokens) FROM crewtop.llm_calls")
    assert not any(question.encode() in span.SerializeToString() for span in taken)


async def _ended(worker: object) -> bool:
    return worker.poll() is not None  # type: ignore[attr-defined]
