"""The rows of the queue table and of the tasks that run now."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop import words
from crewtop.model.snapshot import Percentiles, QueueRow, RunningRow
from crewtop.tui.columns import Cell, Column
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import Role, Span, joined
from crewtop.tui.views.cells import aged, amount, count, said, seconds, step_words

QUEUE_COLUMNS = (
    Column("QUEUE", 12, most=26),
    Column("READY", 6, right=True),
    Column("RUN", 4, 1, right=True),
    Column("STUCK", 5, 2, right=True),
    Column("RETRY", 5, 5, right=True),
    Column("FAILED", 6, 3, right=True),
    Column("DONE/m", 6, 4, right=True),
    Column("OLDEST", 6, 2, right=True),
    Column("LEVEL", 6, 6, right=True),
    Column("WAIT p50", 8, 10, right=True),
    Column("p95", 6, 7, right=True),
    Column("p99", 6, 12, right=True),
    Column("RUN p50", 7, 11, right=True),
    Column("p95", 6, 8, right=True),
    Column("p99", 6, 13, right=True),
    Column("ERR", 5, 12, right=True),
    Column("LATER", 6, 14, right=True),
    Column("$/1K", 8, 9, right=True),
)

RUNNING_COLUMNS = (
    Column("RUNNING NOW", 18, most=30),
    Column("STEP", 22, 2, most=48, grow=3),
    Column("FOR", 6, right=True),
    Column("IDLE", 6, 7, right=True),
    Column("TOKENS", 7, 4, right=True),
    Column("COST", 10, 3, right=True, most=11),
    Column("QUEUE", 10, 6, most=18),
    Column("WORKER", 10, 5, most=26),
)


def in_order(running: Sequence[RunningRow]) -> list[RunningRow]:
    """Running tasks with the stuck ones first, then the oldest: an order that a tick does not stir."""
    return sorted(running, key=lambda task: (task.stuck is None, -task.age))


def queue_cells(queue: QueueRow, manner: Manner) -> list[Cell]:
    """A queue's cells, in the order of QUEUE_COLUMNS."""
    asleep = not (queue.ready or queue.running or queue.done_per_minute)
    late = queue.level is not None and queue.level < GOOD_LEVEL
    name = data(queue.name, "muted" if asleep else "text", not asleep)
    return [
        name,
        count(queue.ready),
        count(queue.running),
        count(queue.stuck, "watch"),
        count(queue.retry, "watch"),
        count(queue.failed, "wrong"),
        Span(words.count(round(queue.done_per_minute)), "moving" if queue.done_per_minute else "faint"),
        aged(queue.oldest, "wrong" if late else "text"),
        _level(queue),
        *_percentiles(queue.wait),
        *_percentiles(queue.run),
        said(words.percent(queue.error_rate), "muted"),
        count(queue.later, "muted"),
        amount(queue.cost_per_1000, manner),
    ]


GOOD_LEVEL = 0.95
"""A queue whose share of starts within their service level is below this is called late."""


def _percentiles(of: Percentiles) -> list[Span]:
    role: Role = "muted" if of.n < words.FEW else "text"
    return [said(words.percentile(value, of.n), role) for value in (of.p50, of.p95, of.p99)]


def _level(queue: QueueRow) -> Span:
    late = queue.level is not None and queue.level < GOOD_LEVEL
    return said(words.percent(queue.level), "wrong" if late else "text")


def running_cells(task: RunningRow, manner: Manner) -> list[Cell]:
    """A running task's cells, in the order of RUNNING_COLUMNS."""
    stuck = task.stuck is not None
    state = "cancelling" if task.cancelling else "stuck" if stuck else "running"
    role: Role = "moving" if state == "running" else "watch"
    return [
        joined(
            Span(words.glyph(state, ascii=manner.ascii_only) + " ", role),
            Span(f"{task.task_id} ", "link"),
            data(task.crew),
        ),
        step_words(task.step_position, task.step_count, task.agent, task.activity, manner),
        said(seconds(task.age), "watch" if stuck else "text"),
        said(seconds(task.idle), "watch" if stuck else "muted"),
        count(task.tokens),
        amount(task.cost, manner),
        data(task.queue, "muted"),
        data(task.worker_id, "muted"),
    ]
