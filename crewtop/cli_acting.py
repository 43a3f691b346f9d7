"""The commands that act: on tasks, by id or by filter, on operations, on queues and on workers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from crewtop.cli_shared import LARGEST_ID, JsonFlag, configuration, run

acting = typer.Typer()
operation_commands = typer.Typer(no_args_is_help=False, help="What operators did: list, show; pause, resume, cancel.")
acting.add_typer(operation_commands, name="operations")

Ids = Annotated[list[int] | None, typer.Argument(help="Task ids.", metavar="ID", min=1, max=LARGEST_ID)]
Filter = Annotated[
    str | None,
    typer.Option("--filter", help='Instead of ids: all that match, such as "status:failed crew:support", or @VIEW.'),
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why, for the audit.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
OperationId = Annotated[int, typer.Argument(metavar="OPERATION", min=1, max=LARGEST_ID)]
Worker = Annotated[str, typer.Argument(help="A worker's id, as the screen shows it.")]
QueueName = Annotated[str, typer.Argument(metavar="QUEUE")]


class Limited(StrEnum):
    """What can be limited."""

    QUEUE = "queue"
    CREW = "crew"


@acting.command()
def retry(
    context: typer.Context,
    ids: Ids = None,
    matching: Filter = None,
    reason: Reason = None,
    yes: Yes = False,
    per_minute: Annotated[
        float | None, typer.Option("--per-minute", min=0.1, max=1_000_000, help="So many a minute, not all at once.")
    ] = None,
) -> None:
    """Run failed, cancelled or resting tasks again now, under the same id, after the steps that they completed."""
    _act(context, "retry", ids, matching, reason, yes, per_minute)


@acting.command()
def rerun(
    context: typer.Context, ids: Ids = None, matching: Filter = None, reason: Reason = None, yes: Yes = False
) -> None:
    """Run ended tasks again from scratch, as new tasks."""
    _act(context, "rerun", ids, matching, reason, yes)


@acting.command()
def fail(
    context: typer.Context, ids: Ids = None, matching: Filter = None, reason: Reason = None, yes: Yes = False
) -> None:
    """Fail tasks that have not ended; a running process is killed."""
    _act(context, "fail", ids, matching, reason, yes)


@acting.command()
def requeue(
    context: typer.Context, ids: Ids = None, matching: Filter = None, reason: Reason = None, yes: Yes = False
) -> None:
    """Put running or resting tasks back into their queue without spending an attempt."""
    _act(context, "requeue", ids, matching, reason, yes)


@acting.command()
def cancel(
    context: typer.Context, ids: Ids = None, matching: Filter = None, reason: Reason = None, yes: Yes = False
) -> None:
    """Cancel tasks, and what they fanned out and has not started; a running process is killed."""
    _act(context, "cancel", ids, matching, reason, yes)


@acting.command()
def delete(
    context: typer.Context, ids: Ids = None, matching: Filter = None, reason: Reason = None, yes: Yes = False
) -> None:
    """Delete tasks that do not run, with all that is theirs. This cannot be undone."""
    _act(context, "delete", ids, matching, reason, yes)


@acting.command()
def move(
    context: typer.Context,
    to: Annotated[str, typer.Option("--to", metavar="QUEUE", help="The other queue.")],
    ids: Ids = None,
    matching: Filter = None,
    reason: Reason = None,
    yes: Yes = False,
) -> None:
    """Move tasks that do not run to another queue."""
    from crewtop.commands import act

    raise typer.Exit(run(act.move(configuration(context), to, reason, act.Asked(ids or [], matching, yes))))


@acting.command()
def priority(
    context: typer.Context,
    to: Annotated[str, typer.Option("--to", help="0 to 4, or critical, high, normal, low.")],
    ids: Ids = None,
    matching: Filter = None,
    reason: Reason = None,
    yes: Yes = False,
) -> None:
    """Give tasks that do not run another priority."""
    from crewtop.commands import act

    raise typer.Exit(run(act.prioritise(configuration(context), to, reason, act.Asked(ids or [], matching, yes))))


@acting.command()
def edit(
    context: typer.Context,
    task_id: Annotated[int, typer.Argument(metavar="ID", min=1, max=LARGEST_ID)],
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="K=V", help="An input; may be repeated.")
    ] = None,
    inputs_json: Annotated[
        str | None, typer.Option("--inputs-json", metavar="JSON", help="All inputs, or - for stdin.")
    ] = None,
    reason: Reason = None,
    yes: Yes = False,
) -> None:
    """Give a task that does not run other inputs; what it completed with the old ones is done again."""
    from crewtop.commands import act

    asked = act.Asked([task_id], None, yes)
    raise typer.Exit(run(act.edit(configuration(context), inputs or [], inputs_json, reason, asked)))


@acting.command()
def undo(context: typer.Context, operation: OperationId, reason: Reason = None, yes: Yes = False) -> None:
    """Take an operation back where its tasks are still as it left them."""
    from crewtop.commands import act

    raise typer.Exit(run(act.undo(configuration(context), operation, reason, yes=yes)))


@operation_commands.callback(invoke_without_command=True)
def operations(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="At most so many.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List the newest operations; or show, pause, resume or cancel one."""
    from crewtop.commands.operations import print_operations

    if context.invoked_subcommand is None:
        raise typer.Exit(run(print_operations(configuration(context), limit, as_json=as_json)))


