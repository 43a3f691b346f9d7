"""`crewtop tasks` and `crewtop show ID`, to the letter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from crewtop.model.detail import (
    CallRow,
    Excerpt,
    HistoryRow,
    RunRow,
    StepRow,
    TaskDetail,
    TaskPage,
    TaskRow,
    TaskTies,
    Tied,
)
from crewtop.model.money import Money
from crewtop.model.task import TaskStatus
from crewtop.plain import task_text, tasks_text

NOW = datetime(2026, 3, 14, 14, 2, 11, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def excerpt(text: str, size: int | None = None) -> Excerpt:
    return Excerpt(text, len(text.encode("utf-8", "surrogatepass")) if size is None else size)


def task(task_id: int, **changes: object) -> TaskRow:
    row = TaskRow(
        id=task_id,
        queue="support",
        crew="support",
        status=TaskStatus.FAILED,
        version=7,
        priority=2,
        age=3_480,
        created_at=ago(3_480),
        run_at=ago(3_480),
        finished_at=ago(3_300),
        attempt=3,
        max_attempts=3,
        step_position=2,
        step_count=2,
        agent="Order clerk",
        activity=None,
        tokens=4_120,
        cost=Money(Decimal("0.0017"), 0, 3),
        error="429 quota exhausted",
        cancelling=False,
        stuck=None,
        worker_id="db1-7c2e91",
    )
    return replace(row, **changes)


PENDING = task(
    9,
    crew="nightly-index",
    status=TaskStatus.PENDING,
    priority=4,
    age=30,
    run_at=NOW + timedelta(minutes=5),
    finished_at=None,
    attempt=0,
    step_position=None,
    step_count=None,
    agent=None,
    tokens=0,
    cost=Money(),
    error=None,
)
PAGE = TaskPage(
    at=NOW,
    rows=(
        task(7, cost=Money(Decimal("0.0029"), 1, 4)),
        task(8, status=TaskStatus.RUNNING, stuck="no progress", activity="gpt-4.1", error=None, finished_at=None),
        PENDING,
        task(
            10_412, crew="briefing", error="see \x1b[2J [/] here\nand password=hunter2", cost=Money(unknown=2, calls=2)
        ),
    ),
    more=True,
)

PAGE_120 = """\
   ID  P  CREW           QUEUE    STATUS     AGE  TRY  STEP                       TOKENS       COST  ERROR
    7  2  support        support  ✗ failed   58m  3/3  2/2 Order clerk             4,120  ≥ $0.0029  429 quota exhausted
    8  2  support        support  ▲ stuck    58m  3/3  2/2 Order clerk · gpt-4.1   4,120    $0.0017  -
    9  4  nightly-index  support  ◌ pending  30s  0/3  -                               0          -  -
