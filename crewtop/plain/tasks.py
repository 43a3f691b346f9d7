"""The task list and one task's whole story in plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from crewtop import words
from crewtop.model.detail import CallRow, Excerpt, RunRow, StepRow, TaskDetail, TaskPage, TaskRow
from crewtop.plain.paper import Column, Paper
from crewtop.plain.progress import run_state, step_words
from crewtop.text import masked_body, shown


def tasks_text(page: TaskPage, *, width: int = 100, ascii: bool = False) -> str:
    """A line a task, in the page's order, and whether the list goes on."""
    paper = Paper(width, ascii)
    rows = page.rows
    if not rows:
        return "no task matches\n"
    table = paper.table(
        [
            Column("ID", [str(row.id) for row in rows], right=True),
            Column("P", [str(row.priority) for row in rows], drop=5),
            Column("CREW", [paper.safe(row.crew) for row in rows], stretch=True),
            Column("QUEUE", [paper.safe(row.queue) for row in rows], stretch=True, drop=6),
            Column("STATUS", [_status(row, paper) for row in rows]),
            Column("AGE", [words.duration(row.age) for row in rows], right=True),
            Column("TRY", [f"{row.attempt}/{row.max_attempts}" for row in rows], right=True, drop=3),
            Column("STEP", [step_words(row, paper) for row in rows], stretch=True, drop=2),
            Column("TOKENS", [words.count(row.tokens) for row in rows], right=True, drop=4),
            Column("COST", [words.money(row.cost, ascii=ascii) for row in rows], right=True, drop=1),
            Column("ERROR", [paper.safe(row.error or words.NOTHING) for row in rows], stretch=True),
        ]
    )
    total = f"{words.count(len(rows))} {'task' if len(rows) == 1 else 'tasks'}{', and more match' if page.more else ''}"
    return "\n".join([*table, total]) + "\n"


def task_text(detail: TaskDetail, *, width: int = 100, ascii: bool = False) -> str:
    """One task's story: what it is, its runs, their results and the newest error, its steps, LLM calls and history.

    Tables are at most width cells wide; inputs, results, errors and logs keep their own lines.
    """
    paper = Paper(width, ascii)
    lines = list(_head(detail, paper))
    for section in (
        _body("INPUTS", detail.inputs, paper),
        _runs(detail, paper),
        list(_bodies(detail.runs, paper)),
        _steps(detail.steps, paper),
        _calls(detail, paper),
        _tools(detail, paper),
        _history(detail, paper),
    ):
        if section:
            lines += ["", *section]
    return "\n".join(lines) + "\n"


def _status(row: TaskRow, paper: Paper) -> str:
    return words.status(run_state(row.status, stuck=row.stuck, cancelling=row.cancelling), ascii=paper.ascii)


def _head(detail: TaskDetail, paper: Paper) -> Iterator[str]:
    task = detail.task
    yield from paper.flow(
        [
            f"task {task.id}",
            paper.safe(task.crew),
            _status(task, paper),
            f"P{task.priority}",
            f"queue {paper.safe(task.queue)}",
            f"attempt {task.attempt} of {task.max_attempts}",
        ],
        gap="   ",
    )
    times = [f"created {words.stamp(task.created_at)}, {words.duration(task.age)} ago"]
    if task.finished_at is not None:
        times.append(f"finished {words.stamp(task.finished_at)}")
    elif task.run_at > detail.at:
        times.append(f"due {words.stamp(task.run_at)}, {words.duration((detail.at - task.run_at).total_seconds())}")
    yield from paper.flow(times, gap="   ")
    cost = words.money(task.cost, long=True, ascii=paper.ascii)
    yield from paper.flow(
        [f"cost {cost}", f"{words.count(task.tokens)} tokens", f"step {step_words(task, paper)}"], "   "
    )
    yield from paper.flow([paper.safe(clause) for clause in words.ties(detail.ties)], gap="   ")
    for name, text in (("waits because", detail.waits_because), ("stuck", task.stuck), ("error", task.error)):
        if text is not None:
            yield from paper.flow(f"{name}: {paper.safe(text)}".split(" "))


def _body(title: str, body: Excerpt | None, paper: Paper) -> list[str]:
    if body is None:
        return []
    if not body.whole:
        here = len(body.text.encode("utf-8", "surrogatepass"))
        title += f"   showing {words.size(here)} of {words.size(body.size)}"
    text = paper.own(shown(_readable(masked_body(body.text)), lines=True))
    return [title, *(f"  {line}" for line in text.removesuffix("\n").split("\n"))]


def _readable(text: str) -> str:
    """JSON one field a line, and a JSON string as the text that it holds; anything else as it is."""
    try:
        value = json.loads(text)
        return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _runs(detail: TaskDetail, paper: Paper) -> list[str]:
    rows = detail.runs
    if not rows:
        return ["no runs yet"]
    return paper.table(
        [
            Column("RUN", [str(row.id) for row in rows], right=True),
            Column("OUTCOME", [_outcome(row, paper) for row in rows]),
            Column("CLAIMED", [words.stamp(row.claimed_at) for row in rows], drop=1),
            Column("WAITED", [words.duration(row.waited_seconds) for row in rows], right=True, drop=2),
            Column("TOOK", [words.duration(row.seconds) for row in rows], right=True),
            Column("WORKER", [paper.safe(row.worker_id) for row in rows], drop=3),
            Column("ERROR", [_run_error(row, paper) for row in rows], stretch=True),
        ]
    )


