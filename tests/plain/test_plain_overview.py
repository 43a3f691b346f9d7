"""The plain overview, to the letter: what `crewtop` prints into a log or a pipe."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from crewtop.model.budgets import BudgetRow
from crewtop.model.money import Money
from crewtop.model.problems import problems
from crewtop.model.snapshot import Health, Percentiles, QueueRow, RunningRow, Snapshot, WorkerRow
from crewtop.plain import snapshot_text
from tests.tui.fixtures import INCIDENT

NOW = datetime(2026, 3, 14, 14, 2, 11, tzinfo=UTC)

EMPTY = Snapshot(
    at=NOW,
    database="shop",
    host="db1",
    role="ops",
    postgres=Health(up=True, latency=0.0012),
    redis=Health(up=True, latency=0.0004),
    window_seconds=900,
)


def running(task_id: int, **changes: object) -> RunningRow:
    row = RunningRow(
        task_id=task_id,
        run_id=task_id * 10,
        queue="support",
        crew="support",
        priority=2,
        worker_id="db1-7c2e91",
        age=6,
        idle=1,
        step_position=1,
        step_count=2,
        agent="Order clerk",
        activity="tool lookup_order",
        tokens=1_902,
        cost=Money(Decimal("0.0008"), 0, 2),
        stuck=None,
        cancelling=False,
    )
    return replace(row, **changes)


def worker(name: str, **changes: object) -> WorkerRow:
    row = WorkerRow(
        id=name,
        host="db1",
        pid=4_017,
        state="running",
        slots=12,
        desired_slots=None,
        busy=12,
        queues=None,
        crews=("support", "returns"),
        started_at=NOW - timedelta(days=3),
        heartbeat_age=1.2,
        cpu_percent=64.0,
        memory_bytes=1_932_735_283,
    )
    return replace(row, **changes)


BUSY = replace(
    EMPTY,
    queues=(
        QueueRow(
            "support",
            ready=812,
            running=20,
            retry=3,
            failed=12,
            done_per_minute=840,
            oldest=362,
            level=0.924,
            wait=Percentiles(2_292, 0.2, 2.1, 4.0),
            run=Percentiles(2_280, 9, 41, 63),
            cost_per_1000=Money(Decimal("2.31"), 0, 900),
        ),
        QueueRow(
            "research",
            paused=True,
            paused_by="dana",
            paused_reason="invoice unclear",
            ready=391,
            running=4,
            stuck=1,
            done_per_minute=2.25,
            oldest=48,
            level=1.0,
            wait=Percentiles(12, 12, 48, 61),
            run=Percentiles(11, 130, 390, 420),
            cost_per_1000=Money(Decimal("48.2"), 3, 30),
        ),
        QueueRow("nightly", ready=6, oldest=7_300, no_worker=("translate", "index"), unserved=6),
    ),
    running=(
        running(
            48_201, crew="briefing", age=372, stuck="no progress for 4m12s in gpt-4.1", cost=Money(unknown=1, calls=1)
        ),
        running(48_977),
        running(48_983, crew="sync", step_position=None, step_count=None, agent=None, activity=None, cost=Money()),
        running(48_990, cancelling=True),
    ),
    running_total=24,
    workers=(
        worker("db1-7c2e91"),
        worker("db2-19aa04", busy=9, desired_slots=14, cpu_percent=None, memory_bytes=None),
        worker("old-00f3d1", state="late", busy=1, heartbeat_age=74),
    ),
    wait=Percentiles(2_304, 0.3, 2.1, 4.0),
    run=Percentiles(2_291, 9, 41, 63),
    spend_per_hour=Money(Decimal("3.38"), 0, 700),
    spend_pace=Money(Decimal("3.41"), 0, 12),
    spend_today=Money(Decimal("61.2"), 2, 9_000),
)

BUSY_120 = """\
crewtop   shop on db1   postgres 1.2 ms   redis 0.4 ms   2 workers   21/24 slots   spend $3.41/h   2026-03-14 14:02:11Z
backlog 1,212   done 842/m   wait p95 2.1s   run p95 41s of 2,291   last hour $3.38
today ≥ $61.20 (2 calls unreported)   figures of the last 15m
● queue support: only 92.4% start within their service level: 812 ready, oldest 6m
● worker old-00f3d1: no heartbeat for 1m, 1 running there
● queue nightly: no live worker has the crew translate, index: 6 tasks wait
▲ task 48201 briefing: stuck: no progress for 4m12s in gpt-4.1
▲ queue research: paused by dana: invoice unclear, 391 ready, oldest 40s