10412  2  briefing       support  ✗ failed   58m  3/3  2/2 Order clerk             4,120          ?  see ␛[2J [/] here⏎…
4 tasks, and more match
"""

PAGE_70_ASCII = """\
   ID  CREW           STATUS     AGE        COST  ERROR
    7  support        x failed   58m  >= $0.0029  429 quota exhausted
    8  support        ! stuck    58m     $0.0017  -
    9  nightly-index  o pending  30s           -  -
10412  briefing       x failed   58m           ?  see ^[[2J [/] her...
4 tasks, and more match
"""


def test_a_list_of_tasks() -> None:
    assert tasks_text(PAGE, width=120) == PAGE_120


def test_a_list_on_a_narrow_page_in_ascii() -> None:
    assert tasks_text(PAGE, width=70, ascii=True) == PAGE_70_ASCII


def test_an_error_in_a_list_is_masked_and_visible() -> None:
    assert "see ␛[2J [/] here⏎and password=••••\n" in tasks_text(PAGE, width=200)


def test_a_list_of_none() -> None:
    assert tasks_text(TaskPage(NOW, (), more=False)) == "no task matches\n"


def test_a_list_that_ends() -> None:
    assert tasks_text(TaskPage(NOW, (PENDING,), more=False)).endswith("\n1 task\n")


def run(run_id: int, **changes: object) -> RunRow:
    row = RunRow(
        id=run_id,
        worker_id="db1-7c2e91",
        outcome="completed",
        claimed_at=ago(3_470),
        waited_seconds=4.2,
        finished_at=ago(3_438),
        seconds=32.4,
        result=None,
        error_type=None,
        error=None,
        traceback=None,
        late=False,
        replaced=0,
        log_tail=None,
    )
    return replace(row, **changes)


STEP = StepRow(
    run_id=91,
    position=1,
    name="answer",
    agent="Order clerk",
    description="Find the order",
    status="completed",
    output=excerpt("Delivered\non Tuesday"),
    error=None,
    started_at=ago(3_468),
    seconds=30.0,
)
CALL = CallRow(
    run_id=91,
    call_id="c1",
    step_position=1,
    agent="Order clerk",
    provider="openai",
    model="gpt-4.1",
    outcome="ok",
    started_at=ago(3_467),
    seconds=9.2,
    input_tokens=6_204,
    cache_read_tokens=4_096,
    cache_write_tokens=None,
    output_tokens=1_180,
    reasoning_tokens=None,
    cost=Money(Decimal("0.0147"), 0, 1),
    price_source="genai-prices 0.0.40",
    error=None,
)
FAILED = TaskDetail(
    at=NOW,
    task=task(7, cost=Money(Decimal("0.0147"), 1, 2)),
    inputs=excerpt('{"order_id": "A-1042", "auth": {"token": "abc", "tries": 2}}'),
    runs=(
        run(
            92,
            outcome="failed",
            error_type="RateLimitError",
            error=excerpt("429 quota exhausted"),
            traceback=excerpt('File "shop.py", line 3\n  client(api_key="sk-proj-Zq7abcdefghijklmnop")\n'),
            replaced=1,
            log_tail=excerpt("calling\rgpt-4.1\n", 70_000),
        ),
        run(91, outcome="superseded", late=True, result=excerpt('"done"')),
    ),
    steps=(STEP, replace(STEP, run_id=92, position=2, status="running", output=None, seconds=None)),
    calls=(
        CALL,
        replace(CALL, outcome="timeout", output_tokens=None, cost=Money(unknown=1, calls=1), error="no answer in 60 s"),
    ),
    history=(
        HistoryRow(1, ago(3_480), None, "pending", None, "producer", None),
        HistoryRow(2, ago(3_470), "pending", "running", 91, "worker:db1-7c2e91", None),
        HistoryRow(3, ago(3_300), "running", "failed", 92, "operator:dana", "quota"),
    ),
    calls_total=12,
)

FAILED_100 = """\
task 7   support   ✗ failed   P2   queue support   attempt 3 of 3
created 2026-03-14 13:04:11Z, 58m ago   finished 2026-03-14 13:07:11Z
cost ≥ $0.014 (1 call unreported)   4,120 tokens   step 2/2 Order clerk
error: 429 quota exhausted

INPUTS
  {
    "order_id": "A-1042",
    "auth": {
      "token": "••••",
      "tries": 2
    }
  }

RUN  OUTCOME             CLAIMED               WAITED  TOOK  WORKER      ERROR
 92  ✗ failed            2026-03-14 13:04:21Z    4.2s   32s  db1-7c2e91  RateLimitError: 429 quota…
 91  ⊘ superseded, late  2026-03-14 13:04:21Z    4.2s   32s  db1-7c2e91  -

ERROR OF RUN 92
  429 quota exhausted
TRACEBACK OF RUN 92
  File "shop.py", line 3
    client(api_key="••••mnop")
LAST OUTPUT OF RUN 92   showing 16 B of 68 KB
  calling␍gpt-4.1
run 92: characters that PostgreSQL cannot hold, replaced by U+FFFD: 1
LATE RESULT OF RUN 91
  done

STEP  RUN  STATUS       TOOK  NAME    AGENT        OUTPUT OR ERROR
   1   91  ✓ completed   30s  answer  Order clerk  Delivered⏎on Tuesday
   2   92  ▶ running       -  answer  Order clerk  -

LLM CALL  AGENT        OUTCOME       IN  CACHED    OUT  TOOK    COST  PRICE OR ERROR
gpt-4.1   Order clerk  ✓ ok       6,204   4,096  1,180  9.2s  $0.015  genai-prices 0.0.40
gpt-4.1   Order clerk  ✗ timeout  6,204   4,096      ?  9.2s       ?  no answer in 60 s
and 10 more

HISTORY               STATUS     BY                 RUN  REASON
2026-03-14 13:04:11Z  ◌ pending  producer             -  -
2026-03-14 13:04:21Z  ▶ running  worker:db1-7c2e91   91  -
2026-03-14 13:07:11Z  ✗ failed   operator:dana       92  quota
"""


def test_the_story_of_a_failed_task() -> None:
    assert task_text(FAILED) == FAILED_100


@pytest.mark.parametrize(("before", "after"), [("calling gpt-4.1\n", "good bye\n"), ("", "")])
def test_a_traceback_that_was_printed_too_is_shown_once(before: str, after: str) -> None:
    traceback = 'Traceback:\n  File "shop.py", line 3\nValueError: no\n'
    failed = run(92, outcome="failed", traceback=excerpt(traceback), log_tail=excerpt(before + traceback + after))
    shown = task_text(replace(FAILED, runs=(failed,)))
    assert shown.count('File "shop.py", line 3') == 1
    assert ("LAST OUTPUT OF RUN 92\n  calling gpt-4.1\n  good bye\n" in shown) == bool(before)
    assert ("LAST OUTPUT" in shown) == bool(before)


def test_a_step_that_was_not_done_again_is_called_kept() -> None:
    story = task_text(replace(FAILED, steps=(STEP, replace(STEP, run_id=92, resumed_from=91))))
    assert [line.split()[:4] for line in story.splitlines() if line.lstrip().startswith("1 ")] == [
        ["1", "91", "✓", "completed"],
        ["1", "92", "✓", "kept"],
    ]


def test_a_result_is_printed_as_what_it_holds() -> None:
    done = replace(FAILED, runs=(run(93, result=excerpt('"Dear Ann,\\nyour order \\u001b[2J left."')),))
    assert "RESULT OF RUN 93\n  Dear Ann,\n  your order ␛[2J left.\n" in task_text(done)


def test_a_text_that_is_only_begun_says_how_much_is_missing() -> None:
    begun = replace(FAILED, inputs=excerpt('{"text": "' + "x" * 65_526, 1_048_576))
    assert "INPUTS   showing 64 KB of 1.0 MB\n" in task_text(begun)


def test_a_task_that_is_due_later_has_no_runs() -> None:
    text = task_text(TaskDetail(NOW, PENDING, excerpt("{}"), (), (), (), ()))
    assert "due 2026-03-14 14:07:11Z, in 5m\n" in text
    assert "no runs yet\n" in text


def test_a_story_in_ascii_is_ascii() -> None:
    hostile = replace(
        FAILED, inputs=excerpt('{"name": "\\u001b]0;x\\u0007 Grüße"}'), task=task(7, error="\x1b[2J Grüße")
    )
    text = task_text(hostile, ascii=True)
    assert text.isascii()
    assert r'"name": "\u001b]0;x\u0007 Gr\xfc\xdfe"' in text
    assert r"error: ^[[2J Gr\xfc\xdfe" in text


def test_a_story_names_relatives_and_what_a_task_waits_for() -> None:
    ties = TaskTies(
        children=tuple(Tied("item", 100 + n, "running") for n in range(8)), reruns=(Tied("support", 77, "completed"),)
    )
    waiting = TaskDetail(
        at=NOW, task=PENDING, inputs=excerpt("{}"), runs=(), steps=(), calls=(), history=(), ties=ties,
        waits_because="its queue is paused by me\x1b[31m: quota",
    )  # fmt: skip
    text = task_text(waiting, width=200)
    assert "fanned out 100 running, 101 running, 102 running, 103 running, 104 running, 105 running, 2 more" in text
    assert "run again as 77 completed" in text
    assert "waits because: its queue is paused by me" in text
    assert "\x1b" not in text
    many = replace(waiting, ties=TaskTies(children=tuple(Tied("item", n, "running") for n in range(100))))
    assert ", at least 94 more" in task_text(many, width=200)