def _outcome(row: RunRow, paper: Paper) -> str:
    return words.status(row.outcome, ascii=paper.ascii) + (", late" if row.late else "")


def _run_error(row: RunRow, paper: Paper) -> str:
    said = ": ".join(filter(None, (row.error_type, row.error.text if row.error else None)))
    return paper.safe(said or words.NOTHING)


def _bodies(runs: tuple[RunRow, ...], paper: Paper) -> Iterator[str]:
    """Every result, since a late one may be the only one, and what the newest run left behind."""
    for run in runs:
        yield from _body(f"{'LATE RESULT' if run.late else 'RESULT'} OF RUN {run.id}", run.result, paper)
        if run is runs[0]:
            yield from _body(f"ERROR OF RUN {run.id}", run.error, paper)
            yield from _body(f"TRACEBACK OF RUN {run.id}", run.traceback, paper)
            yield from _body(f"LAST OUTPUT OF RUN {run.id}", _own_output(run), paper)
        if run.replaced:
            yield f"run {run.id}: characters that PostgreSQL cannot hold, replaced by U+FFFD: {run.replaced}"


def _own_output(run: RunRow) -> Excerpt | None:
    """What the run printed, without the traceback that its executor prints too: it has a section of its own."""
    log, traceback = run.log_tail, run.traceback
    if log is None or traceback is None or not traceback.text or traceback.text not in log.text:
        return log
    cut = len(traceback.text.encode("utf-8", "surrogatepass"))
    text = log.text.replace(traceback.text, "", 1)
    return Excerpt(text, log.size - cut) if text.strip() else None


def _steps(rows: tuple[StepRow, ...], paper: Paper) -> list[str]:
    if not rows:
        return []
    return paper.table(
        [
            Column("STEP", [str(row.position) for row in rows], right=True),
            Column("RUN", [str(row.run_id) for row in rows], right=True),
            Column("STATUS", [words.status(_step_state(row), ascii=paper.ascii) for row in rows]),
            Column("TOOK", [words.duration(row.seconds) for row in rows], right=True),
            Column("NAME", [paper.safe(row.name) for row in rows], stretch=True),
            Column("AGENT", [paper.safe(row.agent or words.NOTHING) for row in rows], stretch=True, drop=2),
            Column("OUTPUT OR ERROR", [_step_end(row, paper) for row in rows], stretch=True, drop=1),
        ]
    )


def _step_state(row: StepRow) -> str:
    return row.status if row.resumed_from is None else "kept"


def _step_end(row: StepRow, paper: Paper) -> str:
    return paper.safe(row.error or (row.output.text if row.output else words.NOTHING))


def _calls(detail: TaskDetail, paper: Paper) -> list[str]:
    rows = detail.calls
    if not rows:
        return []
    more = detail.calls_total - len(rows)
    return [
        *paper.table(
            [
                Column("LLM CALL", [paper.safe(row.model) for row in rows], stretch=True),
                Column("AGENT", [paper.safe(row.agent or words.NOTHING) for row in rows], stretch=True, drop=4),
                Column("OUTCOME", [words.status(row.outcome, ascii=paper.ascii) for row in rows]),
                Column("IN", [_tokens(row.input_tokens) for row in rows], right=True, drop=2),
                Column("CACHED", [_tokens(row.cache_read_tokens) for row in rows], right=True, drop=3),
                Column("OUT", [_tokens(row.output_tokens) for row in rows], right=True, drop=2),
                Column("TOOK", [words.duration(row.seconds) for row in rows], right=True),
                Column("COST", [words.money(row.cost, ascii=paper.ascii) for row in rows], right=True),
                Column("PRICE OR ERROR", [_call_note(row, paper) for row in rows], stretch=True, drop=1),
            ]
        ),
        *([f"and {words.count(more)} more"] if more > 0 else []),
    ]


def _tools(detail: TaskDetail, paper: Paper) -> list[str]:
    rows = detail.tools
    if not rows:
        return []
    return paper.table(
        [
            Column("TOOL", [paper.safe(row.tool) for row in rows], stretch=True),
            Column(
                "STEP",
                [words.NOTHING if row.step_position is None else str(row.step_position) for row in rows],
                right=True,
            ),
            Column("OUTCOME", [words.status(row.outcome, ascii=paper.ascii) for row in rows]),
            Column("TOOK", [words.duration(row.seconds) for row in rows], right=True),
            Column("ERROR", [paper.safe(row.error or words.NOTHING) for row in rows], stretch=True, drop=1),
        ]
    )


def _tokens(n: int | None) -> str:
    return words.UNKNOWN if n is None else words.count(n)


def _call_note(row: CallRow, paper: Paper) -> str:
    return paper.safe(row.error or row.price_source)


def _history(detail: TaskDetail, paper: Paper) -> list[str]:
    rows = detail.history
    if not rows:
        return []
    return paper.table(
        [
            Column("HISTORY", [words.stamp(row.at) for row in rows]),
            Column("STATUS", [words.status(row.new_status, ascii=paper.ascii) for row in rows]),
            Column("BY", [paper.safe(row.actor) for row in rows], stretch=True),
            Column("RUN", [str(row.run_id) if row.run_id is not None else words.NOTHING for row in rows], right=True),
            Column("REASON", [paper.safe(row.reason or words.NOTHING) for row in rows], stretch=True),
        ]
    )
