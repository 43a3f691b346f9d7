"""What Prometheus is told: true figures, no invented ones, and no more series than can be borne."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from prometheus_client.parser import text_string_to_metric_families

from crewtop.commands.metrics import exposition
from crewtop.model.snapshot import Health, QueueRow
from crewtop.model.totals import Totals
from crewtop.plain.families import MOST, OTHER, Labels, Sight, families
from tests.tui.fixtures import BUSY, EMPTY

TOTALS = Totals(
    {("support", "triage", "completed"): Decimal(7), ("support", "triage", "met"): Decimal(6)},
    {("openai", "gpt-4.1", "calls"): Decimal(9), ("openai", "gpt-4.1", "cost"): Decimal("1.25"),
     ("openai", "gpt-4.1", "unpriced"): Decimal(2), ("openai", "gpt-4.1", "input"): Decimal(11)},
)  # fmt: skip


def told(sight: Sight) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, in the order of the labels' names."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(exposition(sight))
        for sample in family.samples
    }


def test_the_figures_are_those_of_the_snapshot() -> None:
    samples = told(Sight(BUSY, TOTALS, BUSY.redis))
    queue = BUSY.queues[0]
    assert samples["crewtop_up", "postgres"] == 1
    assert samples["crewtop_tasks", queue.name, "ready"] == queue.ready
    assert samples["crewtop_tasks", queue.name, "failed"] == queue.failed
    assert samples["crewtop_queue_oldest_seconds", queue.name] == queue.oldest
    assert samples["crewtop_wait_seconds", "0.95", queue.name] == queue.wait.p95
    assert samples["crewtop_wait_observations", queue.name] == queue.wait.n
    assert samples["crewtop_runs_ended_total", "triage", "completed", "support"] == 7
    assert samples["crewtop_starts_total", "triage", "support", "met"] == 6
    assert samples["crewtop_llm_cost_usd_total", "gpt-4.1", "openai"] == 1.25
    assert samples["crewtop_llm_unpriced_calls_total", "gpt-4.1", "openai"] == 2
    assert samples["crewtop_llm_tokens_total", "input", "gpt-4.1", "openai"] == 11
    live = [worker for worker in BUSY.workers if worker.state != "stopped"]
    slots = sum(value for key, value in samples.items() if key[0] == "crewtop_worker_slots")
    assert slots == sum(worker.slots for worker in live)


def test_what_is_unknown_has_no_sample() -> None:
    samples = told(Sight(replace(EMPTY, queues=(QueueRow("idle"),)), Totals(), None))
    names = {key[0] for key in samples}
    assert samples["crewtop_tasks", "idle", "ready"] == 0
    assert not names & {"crewtop_queue_oldest_seconds", "crewtop_wait_seconds", "crewtop_queue_error_ratio"}
    assert ("crewtop_up", "redis") not in samples


def test_without_postgres_there_is_nothing_but_that() -> None:
    samples = told(Sight(None, None, Health(True, 0.001)))
    assert samples == {
        ("crewtop_up", "postgres"): 0,
        ("crewtop_up", "redis"): 1,
        ("crewtop_store_latency_seconds", "redis"): 0.001,
    }


def test_queues_beyond_the_limit_are_told_together_and_counted() -> None:
    queues = tuple(QueueRow(f"q{n:03}", ready=1, oldest=float(n)) for n in range(MOST + 30))
    samples = told(Sight(replace(EMPTY, queues=queues), Totals(), None))
    assert sum(key[0] == "crewtop_tasks" and key[2] == "ready" for key in samples) == MOST + 1
    assert samples["crewtop_tasks", OTHER, "ready"] == 30
    assert samples["crewtop_queue_oldest_seconds", OTHER] == MOST + 29
    assert samples["crewtop_label_values_folded", "queue"] == 30


def test_whoever_has_a_place_keeps_it_and_leaves_it_when_it_goes() -> None:
    labels = Labels(most=2)
    name = labels.seat("queue", ["a", "b", "c"])
    assert [name(queue) for queue in "abc"] == ["a", "b", OTHER]
    name = labels.seat("queue", ["c", "b", "a"])
    assert [name(queue) for queue in "abc"] == ["a", "b", OTHER]
    name = labels.seat("queue", ["c", "b"])
    assert [name(queue) for queue in "bc"] == ["b", "c"]
    assert labels.folded == {"queue": 0}


def test_names_are_masked_and_safe_and_never_make_two_of_one_series() -> None:
    queues = (QueueRow("a\x1b[2J\n\ud800"), QueueRow(OTHER, ready=2), QueueRow("postgres://u:secret@h/db"))
    picture = replace(EMPTY, queues=queues)
    text = exposition(Sight(picture, Totals(), None))
    assert "\x1b" not in text
    assert "secret" not in text
    for family in families(Sight(picture, TOTALS, None), Labels(most=1)):
        series = [tuple(sample.labels.values()) for sample in family.samples]
        assert len(series) == len(set(series)), family.name
