"""`crewtop demo`: the shop at work. A provider, a worker and a trickle of tasks, on servers of its own."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path

import typer

from crewtop.admission import Task
from crewtop.commands.pool import end, pool_worker, python_module, store_flags
from crewtop.commands.read import print_snapshot
from crewtop.commands.screen import open_screen
from crewtop.commands.style import Style, styled
from crewtop.config import Configuration, load
from crewtop.demo.traffic import tasks
from crewtop.model.errors import CrewtopError
from crewtop.monitor.monitor import Monitor
from crewtop.queue import Queue
from crewtop.store import schema
from crewtop.stores import stores

FIRST_TASKS = 12
PROVIDER_GRACE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Demo:
    """seconds: how long without a screen, None with one; rate: tasks a second; latency: seconds a call;
    failures, hang and no_usage: shares of calls; seed: which tasks come.
    """

    seconds: float | None
    slots: int
    rate: float
    latency: float
    failures: float
    hang: float
    no_usage: float
    seed: int


def run_demo(configuration: Configuration, plan: Demo, style: Style | None) -> int:
    """Run the demo on a screen of that style, or without one for plan.seconds; answers the exit code.

    It never touches configured servers, so that simulated figures cannot mix with real ones: it starts the embedded
    pair in a folder of its own.
    """
    with ExitStack() as stack:
        toml = stack.enter_context(as_file(files("crewtop.demo").joinpath("crewtop.toml")))
        shop = _shop(configuration, toml)
        servers = stack.enter_context(_servers(shop))
        provider = stack.enter_context(_provider(plan))
        env = {"CREWTOP_DEMO_PROVIDER": provider, **servers}
        stack.enter_context(pool_worker(shop, plan.slots, store_flags(shop), env))
        typer.echo(
            f"crewtop: look at this demo from elsewhere with `crewtop --data-dir {shop.settings.data_dir}`", err=True
        )
        if style is not None:
            style = styled(replace(style, title="demo shop"), None)
            return open_screen(lambda: shop, style, beside=lambda: _trickle(shop, plan))
        return asyncio.run(_once(shop, plan))


def _shop(configuration: Configuration, toml: Path) -> Configuration:
    """The demo's settings: in the folder that --data-dir names, else in one of its own beside the real one."""
    from crewtop.embedded.place import default_data_dir

    folder = configuration.settings.data_dir or default_data_dir() / "demo"
    return load(toml, {"data_dir": folder, "postgres": {"dsn": None}, "redis": {"url": None}})


@contextmanager
def _servers(shop: Configuration) -> Iterator[dict[str, str]]:
    """Start the embedded pair and hold it for as long as the demo lasts; the environment names no other server."""
    from crewtop import embedded

    with embedded.running(shop.settings.data_dir):
        asyncio.run(_prepare(shop))
        yield {"CREWTOP_POSTGRES": "", "CREWTOP_REDIS": ""}


async def _prepare(shop: Configuration) -> None:
    """Begin with an empty shop, unless another demo is at work in it. Raises CrewtopError where real tasks are."""
    async with stores(shop.settings, "crewtop demo", connections=1) as opened:
        picture = await Monitor(opened, shop.settings.screen.no_progress_seconds).snapshot()
        if picture.queues and not picture.simulated:
            raise CrewtopError(f"{shop.settings.data_dir} holds tasks that are no demo's: name another --data-dir")
        if not any(worker.state in ("running", "draining") for worker in picture.workers):
            await schema.renew(opened.database)
        await schema.mark_simulated(opened.database)


@contextmanager
def _provider(plan: Demo) -> Iterator[str]:
    """The simulated provider as a process; gives its base URL."""
    process = subprocess.Popen(
        python_module(
            "crewtop.demo.provider", "--port", "0", "--latency", str(plan.latency), "--fail", str(plan.failures),
            "--rate-hang", str(plan.hang), "--rate-no-usage", str(plan.no_usage), "--seed", str(plan.seed),
        ),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        said = process.stdout.readline().decode() if process.stdout else ""
        if not said.startswith("listening on "):
            raise CrewtopError("the simulated provider did not start: see the message above")
        yield said.removeprefix("listening on ").strip()
    finally:
        end(process, PROVIDER_GRACE_SECONDS, "ending the simulated provider")


async def _trickle(shop: Configuration, plan: Demo) -> None:
    """Put a few tasks in at once, then one now and then, for ever."""
    stream = tasks(plan.seed)
    async with stores(shop.settings, "crewtop demo", connections=1) as opened:
        queue = Queue(opened, shop.settings.queue.max_input_bytes)
        first = [next(stream) for _ in range(FIRST_TASKS)]
        await queue.enqueue_many(Task(t.crew, t.inputs, t.queue, t.priority) for t in first)
        while True:
            await asyncio.sleep(1 / plan.rate)
            task = next(stream)
            try:
                await queue.enqueue(task.crew, task.inputs, queue=task.queue, priority=task.priority)
            except CrewtopError as error:
                typer.echo(f"crewtop: demo: {error}", err=True)


async def _once(shop: Configuration, plan: Demo) -> int:
    trickle = asyncio.create_task(_trickle(shop, plan))
    await asyncio.wait([trickle], timeout=plan.seconds)
    if trickle.done():
        trickle.result()
    trickle.cancel()
    return await print_snapshot(shop, as_json=False)
