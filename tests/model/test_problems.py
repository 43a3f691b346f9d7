"""What is called a problem, in which words, and what comes first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from crewtop.model.budgets import BudgetRow
from crewtop.model.problems import problems
from crewtop.model.providers import KeyHealth, Providers
from crewtop.model.snapshot import Health, QueueRow, Snapshot, Throttle
from tests.tui.fixtures import BUSY, EMPTY, HELD_BACK, INCIDENT, NOW, QUEUES, RUNNING, WORKERS


def shop(*queues: QueueRow) -> Snapshot:
    return replace(EMPTY, queues=queues)


def said(snapshot: Snapshot) -> list[str]:
    return [f"{problem.name}: {problem.words}" for problem in problems(snapshot)]


@pytest.mark.parametrize(
    ("failed", "ended", "words"),
    [
        (6, 6, ["6 of 6 runs failed for good"]),
        (3, 6, ["3 of 6 runs failed for good"]),
        (2, 2, []),
        (3, 7, []),
        (2, 20, ["2 of 20 runs failed for good"]),
        (1, 20, []),
        (2_313, 2_385, ["2,313 of 2,385 runs failed for good"]),
        (0, 0, []),
    ],
)
def test_a_queue_fails_from_three_in_most_of_a_few_or_from_a_tenth_of_many(
    failed: int, ended: int, words: list[str]
) -> None:
    rate = failed / ended if ended else None
    found = problems(shop(QueueRow("q", ended=ended, error_rate=rate)))
    assert [problem.words for problem in found] == words
    assert all((problem.kind, problem.severity) == ("failing", "wrong") for problem in found)


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (QUEUES[0], "only 92.4% start within their service level: 812 ready, oldest 6m"),
        (QUEUES[1], "paused by dana@ops1: provider invoice unclear, 391 ready, oldest 40s"),
        (QUEUES[4], "no live worker has the crew translate: 126 tasks wait"),
        (
            QueueRow("q", ready=3, throttled=(Throttle("support", "openai", 21), Throttle("briefing", "google", 90))),
            "throttled: support by openai, resumes in 30s; briefing by google, resumes in 2m: 3 ready",
        ),
        (QueueRow("q", level=0.0), "none start within their service level: 0 ready"),
    ],
)
def test_a_problem_of_a_queue_says_how_much(queue: QueueRow, words: str) -> None:
    assert said(shop(queue)) == [f"{queue.name}: {words}"]


def test_the_worst_comes_first() -> None:
    assert [(problem.kind, problem.name) for problem in problems(INCIDENT)][:7] == [
        ("store", "redis"),
        ("failing", "support"),
        ("dead worker", "db2-19aa04"),
        ("late", "support"),
        ("dead worker", "batch-00f3d1"),
        ("no worker", "nightly"),
        ("no worker", "support"),
    ]
    assert [problem.kind for problem in problems(BUSY)] == [
        "late",
        "dead worker",
        "no worker",
        "stuck",
        "paused",
        "draining",
    ]


def test_one_task_with_a_mistyped_crew_stands_below_a_queue_in_which_all_fails() -> None:
    typo = QueueRow("a", ready=400, oldest=60.0, no_worker=("suport",), unserved=1)
    failing = QueueRow("b", ended=2_385, error_rate=0.97)
    late = QueueRow("c", ready=300, level=0.5)
    assert [problem.name for problem in problems(shop(typo, late, failing))] == ["b", "c", "a"]


def test_the_order_stays_while_figures_move_a_little() -> None:
    late = [QueueRow(name, ready=ready, level=0.5) for name, ready in (("a", 301), ("b", 300))]
    moved = [replace(late[0], ready=299), replace(late[1], ready=310)]
    assert [p.name for p in problems(shop(*late))] == [p.name for p in problems(shop(*moved))]


def test_a_clock_that_is_off_is_a_problem_and_one_that_is_nearly_right_is_none() -> None:
    workers = tuple(replace(WORKERS[0], id=f"w{off}", clock_offset=off) for off in (-3.2, 0.4, None))
    assert said(replace(EMPTY, workers=workers)) == ["w-3.2: its clock is off by -3s"]


def test_a_store_that_is_down_says_what_it_means() -> None:
    down = replace(EMPTY, postgres=Health(False, None, "timeout"), redis=Health(False, None, "refused"))
    assert said(down) == [
        "postgres: down, these are the last figures: timeout",
        "redis: down, tasks go on by polling, without live logs: refused",
    ]
    assert [problem.severity for problem in problems(down)] == ["wrong", "watch"]


def test_two_dead_workers_of_one_host_are_two_problems_and_one_that_ran_nothing_is_soon_forgotten() -> None:
    late = [
        replace(WORKERS[3], id=name, heartbeat_age=400.0, busy=busy) for name, busy in (("a", 1), ("b", 1), ("c", 0))
    ]
    workers = tuple(late)
    assert said(replace(EMPTY, workers=workers)) == [
        "a: no heartbeat for 6m, 1 running there",
        "b: no heartbeat for 6m, 1 running there",
    ]


def test_many_stuck_tasks_do_not_hide_the_rest() -> None:
    running = tuple(replace(RUNNING[0], task_id=n, stuck="lease expired 14s ago") for n in range(1, 9))
    found = problems(replace(EMPTY, running=running))
    assert [problem.task_id for problem in found] == [1, 2, 3, 4, 5, None]
    assert said(replace(EMPTY, running=running))[-1] == "other tasks: 3 more are stuck"


def test_a_budget_says_how_it_stands() -> None:
    held = BudgetRow("queue", "support", Decimal(5), Decimal("5.0123"), 2, None, "held", NOW + timedelta(hours=10))
    near = BudgetRow("total", "", Decimal(100), Decimal(91), 0, None, "warn")
    fine = BudgetRow("crew", "briefing", Decimal(5), Decimal(1), 0, None, "ok")
    found = problems(replace(EMPTY, budgets=(near, held, fine)))
    assert [(problem.name, problem.severity) for problem in found] == [("queue support", "wrong"), ("the day", "watch")]
    stands, spent = found[0].words.split(" or ")
    assert stands == "spent, nothing more of it is claimed until 2026-03-15 00:02Z,"
    assert spent == "until it is raised: at least $5.01 of $5.00 today"
    assert found[1].words == "nearly spent: $91.00 of $100.00 today"


def test_providers_say_what_is_throttled_what_does_not_answer_and_which_keys_are_done_for() -> None:
    found = problems(replace(EMPTY, providers=HELD_BACK.providers))
    assert [(problem.severity, f"{problem.name}, {problem.words}") for problem in found] == [
        ("wrong", "breaker: anthropic/claude-sonnet-4, open: overloaded, 7 in a row, tried again 00:12, in 2 workers"),
        ("wrong", "breaker: google/gemini-2.5-flash, half-open: timeout, 5 in a row, a call tries it now"),
        ("wrong", "key: openai OPENAI_API_KEY_3, retired: refused by the provider, in 1 of 2 workers"),
        ("watch", "throttled: openai, resumes 00:27: gpt-4.1"),
    ]
    assert {problem.about for problem in found} == {"provider"}


def test_a_provider_without_any_key_comes_before_what_works_in_part() -> None:
    keys = (
        KeyHealth("openai", "A", "retired", None, "refused by the provider"),
        KeyHealth("openai", "B", "retired", None, "nothing left to spend"),
    )
    first, *others = problems(replace(BUSY, providers=Providers(keys=keys)))
    assert (first.name, first.severity) == ("keys: openai", "wrong")
    assert first.words == (
        "all are retired: A refused by the provider; B nothing left to spend: mend them and restart the workers"
    )
    assert "provider" not in {problem.about for problem in others}


def test_what_was_told_of_providers_before_redis_went_says_how_old_it_is() -> None:
    assert HELD_BACK.providers is not None
    old = said(replace(EMPTY, providers=HELD_BACK.providers.after(31)))
    assert [words.endswith(", as told 30s ago") for words in old] == [True, True, True]
    assert "the next call tries it" in old[0]
    assert said(replace(EMPTY, providers=None)) == []