QUEUE       READY  RUN  STUCK  RETRY  FAILED  DONE/m  OLDEST  LEVEL  WAIT p50  WAIT p95  RUN p50  RUN p95      $/1K
support       812   20      0      3      12     840   6m02s  92.4%      0.2s      2.1s       9s      41s     $2.31
research ‖    391    4      1      0       0     2.2     48s   100%      ~12s      ~48s   ~2m10s   ~6m30s  ≥ $48.20
nightly         6    0      0      0       0       0   2h01m      -         -         -        -        -         -
~: of fewer than 20 durations

RUNNING  CREW      STATE         STEP                                   FOR  TOKENS     COST  WORKER
  48201  briefing  ▲ stuck       1/2 Order clerk · tool lookup_order  6m12s   1,902        ?  db1-7c2e91
  48977  support   ▶ running     1/2 Order clerk · tool lookup_order     6s   1,902  $0.0008  db1-7c2e91
  48983  sync      ▶ running     -                                       6s   1,902        -  db1-7c2e91
  48990  support   ⊘ cancelling  1/2 Order clerk · tool lookup_order     6s   1,902  $0.0008  db1-7c2e91
and 20 more

WORKER      STATE           SLOTS  HEARTBEAT  UP  CPU  MEMORY  CREWS
db1-7c2e91  ▶ running       12/12       1.2s  3d  64%  1.7 GB  support, returns
db2-19aa04  ▶ running  9/12 to 14       1.2s  3d    ?       ?  support, returns
old-00f3d1  ▲ late           1/12      1m14s  3d  64%  1.7 GB  support, returns
"""

BUSY_60_ASCII = """\
crewtop   shop on db1   postgres 1.2 ms   redis 0.4 ms
2 workers   21/24 slots   spend $3.41/h
2026-03-14 14:02:11Z
backlog 1,212   done 842/m   wait p95 2.1s
run p95 41s of 2,291   last hour $3.38
today >= $61.20 (2 calls unreported)
figures of the last 15m
! queue support: only 92.4% start within their service
level: 812 ready, oldest 6m
! worker old-00f3d1: no heartbeat for 1m, 1 running there
! queue nightly: no live worker has the crew translate,
index: 6 tasks wait
^ task 48201 briefing: stuck: no progress for 4m12s in
gpt-4.1
^ queue research: paused by dana: invoice unclear, 391
ready, oldest 40s

QUEUE       READY  RUN  STUCK  RETRY  FAILED  DONE/m  OLDEST
support       812   20      0      3      12     840   6m02s
research =    391    4      1      0       0     2.2     48s
nightly         6    0      0      0       0       0   2h01m
~: of fewer than 20 durations

RUNNING  CREW      STATE         STEP                    FOR
  48201  briefing  ! stuck       1/2 Order clerk -...  6m12s
  48977  support   > running     1/2 Order clerk -...     6s
  48983  sync      > running     -                        6s
  48990  support   - cancelling  1/2 Order clerk -...     6s
and 20 more

WORKER      STATE           SLOTS  HEARTBEAT  UP
db1-7c2e91  > running       12/12       1.2s  3d
db2-19aa04  > running  9/12 to 14       1.2s  3d
old-00f3d1  ! late           1/12      1m14s  3d
"""

EMPTY_100 = """\
crewtop   shop on db1   postgres 1.2 ms   redis 0.4 ms   0 workers   0/0 slots   spend -
2026-03-14 14:02:11Z
backlog 0   done 0/m   wait p95 -   run p95 - of 0   last hour -   today -   figures of the last 15m

