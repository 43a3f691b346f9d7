"""The rows of the queue table and of the tasks that run now."""

from __future__ import annotations

from collections.abc import Sequence

from crewtop import words
from crewtop.model.problems import GOOD_LEVEL
from crewtop.model.snapshot import Percentiles, QueueRow, RunningRow
from crewtop.tui.columns import Cell, Column
from crewtop.tui.manner import Manner, data
from crewtop.tui.paint import Role, Span, joined
from crewtop.tui.views.cells import aged, amount, count, said, seconds, step_words

QUEUE_COLUMNS = (
    Column("QUEUE", 12, most=26, about="The queue; ‖ before it: paused, P lets it go on"),
    Column("READY", 6, right=True, about="Tasks that any worker may take now"),
    Column("RUN", 4, 1, right=True, about="Tasks that run now"),
    Column(
        "STUCK", 5, 2, right=True, about="Of these, such as have lost their worker, passed their budget or stand still"
    ),
    Column("RETRY", 5, 5, right=True, about="Tasks that failed and wait for their next attempt"),
    Column("FAILED", 6, 3, right=True, about="Tasks that failed for good and are still kept"),
    Column("DONE/m", 6, 4, right=True, about="Tasks completed a minute, as the last minute went"),
    Column("OLDEST", 6, 2, right=True, about="How long the longest-waiting ready task has been waiting"),
    Column("LEVEL", 6, 6, right=True, about="Share of tasks that started within the service level of their priority"),
    Column(
        "WAIT p50", 8, 10, right=True, about="Half of the tasks waited at most so long; ~ marks fewer than 20 of them"
    ),
    Column("p95", 6, 7, right=True, about="19 of 20 tasks waited at most so long"),
    Column("p99", 6, 12, right=True, about="99 of 100 tasks waited at most so long"),
    Column("RUN p50", 7, 11, right=True, about="Half of the runs took at most so long; ~ marks fewer than 20 of them"),
    Column("p95", 6, 8, right=True, about="19 of 20 runs took at most so long"),
    Column("p99", 6, 13, right=True, about="99 of 100 runs took at most so long"),
    Column("ERR", 5, 12, right=True, about="Share of runs that failed for good, of these and the completed ones"),
    Column("LATER", 6, 14, right=True, about="Tasks that are due at a later time"),
    Column("$/1K", 8, 9, right=True, about="What 1,000 completed tasks cost in LLM calls; ? unknown, - no calls"),
    Column("WHY", 16, 15, most=40, about="Why ready tasks do not move, where something holds them"),
)

RUNNING_COLUMNS = (
    Column("RUNNING NOW", 18, most=30, about="A task that runs now, and its crew"),
    Column("STEP", 22, 2, most=48, grow=3, about="Where the run stands: step, agent, and the call or tool it is in"),
    Column("FOR", 6, right=True, about="How long this run has been going on"),
    Column(
        "IDLE",
        6,
        7,
        right=True,
        about="How long ago its last step, call or tool began or ended; what it prints is no sign",
    ),
    Column("TOKENS", 7, 4, right=True, about="Tokens of its LLM calls so far"),
    Column(
        "COST",
        10,
        3,
        right=True,
        most=11,
        about="What its LLM calls cost so far; at least so much where some are unpriced",
    ),
    Column("QUEUE", 10, 6, most=18, about="The queue that it came from"),
    Column("WORKER", 10, 5, most=26, about="The worker that runs it"),
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
        said(words.NOTHING) if queue.cost_per_1000 is None else amount(queue.cost_per_1000, manner),
        data(held_by(queue), "watch"),
    ]


def held_by(queue: QueueRow) -> str:
    """What keeps a queue's ready tasks from moving, in a few words of which names are as they were given."""
    if not queue.ready:
        return ""
    if queue.paused:
        return f"paused by {queue.paused_by}" if queue.paused_by else "paused"
    if queue.no_worker:
        return f"no worker for {', '.join(queue.no_worker)}"
    return f"throttled by {queue.throttled[0].provider}" if queue.throttled else ""


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