@operation_commands.command("show")
def show_operation(context: typer.Context, operation: OperationId, as_json: JsonFlag = False) -> None:
    """Who wanted what and why, and what became of each task."""
    from crewtop.commands.operations import print_operation

    raise typer.Exit(run(print_operation(configuration(context), operation, as_json=as_json)))


@operation_commands.command("pause")
def pause_operation(context: typer.Context, operation: OperationId) -> None:
    """Let it stop after the batch that is under way."""
    from crewtop.commands.operations import halt

    raise typer.Exit(run(halt(configuration(context), operation, "pause")))


@operation_commands.command("resume")
def resume_operation(context: typer.Context, operation: OperationId) -> None:
    """Work off what is left, here and now."""
    from crewtop.commands.operations import halt

    raise typer.Exit(run(halt(configuration(context), operation, "resume")))


@operation_commands.command("cancel")
def cancel_operation(context: typer.Context, operation: OperationId) -> None:
    """Leave what is left as it is, for good."""
    from crewtop.commands.operations import halt

    raise typer.Exit(run(halt(configuration(context), operation, "cancel")))


@acting.command()
def slots(
    context: typer.Context, worker: Worker, number: Annotated[int, typer.Argument(metavar="N", min=0, max=1000)]
) -> None:
    """Ask a worker for so many slots."""
    from crewtop.commands.control import set_slots

    raise typer.Exit(run(set_slots(configuration(context), worker, number)))


@acting.command()
def drain(context: typer.Context, worker: Worker) -> None:
    """Ask a worker to claim nothing more, finish what it runs, and end."""
    from crewtop.commands import control

    raise typer.Exit(run(control.drain(configuration(context), worker)))


@acting.command()
def kill(context: typer.Context, worker: Worker, yes: Yes = False) -> None:
    """Ask a worker to end at once; what it runs goes back to its queue."""
    from crewtop.commands import control

    raise typer.Exit(run(control.kill(configuration(context), worker, yes=yes)))


@acting.command()
def pause(context: typer.Context, queue: QueueName, reason: Reason = None) -> None:
    """Let workers claim nothing from a queue, there or yet to come; what runs goes on."""
    from crewtop.commands.control import pause_queue

    raise typer.Exit(run(pause_queue(configuration(context), queue, reason)))


@acting.command()
def resume(context: typer.Context, queue: QueueName) -> None:
    """Let workers claim from a queue again."""
    from crewtop.commands.control import resume_queue

    raise typer.Exit(run(resume_queue(configuration(context), queue)))


@acting.command()
def limit(
    context: typer.Context,
    scope: Annotated[Limited, typer.Argument(metavar="queue|crew")],
    name: Annotated[str, typer.Argument(metavar="NAME")],
    max_running: Annotated[
        int | None, typer.Option("--max-running", min=0, max=10_000, help="At most so many at once, over all workers.")
    ] = None,
    per_minute: Annotated[
        float | None, typer.Option("--per-minute", min=0.001, max=1_000_000, help="At most so many starts a minute.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Lift the limit.")] = False,
) -> None:
    """Hold a queue or a crew back over all workers. What is not named is not limited."""
    from crewtop.commands.control import limit as set_limit

    if none == (max_running is not None or per_minute is not None):
        raise typer.BadParameter("say --max-running, --per-minute or both; or --none to lift the limit")
    raise typer.Exit(run(set_limit(configuration(context), scope.value, name, max_running, per_minute)))


@acting.command()
def boost(
    context: typer.Context,
    queue: QueueName,
    seconds: Annotated[float | None, typer.Argument(metavar="SECONDS", min=1, max=31_536_000)] = None,
    none: Annotated[bool, typer.Option("--none", help="Never.")] = False,
) -> None:
    """Let a queue's tasks rise by one priority for every so many seconds that they wait."""
    from crewtop.commands.control import boost_queue

    if none == (seconds is not None):
        raise typer.BadParameter("say after how many seconds, or --none")
    raise typer.Exit(run(boost_queue(configuration(context), queue, seconds)))


def _act(
    context: typer.Context,
    action: str,
    ids: list[int] | None,
    matching: str | None,
    reason: str | None,
    yes: bool,
    argument: float | None = None,
) -> None:
    from crewtop.commands.act import Asked, act_on
    from crewtop.model.operations import Action, Order

    order = Order(Action(action), argument, reason)
    raise typer.Exit(run(act_on(configuration(context), order, Asked(ids or [], matching, yes))))