no queues yet: the first task makes one

nothing runs now

no workers: run `crewtop worker`
"""


def test_a_busy_shop() -> None:
    assert snapshot_text(BUSY, width=120) == BUSY_120


def test_a_busy_shop_on_a_narrow_page_in_ascii() -> None:
    assert snapshot_text(BUSY, width=60, ascii=True) == BUSY_60_ASCII


def test_nothing_yet() -> None:
    assert snapshot_text(EMPTY) == EMPTY_100


def test_a_redis_that_is_down_is_said_twice() -> None:
    text = snapshot_text(replace(EMPTY, redis=Health(up=False, detail="connection refused")))
    assert "   redis down   " in text
    assert "▲ redis: down, tasks go on by polling, without live logs: connection refused\n" in text


def test_a_postgres_that_is_down_says_that_the_figures_are_old() -> None:
    text = snapshot_text(replace(BUSY, postgres=Health(up=False, detail="timeout after 2 s")))
    assert "● postgres: down, these are the last figures: timeout after 2 s\n" in text


def test_simulated_money_is_called_so() -> None:
    text = snapshot_text(replace(BUSY, simulated=True))
    assert "spend $3.41/h simulated" in text
    assert "▲ simulated provider: no real model was called, tokens, times and costs are made up\n" in text


def test_spend_of_which_nothing_is_known() -> None:
    assert "spend ?/h" in snapshot_text(replace(EMPTY, spend_pace=Money(unknown=2, calls=2)))


def test_it_reports_the_problems_of_the_screen_in_its_order() -> None:
    failing = replace(INCIDENT, budgets=(BudgetRow("total", "", Decimal(5), Decimal(6), 0, None, "spent"),))
    lines = snapshot_text(failing, width=200).splitlines()
    told = [line[2:] for line in lines if line[:2] in ("● ", "▲ ")]
    assert len(told) == len(problems(failing))
    for line, problem in zip(told, problems(failing), strict=True):
        assert line.endswith(f"{problem.name}: {problem.words}")


def test_no_more_slots_are_taken_than_there_are() -> None:
    text = snapshot_text(replace(EMPTY, workers=(worker("w", slots=6, busy=7),)))
    assert "6/6 slots" in text
    assert " 6/6 +1 " in text


HOSTILE = "\x1b]52;c;aGk=\a[/]\x9b2J ok\rFAILED \u202e api_key=sk-proj-Zq7abcdefghijklmnop \0\ud800"
SEEN = "␛]52;c;aGk=␇[/]<U+009B>2J ok␍FAILED <U+202E> api_key=••••mnop ␀<U+D800>"


def test_names_that_attack_a_terminal_are_only_read() -> None:
    hostile = replace(
        EMPTY,
        database=HOSTILE,
        redis=Health(up=False, detail=HOSTILE),
        queues=(
            QueueRow(HOSTILE, paused=True, paused_by=HOSTILE, paused_reason=HOSTILE, oldest=20.0, no_worker=(HOSTILE,)),
        ),
        running=(running(1, crew=HOSTILE, agent=HOSTILE, activity=HOSTILE, worker_id=HOSTILE, stuck=HOSTILE),),
        workers=(worker(HOSTILE, state="late", crews=(HOSTILE,)),),
    )
    text = snapshot_text(hostile, width=1_000)
    assert text.replace("\n", "").isprintable()
    assert "sk-proj" not in text
    assert text.count(SEEN) == 17
    assert f"redis: down, tasks go on by polling, without live logs: {SEEN}\n" in text
    assert snapshot_text(hostile, ascii=True).isascii()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
@given(name=st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=60))
def test_no_line_is_wider_than_the_page(width: int, name: str) -> None:
    queues = tuple(replace(queue, name=name) for queue in BUSY.queues)
    shop = replace(BUSY, queues=queues, running=(running(1, crew=name, agent=name, stuck=name),))
    assert max(map(cell_len, snapshot_text(shop, width=width).split("\n"))) <= width
